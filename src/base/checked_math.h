// Arithmetic on numbers that come from files: overflow is a value, not a surprise.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>

namespace coli {

inline std::optional<uint64_t> CheckedAdd(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) {
    return std::nullopt;
  }
  return sum;
}

inline std::optional<uint64_t> CheckedMul(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) {
    return std::nullopt;
  }
  return product;
}

// The product of all factors, or nothing when it does not fit 64 bits. The empty product is 1.
template <class Range>
std::optional<uint64_t> CheckedProduct(const Range& factors) {
  std::optional<uint64_t> product = 1;
  for (const uint64_t factor : factors) {
    product = CheckedMul(*product, factor);
    if (!product) {
      return std::nullopt;
    }
  }
  return product;
}

inline std::optional<uint64_t> CheckedProduct(std::initializer_list<uint64_t> factors) {
  return CheckedProduct<std::initializer_list<uint64_t>>(factors);
}

// ceil(a / b) for b > 0.
constexpr uint64_t CeilDiv(uint64_t a, uint64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

// The smallest multiple of `alignment` (> 0) that is at least `value`; the caller knows that it
// fits 64 bits.
constexpr uint64_t AlignUp(uint64_t value, uint64_t alignment) {
  return CeilDiv(value, alignment) * alignment;
}

}  // namespace coli
