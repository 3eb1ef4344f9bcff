#pragma once
// A machine with round figures, for tests of costs and choices.

#include "src/rkernel/machine.hpp"

namespace dyn::testing {

/// 1 GHz, 16 lanes, two threads, AVX-512's tiles.
rkernel::Machine round_machine();

}  // namespace dyn::testing
