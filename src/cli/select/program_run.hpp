#pragma once
// One operator, whose programs run in turn and must agree.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "src/cli/op/op_cases.hpp"
#include "src/cli/op/op_model.hpp"
#include "src/runtime/plan/candidates.hpp"

namespace dyn::cli {

/// Values of the dims that the operator's model leaves open.
DimMap open_dims_of(const OpCase& test);

/// Programs of one group at one shape. Not thread-safe.
class ProgramRun {
 public:
  ProgramRun(const std::shared_ptr<const runtime::Model>& model, const OpCase& test,
             std::size_t group, std::uint64_t seed);
  runtime::PlanPtr plan_of(const rkernel::Candidate& program) const;

  /// Seconds of one run of the plan, the median of a slice. With `check` the result, over an output
  /// full of NaN, is compared with that of the first program that was checked. Throws
  /// Error(internal), with the words of both programs, where another order of additions does not
  /// explain a difference.
  double seconds(const runtime::PlanPtr& plan, const std::string& words, double slice_seconds,
                 bool check);

 private:
  void compare(const std::string& words);

  OpRun run_;
  runtime::PlanPtr base_;
  std::string label_, first_;
  std::size_t group_;
  int threads_;
  std::int64_t terms_ = 1;
  std::vector<float> expected_;
};

}  // namespace dyn::cli
