#pragma once
// Machines that do not exist, for tests of costs and choices.

#include <random>

#include "src/choice/cost/cost.hpp"

namespace dyn::testing {

/// 1 GHz, 16 lanes, two threads, AVX-512's tiles.
choice::Machine round_machine();

/// The same with `threads` threads, each as fast as its first, and levels of memory that they share
/// as its do.
choice::Machine round_machine(int threads);

/// Tiles of AVX-512 or AVX2, whose speeds have no system, over memory of any size and speed. More
/// threads never read less together.
choice::Machine random_machine(std::mt19937_64& random, int threads);

/// Operands of any form that kernels have a strategy for, on that machine; sizes log-uniform, and
/// small ones of every kind.
choice::ContractionShape random_contraction(std::mt19937_64& random,
                                            const choice::Machine& machine);

}  // namespace dyn::testing
