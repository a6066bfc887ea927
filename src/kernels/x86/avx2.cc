#include "kernels/x86/avx2.h"

#include "kernels/x86/avx2_float.h"
#include "kernels/x86/avx2_int4.h"
#include "kernels/x86/avx2_int8.h"
#include "kernels/x86/avx2_transposed.h"
#include "kernels/x86/avx2_vector.h"

namespace coli {
namespace {

template <class Loader>
constexpr MatrixKernels kFloatKernels{FloatPreparedBytes, FloatPrepare,
                                      Multiply<FloatCodec<Loader>>,
                                      MultiplyTransposed<FloatColumns<Loader>>};

constexpr MatrixKernels kInt8Row{Int8PreparedBytes, Int8Prepare, Multiply<Int8Codec>,
                                 MultiplyTransposed<Int8Columns>};
constexpr MatrixKernels kInt4Row{Int4PreparedBytes, Int4Prepare,
                                 Multiply<Int4Codec<kInt4MaxChunks, false>>,
                                 MultiplyTransposed<Int4Columns>};
constexpr MatrixKernels kInt4Grouped{Int4PreparedBytes, Int4Prepare, Int4GroupedMultiply,
                                     MultiplyTransposed<Int4Columns>};

constexpr const MatrixKernels* KernelsOf(FormatId id) {
  switch (id) {
    case FormatId::kF32:
      return &kFloatKernels<F32Loader>;
    case FormatId::kBf16:
      return &kFloatKernels<Bf16Loader>;
    case FormatId::kF16:
      return &kFloatKernels<F16Loader>;
    case FormatId::kInt8Row:
      return &kInt8Row;
    case FormatId::kInt4Row:
      return &kInt4Row;
    case FormatId::kInt4Grouped:
      return &kInt4Grouped;
    default:
      return nullptr;  // a new format works through the reference until it has kernels here
  }
}

constexpr IsaKernels kKernels{
    {
#define COLI_FORMAT(id, name, info) KernelsOf(FormatId::id),
#include "tensor/formats.def"
#undef COLI_FORMAT
    },
    {Dot, Axpy, Add, Scale, RmsNorm, LayerNorm, SiluMul, SigmoidAll, Softmax, RotatePairs}};

}  // namespace

const IsaKernels& Avx2Kernels() { return kKernels; }

}  // namespace coli
