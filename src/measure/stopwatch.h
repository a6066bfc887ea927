// Clocks for measurements, in seconds.
#pragma once

namespace coli {

// Time on the wall.
double WallSeconds();

// Time that this thread has computed: other programs on the machine cost cache and bandwidth, but
// not time slices.
double ThreadSeconds();

}  // namespace coli
