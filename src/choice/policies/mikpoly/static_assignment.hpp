#pragma once
// Tasks on units that software schedules (MikPoly, section 4: NPU).

#include <cstdint>
#include <vector>

#include "src/choice/policies/shared/paper_policy.hpp"

namespace dyn::choice {

/// Equal tasks: those of one region.
struct TaskGroup {
  std::int64_t tasks = 0;
  double seconds = 0;  ///< of one
};

struct StaticAssignment {
  /// tasks[unit][group]: how many of a group's tasks a unit has.
  std::vector<std::vector<std::int64_t>> tasks;
  double seconds = 0;  ///< of the unit with the most
};

/// Max-min: the task whose least completion time is most goes next, to the unit where it completes
/// first; of equal units the first. On equal units these are the longest tasks first.
StaticAssignment max_min_assignment(const std::vector<TaskGroup>& groups, int units);

/// A program's regions as groups of tasks: pipelined tasks of their micro-kernels.
std::vector<TaskGroup> task_groups(const MicroKernels& kernels, const ProductShape& shape,
                                   const KernelProgram& program);

}  // namespace dyn::choice
