// A callable by reference: what a parameter of std::function would be, without its memory. Valid
// for the call it is an argument of; not to be kept.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace coli {

template <class Signature>
class FunctionRef;

template <class Returned, class... Arguments>
class FunctionRef<Returned(Arguments...)> {
 public:
  template <class Callable>
    requires(!std::is_same_v<std::remove_cvref_t<Callable>, FunctionRef> &&
             std::is_invocable_r_v<Returned, const Callable&, Arguments...>)
  FunctionRef(const Callable& callable)  // NOLINT: an argument converts by itself
      : callable_(std::addressof(callable)), call_([](const void* f, Arguments... arguments) {
          return static_cast<Returned>(
              (*static_cast<const Callable*>(f))(std::forward<Arguments>(arguments)...));
        }) {}

  Returned operator()(Arguments... arguments) const {
    return call_(callable_, std::forward<Arguments>(arguments)...);
  }

 private:
  const void* callable_;
  Returned (*call_)(const void*, Arguments...);
};

}  // namespace coli
