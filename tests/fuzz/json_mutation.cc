#include "fuzz/json_mutation.h"

#include <array>
#include <cstdint>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <utility>
#include <vector>

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace coli::testing {
namespace {

using Value = nlohmann::ordered_json;
using Random = std::minstd_rand;

constexpr size_t kLongestString = 600;
constexpr size_t kDeepest = 70;

// Numbers at which something changes: signs, widths, the exactness of a double, limits of formats.
Value Number(Random& random) {
  static constexpr std::array<int64_t, 21> kEdges = {0,
                                                     1,
                                                     -1,
                                                     2,
                                                     3,
                                                     127,
                                                     128,
                                                     255,
                                                     256,
                                                     1023,
                                                     1024,
                                                     65535,
                                                     65536,
                                                     (1 << 24) - 1,
                                                     1 << 24,
                                                     INT32_MAX,
                                                     int64_t{1} << 31,
                                                     int64_t{1} << 32,
                                                     int64_t{1} << 53,
                                                     INT64_MAX,
                                                     INT64_MIN};
  switch (random() % 8) {
    case 0:
      return std::numeric_limits<uint64_t>::max() - random() % 2;
    case 1:
      return (random() % 2 == 0 ? 1 : -1) * std::numeric_limits<double>::max();
    case 2:
      return static_cast<double>(random() % 1000) / 1000;
    default:
      return kEdges[random() % kEdges.size()];
  }
}

Value Deep(Random& random) {
  Value value = 1;
  for (size_t depth = random() % kDeepest; depth > 0; --depth) {
    value = random() % 2 == 0 ? Value::array({std::move(value)}) : Value{{"k", std::move(value)}};
  }
  return value;
}

Value Anything(Random& random) {
  switch (random() % 8) {
    case 0:
      return nullptr;
    case 1:
      return random() % 2 == 0;
    case 2:
      return Value::array();
    case 3:
      return Value::object();
    case 4:
      return std::string(random() % kLongestString, 'a');
    case 5:
      return Deep(random);
    default:
      return Number(random);
  }
}

// All values of a tree, the root first.
void Collect(Value& value, std::vector<Value*>& nodes) {
  nodes.push_back(&value);
  if (value.is_structured()) {
    for (Value& child : value) {
      Collect(child, nodes);
    }
  }
}

std::string MutatedText(const std::string& text) {
  std::vector<uint8_t> bytes(text.begin(), text.end());
  bytes.resize(text.size() + 16);
  bytes.resize(LLVMFuzzerMutate(bytes.data(), text.size(), bytes.size()));
  return {bytes.begin(), bytes.end()};
}

void ChangeNumber(Value& number, Random& random) {
  const auto step = static_cast<int64_t>(random() % 5) - 2;
  if (number.is_number_unsigned()) {
    number = number.get<uint64_t>() + static_cast<uint64_t>(step);
  } else if (number.is_number_integer() && number != INT64_MIN) {
    number = -number.get<int64_t>();
  } else {
    number = Number(random);
  }
}

void ChangeObject(Value& object, const Value& other, Random& random) {
  if (object.empty() || random() % 4 == 0) {
    object[std::string(random() % 3, 'k')] = other;
    return;
  }
  const auto at = std::next(object.begin(), static_cast<std::ptrdiff_t>(random() % object.size()));
  if (random() % 2 == 0) {
    object.erase(at);
    return;
  }
  const std::string key = MutatedText(at.key());
  Value value = at.value();
  object[key] = std::move(value);
}

void ChangeArray(Value& array, const Value& other, Random& random) {
  const size_t at = array.empty() ? 0 : random() % array.size();
  const auto place = array.begin() + static_cast<std::ptrdiff_t>(at);
  switch (random() % 3) {
    case 0:
      array.insert(place, other);
      return;
    case 1:
      array.insert(place, Anything(random));
      return;
    default:
      if (!array.empty()) {
        array.erase(place);
      }
  }
}

// Alters `node`; `other` is another value of the same text.
void Change(Value& node, const Value& other, Random& random) {
  if (random() % 4 == 0) {
    node = random() % 2 == 0 ? other : Anything(random);
  } else if (node.is_string()) {
    node = MutatedText(node.get_ref<const std::string&>());
  } else if (node.is_number()) {
    ChangeNumber(node, random);
  } else if (node.is_object()) {
    ChangeObject(node, other, random);
  } else if (node.is_array()) {
    ChangeArray(node, other, random);
  } else {
    node = Anything(random);
  }
}

}  // namespace

std::string MutateJson(std::string_view text, unsigned seed) {
  Value root = Value::parse(text, nullptr, false);
  if (root.is_discarded()) {
    return {};
  }
  Random random(seed);
  std::vector<Value*> nodes;
  Collect(root, nodes);
  const Value other = *nodes[random() % nodes.size()];
  Change(*nodes[random() % nodes.size()], other, random);
  return root.dump(-1, ' ', false, Value::error_handler_t::replace);
}

}  // namespace coli::testing
