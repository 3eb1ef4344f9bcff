#pragma once
// Options::policy "oracle": programs are measured where all others predict.

#include <cstddef>
#include <span>
#include <vector>

#include "src/runtime/plan/candidates.hpp"
#include "src/runtime/plan/plans.hpp"

namespace dyn::runtime {

class Executable;

/// Throws Error(unsupported) for a model whose runs cannot be measured: one on another device than
/// "cpu", or with states, which every run would change.
void require_measurable(const Executable& executable);

/// One group's programs, and the least that each took in any run.
struct MeasuredGroup {
  std::size_t group = 0;
  CandidateUnion candidates;
  std::vector<double> seconds;  ///< of each program
  std::size_t best() const;     ///< index of the fastest
};

/// Runs the whole model on inputs that are valid for any model (random floats; integers, which may
/// be indices, 0) until each program of these groups has run at least once, and those near the best
/// of their group twice more. Run number i takes the i-th program of every group at once. Groups
/// with fewer than two programs are left out. The results are the same as those of any other run:
/// only plans differ. Throws what runs throw.
std::vector<MeasuredGroup> measure_groups(const Executable& executable, const PlanPtr& base,
                                          std::span<const std::size_t> groups);

/// The plan with the fastest program of every group.
PlanPtr measured_plan(const Executable& executable, const PlanPtr& base);

/// What measures the plans of an executable, which must outlive it, where its policy is "oracle";
/// else empty.
Plans::Improve measurer_of(const Executable& executable);

}  // namespace dyn::runtime
