#include "text/python_json.h"

#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

namespace coli {
namespace {

void AppendString(const std::string& text, std::string& out) {
  out += OrderedJson(text).dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

// As Python's repr: digits in place for exponents from -4 to 15, else d.ddde+XX.
void AppendFloat(double value, std::string& out) {
  std::array<char, 40> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                 std::chars_format::scientific)
                       .ptr;
  const std::string_view text(buffer.data(), static_cast<size_t>(end - buffer.data()));
  const char* const digits_of_exponent = text.data() + text.find('e') + 2;  // behind the sign
  int exponent = 0;
  std::from_chars(digits_of_exponent, end, exponent);
  if (digits_of_exponent[-1] == '-') {
    exponent = -exponent;
  }
  if (exponent < -4 || exponent > 15) {
    out += text;
    return;
  }
  const auto fixed =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed)
          .ptr;
  const std::string_view digits(buffer.data(), static_cast<size_t>(fixed - buffer.data()));
  out += digits;
  if (digits.find('.') == std::string_view::npos) {
    out += ".0";
  }
}

// Recursive: parsed values have a limited depth.
void Append(const OrderedJson& value, std::string& out) {
  std::string_view separator;
  if (value.is_object()) {
    out += '{';
    for (const auto& [key, member] : value.get_ref<const OrderedJson::object_t&>()) {
      out += separator;
      AppendString(key, out);
      out += ": ";
      Append(member, out);
      separator = ", ";
    }
    out += '}';
  } else if (value.is_array()) {
    out += '[';
    for (const OrderedJson& item : value) {
      out += separator;
      Append(item, out);
      separator = ", ";
    }
    out += ']';
  } else if (value.is_number_float() && std::isfinite(value.get<double>())) {
    AppendFloat(value.get<double>(), out);
  } else {
    out += value.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
  }
}

}  // namespace

std::string DumpPythonJson(const OrderedJson& value) {
  std::string out;
  Append(value, out);
  return out;
}

}  // namespace coli
