// Errors as values.
//
// Every function that can fail returns Result<T> (or Status when there is nothing to return). An
// Error's message says what, where, expected and found, so that it can be shown to the user as it
// is. Thread-compatible, never throws.
#pragma once

#include <fmt/core.h>

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace coli {

// The kind of an error: what a caller may want to tell apart. The text is for people.
enum class ErrorCode {
  kInvalidArgument,  // a request, flag or setting is out of its range
  kNotFound,         // a file, tensor or name does not exist
  kCorrupt,          // a file contradicts itself or its format
  kUnsupported,      // well formed, but this program does not implement it
  kIo,               // the operating system reported a failure
  kNotEnoughMemory,  // the budget does not suffice; the message says what would
  kContextLength,    // the prompt does not fit the context window
  kNumeric,          // a computation gave a value that is not finite
  kCancelled,        // whoever asked is gone
};

struct Error {
  ErrorCode code;
  std::string message;
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

inline Status Ok() { return {}; }

// Makes the failure branch of any Result: `return Fail(ErrorCode::kIo, "{}: {}", path, reason);`
template <class... Args>
[[nodiscard]] tl::unexpected<Error> Fail(ErrorCode code, fmt::format_string<Args...> format,
                                         Args&&... args) {
  return tl::unexpected<Error>(Error{code, fmt::format(format, std::forward<Args>(args)...)});
}

// Puts the place in front of an error that travels up: "<context>: <message>".
[[nodiscard]] inline tl::unexpected<Error> Wrap(Error error, std::string_view context) {
  return tl::unexpected<Error>(Error{error.code, fmt::format("{}: {}", context, error.message)});
}

}  // namespace coli

#define COLI_CONCAT_INNER(a, b) a##b
#define COLI_CONCAT(a, b) COLI_CONCAT_INNER(a, b)

// Leaves the function with the error of `expression` (a Status or Result) if it has one.
#define COLI_RETURN_IF_ERROR(expression)                                    \
  do {                                                                      \
    if (auto coli_status = (expression); !coli_status) {                    \
      return tl::unexpected<::coli::Error>(std::move(coli_status).error()); \
    }                                                                       \
  } while (false)

// Evaluates a Result and either binds its value to `declaration` or leaves the function with its
// error.
#define COLI_ASSIGN_OR_RETURN(declaration, expression) \
  COLI_ASSIGN_OR_RETURN_AS(COLI_CONCAT(coli_result_, __LINE__), declaration, expression)
#define COLI_ASSIGN_OR_RETURN_AS(result, declaration, expression)    \
  auto result = (expression);                                        \
  if (!result) {                                                     \
    return tl::unexpected<::coli::Error>(std::move(result).error()); \
  }                                                                  \
  declaration = *std::move(result)
