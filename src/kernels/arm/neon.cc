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
constexpr MatrixKernels kIntegerKernels{.prepared_bytes = PlanesPreparedBytes<Packing>,
                                        .prepare = IntegerPrepare<Packing>,
                                        .multiply = Multiply<IntegerCodec<Packing, kGrouped>>};

constexpr MatrixKernels KernelsOf(FormatId id) {
  switch (id) {
    case FormatId::kF32:
      return kFloatKernels<F32Loader>;
    case FormatId::kBf16:
      return kFloatKernels<Bf16Loader>;
    case FormatId::kF16:
      return kFloatKernels<F16Loader>;
    case FormatId::kInt8Row:
      return kIntegerKernels<Int8Packing, false>;
    case FormatId::kInt4Row:
      return kIntegerKernels<Int4Packing, false>;
    case FormatId::kInt4Grouped:
      return kIntegerKernels<Int4Packing, true>;
    case FormatId::kInt2Row:
      return kIntegerKernels<Int2Packing, false>;
    default:
      return {};
  }
}

constexpr VectorKernels kVectorKernels{Dot,     Axpy,        Add,     Scale,
                                       RmsNorm, LayerNorm,   SiluMul, SigmoidAll,
                                       Softmax, RotatePairs, Dots,    Axpys};

constexpr IsaKernels kKernels{.base = ReferenceKernels,
                              .matrix =
                                  {
#define COLI_FORMAT(id, name, info) KernelsOf(FormatId::id),
#include "tensor/formats.def"
#undef COLI_FORMAT
                                  },
                              .vector = &kVectorKernels};

}  // namespace

const IsaKernels& NeonKernels() { return kKernels; }

}  // namespace coli
