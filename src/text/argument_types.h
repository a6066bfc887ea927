// The types that tools declare for their arguments.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "text/messages.h"

namespace coli {

// Turns the text of an argument, as a model writes it, into a JSON value. Immutable, thread-safe.
class ArgumentTypes {
 public:
  explicit ArgumentTypes(std::span<const Tool> tools);

  // A value declared as string is the text as it is ("null" is null where the schema allows it).
  // Any other value, and those of unknown tools and arguments, is what the text means as JSON, or
  // the text if it means nothing.
  OrderedJson Value(std::string_view tool, std::string_view argument, std::string_view text) const;

 private:
  struct Declared {
    bool string = false;
    bool null = false;
  };

  static void Collect(const OrderedJson& schema, Declared& declared);

  std::map<std::string, std::map<std::string, Declared, std::less<>>, std::less<>> tools_;
};

}  // namespace coli
