#include "kernels/x86/avx512_vnni.h"

#include "kernels/x86/avx512_products.h"

namespace coli {
namespace {

struct Avx512Vnni {
  using Register = __m512i;

  static Register Load(const void* p) { return _mm512_loadu_si512(p); }
  static Register Halves(__m256i lower, __m256i upper) {
    return _mm512_inserti64x4(_mm512_castsi256_si512(lower), upper, 1);
  }
  static Register Twice(__m256i half) { return _mm512_broadcast_i64x4(half); }
  static Register ZeroExtend(__m256i lower) { return _mm512_zextsi256_si512(lower); }
  static Register FromBytes(__m256i bytes) { return _mm512_cvtepi8_epi16(bytes); }
  static __m256i Lower(Register r) { return _mm512_castsi512_si256(r); }
  static __m256i Upper(Register r) { return _mm512_extracti64x4_epi64(r, 1); }
  static Register And(Register a, Register b) { return _mm512_and_si512(a, b); }
  // Of 32-bit lanes.
  static Register ShiftRight(Register r, uint32_t bits) { return _mm512_srli_epi32(r, bits); }
  // sum plus, in each 32-bit lane, the two products of the 16-bit lanes there.
  static Register MultiplyAdd(Register sum, Register a, Register b) {
    return _mm512_dpwssd_epi32(sum, a, b);
  }
  static inline __attribute__((always_inline)) void Pin(Register& r) { __asm__("" : "+v"(r)); }
};

constexpr IsaKernels kKernels = Avx2KernelsWith<WideProducts<Avx512Vnni>>();

}  // namespace

const IsaKernels& Avx512VnniKernels() { return kKernels; }

}  // namespace coli
