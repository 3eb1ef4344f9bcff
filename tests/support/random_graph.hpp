#pragma once
// Texts of random small graphs that use most operators.

#include <random>
#include <string>
#include <vector>

namespace dyn::testing {

/// `steps` random statements over dims A, B in 0..100; the last value and some others are outputs.
std::string random_graph(std::mt19937_64& random, int steps);

}  // namespace dyn::testing
