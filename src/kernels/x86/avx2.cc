#include "kernels/x86/avx2.h"

#include "kernels/reference/reference.h"
#include "kernels/x86/avx2_float.h"
#include "kernels/x86/avx2_fp8.h"
#include "kernels/x86/avx2_planes.h"
#include "kernels/x86/avx2_transposed.h"
#include "kernels/x86/avx2_vector.h"
#include "kernels/x86/avx2_vector_blocks.h"

namespace coli {
namespace {

template <class Loader>
constexpr MatrixKernels kFloatKernels{FloatPreparedBytes, FloatPrepare,
                                      Multiply<FloatCodec<Loader>>,
                                      MultiplyTransposed<FloatColumns<Loader>>};

constexpr MatrixKernels kFp8{FloatPreparedBytes, FloatPrepare, Multiply<Fp8Codec>,
                             MultiplyTransposed<Fp8Columns>};

template <class Packing>
constexpr MatrixKernels IntegerKernels(FormatId id) {
  return {PlanesPreparedBytes<Packing>, PlanesPrepare<Packing>, PlanesMultiply<Avx2Products>(id),
          MultiplyTransposed<IntegerColumns<Packing>>};
}

constexpr MatrixKernels KernelsOf(FormatId id) {
  switch (id) {
    case FormatId::kF32:
      return kFloatKernels<F32Loader>;
    case FormatId::kBf16:
      return kFloatKernels<Bf16Loader>;
    case FormatId::kF16:
      return kFloatKernels<F16Loader>;
    case FormatId::kFp8E4m3B128:
      return kFp8;
    case FormatId::kInt8Row:
      return IntegerKernels<Int8Packing>(id);
    case FormatId::kInt4Row:
    case FormatId::kInt4Grouped:
      return IntegerKernels<Int4Packing>(id);
    case FormatId::kInt2Row:
      return IntegerKernels<Int2Packing>(id);
    case FormatId::kInt3G64:
      return IntegerKernels<Int3Packing>(id);
    case FormatId::kMxfp4:
      return IntegerKernels<Mxfp4Packing>(id);
    default:
      return {};  // a new format works through the reference until it has kernels here
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

const IsaKernels& Avx2Kernels() { return kKernels; }

}  // namespace coli
