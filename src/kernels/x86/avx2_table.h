// The kernels of 256-bit registers as a table, kKernels. Included by the .cc files of the
// instruction sets that have such registers; they say before how 16-bit products are summed
// (avx2_common.h).
#pragma once

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

// Packed weights with kChunks chunks per segment.
template <class Packing, uint32_t kChunks>
constexpr MatrixKernels kPlanesKernels{
    PlanesPreparedBytes<Packing>, PlanesPrepare<Packing>,
    Multiply<PlanesCodec<Packing, kChunks, Packing::kScalePerSegment>>,
    MultiplyTransposed<IntegerColumns<Packing>>};

constexpr MatrixKernels kInt4Grouped{PlanesPreparedBytes<Int4Packing>, PlanesPrepare<Int4Packing>,
                                     Int4GroupedMultiply,
                                     MultiplyTransposed<IntegerColumns<Int4Packing>>};

constexpr const MatrixKernels* KernelsOf(FormatId id) {
  switch (id) {
    case FormatId::kF32:
      return &kFloatKernels<F32Loader>;
    case FormatId::kBf16:
      return &kFloatKernels<Bf16Loader>;
    case FormatId::kF16:
      return &kFloatKernels<F16Loader>;
    case FormatId::kFp8E4m3B128:
      return &kFp8;
    case FormatId::kInt8Row:
      return &kPlanesKernels<Int8Packing, 16>;
    case FormatId::kInt4Row:
      return &kPlanesKernels<Int4Packing, 4>;
    case FormatId::kInt4Grouped:
      return &kInt4Grouped;
    case FormatId::kInt2Row:
      return &kPlanesKernels<Int2Packing, 2>;
    case FormatId::kInt3G64:
      return &kPlanesKernels<Int3Packing, 1>;
    case FormatId::kMxfp4:
      return &kPlanesKernels<Mxfp4Packing, 1>;
    default:
      return nullptr;  // a new format works through the reference until it has kernels here
  }
}

constexpr IsaKernels kKernels{{
#define COLI_FORMAT(id, name, info) KernelsOf(FormatId::id),
#include "tensor/formats.def"
#undef COLI_FORMAT
                              },
                              {Dot, Axpy, Add, Scale, RmsNorm, LayerNorm, SiluMul, SigmoidAll,
                               Softmax, RotatePairs, Dots, Axpys}};

}  // namespace
}  // namespace coli
