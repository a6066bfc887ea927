// exp(x) of the numerics contract, as numbers. With n = round(x / ln 2) and r = x - n ln 2 (ln 2 in
// two parts, fma),
//   exp(x) = 2^n * (1 + r (1 + r (c0 + r (c1 + r (c2 + r (c3 + r c4))))))
// every step an fma, and 2^n applied as two powers, so that subnormal results round once. The c are
// the minimax fit of relative error 3e-9 on |r| <= ln 2 / 2, rounded to f32.
#pragma once

#include <stdint.h>

namespace coli {

// Arguments are first limited to this range: below, exp rounds to 0; above, it overflows to
// infinity. NaN passes.
constexpr float kExpLowest = -104.0F;
constexpr float kExpHighest = 89.0F;
constexpr float kExpLog2E = 0x1.715476p+0F;
constexpr float kExpLn2High = 0x1.62e43p-1F;
constexpr float kExpLn2Low = -0x1.05c61p-29F;
// Adding 1.5 * 2^23 rounds a small number to an integer, found in the low bits of the sum.
constexpr float kExpRounder = 0x1.8p+23F;
constexpr int32_t kExpRounderBits = 0x4b400000;
constexpr float kExpC0 = 0x1.fffffcp-2F;
constexpr float kExpC1 = 0x1.555492p-3F;
constexpr float kExpC2 = 0x1.5558f2p-5F;
constexpr float kExpC3 = 0x1.1239e2p-7F;
constexpr float kExpC4 = 0x1.6a2434p-10F;

}  // namespace coli
