#include "src/choice/policies/mikpoly/static_assignment.hpp"

#include <algorithm>
#include <numeric>
#include <queue>

#include "src/choice/policies/shared/blocks.hpp"

namespace dyn::choice {

StaticAssignment max_min_assignment(const std::vector<TaskGroup>& groups, int units) {
  StaticAssignment result;
  result.tasks.assign(static_cast<std::size_t>(units), std::vector<std::int64_t>(groups.size(), 0));
  std::vector<std::size_t> order(groups.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return groups[a].seconds > groups[b].seconds; });
  using Load = std::pair<double, std::size_t>;  // seconds so far, and the unit
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
  for (std::size_t unit = 0; unit < static_cast<std::size_t>(units); ++unit) loads.emplace(0, unit);
  for (const std::size_t group : order) {
    for (std::int64_t task = 0; task < groups[group].tasks; ++task) {
      const auto [seconds, unit] = loads.top();
      loads.pop();
      ++result.tasks[unit][group];
      result.seconds = std::max(result.seconds, seconds + groups[group].seconds);
      loads.emplace(seconds + groups[group].seconds, unit);
    }
  }
  return result;
}

std::vector<TaskGroup> task_groups(const MicroKernels& kernels, const ProductShape& shape,
                                   const KernelProgram& program) {
  std::vector<TaskGroup> groups;
  for (const KernelRegion& region : program.regions) {
    const MicroKernel block = kernels[region.kernel];
    groups.push_back({blocks_of({shape.batch, region.m, region.n, shape.k}, block),
                      kernels.task_seconds(region.kernel, ceil_by(shape.k, block.k))});
  }
  return groups;
}

}  // namespace dyn::choice
