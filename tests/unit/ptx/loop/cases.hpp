#pragma once
// The loop problems that GPU kernels are tested with.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/problems/problem_builder.hpp"

namespace dyn::test {

struct LoopCase {
  std::string name;
  rkernel::AxisKind kinds[2];  ///< of its axes
  int axes = 2;
  /// Writes the problem over the axes; returns the operand with indices of gathers (their extent is
  /// 7), or -1.
  std::function<int(testing::ProblemBuilder&)> write;
};

const std::vector<LoopCase>& loop_cases();
const LoopCase& find_case(const std::string& name);

/// A builder with the case's axes and problem; `indices` receives the operand with indices.
std::unique_ptr<testing::ProblemBuilder> build(const LoopCase& loop_case, std::int64_t outer,
                                               std::int64_t inner, int* indices = nullptr);

}  // namespace dyn::test
