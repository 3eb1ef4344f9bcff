#include "src/rkernel/problem/lower.hpp"

#include "src/rkernel/problem/group_lowering.hpp"

namespace dyn::rkernel {

std::vector<Problem> lower(const graph::Module& module, const graph::Fusion& fusion) {
  std::vector<Problem> problems;
  problems.reserve(fusion.groups.size());
  for (const graph::Group& group : fusion.groups) {
    problems.push_back(GroupLowering(module, fusion, group).run());
    if (problems.back().host || problems.back().recurrence) continue;
    choose_lane_axis(problems.back());
    merge_axes(problems.back());
  }
  return problems;
}

}  // namespace dyn::rkernel
