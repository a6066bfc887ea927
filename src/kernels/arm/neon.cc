#include "kernels/arm/neon.h"

#include "kernels/arm/neon_float.h"
#include "kernels/arm/neon_integer.h"
#include "kernels/arm/neon_vector.h"
#include "kernels/reference/reference.h"

namespace coli {
namespace {

template <class Loader>
constexpr MatrixKernels kFloatKernels{FloatPreparedBytes, FloatPrepare,
                                      Multiply<FloatCodec<Loader>>,
                                      FloatMultiplyTransposed<Loader>};

template <class Packing, bool kGrouped>
const MatrixKernels* IntegerKernels() {
  static const MatrixKernels kernels{PlanesPreparedBytes<Packing>, IntegerPrepare<Packing>,
                                     Multiply<IntegerCodec<Packing, kGrouped>>,
                                     ReferenceIntegerMatrix().multiply_transposed};
  return &kernels;
}

const MatrixKernels* KernelsOf(FormatId id) {
  switch (id) {
    case FormatId::kF32:
      return &kFloatKernels<F32Loader>;
    case FormatId::kBf16:
      return &kFloatKernels<Bf16Loader>;
    case FormatId::kF16:
      return &kFloatKernels<F16Loader>;
    case FormatId::kInt8Row:
      return IntegerKernels<Int8Packing, false>();
    case FormatId::kInt4Row:
      return IntegerKernels<Int4Packing, false>();
    case FormatId::kInt4Grouped:
      return IntegerKernels<Int4Packing, true>();
    case FormatId::kInt2Row:
      return IntegerKernels<Int2Packing, false>();
    default:
      return nullptr;  // through the reference
  }
}

}  // namespace

const IsaKernels& NeonKernels() {
  static const IsaKernels kernels{{
#define COLI_FORMAT(id, name, info) KernelsOf(FormatId::id),
#include "tensor/formats.def"
#undef COLI_FORMAT
                                  },
                                  {Dot, Axpy, Add, Scale, RmsNorm, LayerNorm, SiluMul, SigmoidAll,
                                   Softmax, RotatePairs, Dots, Axpys}};
  return kernels;
}

}  // namespace coli
