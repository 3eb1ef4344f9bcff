#pragma once
// Random shapes in the ranges of a suite.

#include <cstdint>
#include <vector>

#include "src/cli/op/suite.hpp"

namespace dyn::cli {

/// `count` problems, each like a random one of `cases`: of its kind, with its words (transposed or
/// not) and with sizes of its own, drawn log-uniformly between the least and the greatest of its
/// suite. SuiteKind::drawn lists the sizes that are drawn; columns that a line ties stay equal.
/// Their suite is "random". The same seed gives the same shapes. Throws Error(user) where `cases`
/// come from no suite.
std::vector<OpCase> random_shapes(const std::vector<OpCase>& cases, int count, std::uint64_t seed);

}  // namespace dyn::cli
