// The kernels in plain C++: the definition that every other implementation is compared with, bit by
// bit, and what runs on a CPU that has none.
#pragma once

#include "kernels/kernel_functions.h"

namespace coli {

const IsaKernels& ReferenceKernels();

// Parts of the above.
const MatrixKernels& ReferenceIntegerMatrix();  // formats of Arithmetic::kInteger
const MatrixKernels& ReferenceFloatMatrix();    // formats of Arithmetic::kFloat
const VectorKernels& ReferenceVector();

// exp(x) of the numerics contract: at most 1 ulp off, 0 below the smallest subnormal, infinity
// above the largest float.
float ReferenceExp(float x);

}  // namespace coli
