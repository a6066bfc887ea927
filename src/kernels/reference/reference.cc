#include "kernels/reference/reference.h"

#include "tensor/format.h"

namespace coli {

const IsaKernels& ReferenceKernels() {
  static const IsaKernels kernels = [] {
    IsaKernels all{.vector = &ReferenceVector()};
    for (const FormatInfo& info : AllFormats()) {
      const bool integer = info.arithmetic == Arithmetic::kInteger;
      all.matrix[static_cast<size_t>(info.id)] =
          integer ? ReferenceIntegerMatrix() : ReferenceFloatMatrix();
    }
    return all;
  }();
  return kernels;
}

}  // namespace coli
