#include "src/runtime/plan/plan.hpp"

#include <algorithm>

#include "src/runtime/plan/arena_layout.hpp"

namespace dyn::runtime {
namespace {

double sum(const Plan& plan, double rkernel::Launch::* field) {
  double total = 0;
  for (const rkernel::Launch& launch : plan.launches) total += launch.*field;
  return total;
}

}  // namespace

std::size_t Plan::intermediate_bytes() const {
  return arena_bytes + scratch_stride(scratch_bytes) * static_cast<std::size_t>(threads) +
         shared_bytes;
}

double Plan::flops() const { return sum(*this, &rkernel::Launch::flops); }
std::array<double, rkernel::group_count> Plan::flops_by_group() const {
  std::array<double, rkernel::group_count> flops{};
  for (const rkernel::Launch& launch : launches)
    flops[static_cast<std::size_t>(launch.group)] += launch.flops;
  return flops;
}
double Plan::bytes() const { return sum(*this, &rkernel::Launch::bytes); }
double Plan::predicted_seconds() const { return sum(*this, &rkernel::Launch::predicted_seconds); }

PlanPtr with_launches(const Plan& plan, std::vector<GroupLaunch> launches, int threads) {
  auto changed = std::make_shared<Plan>(plan);
  for (auto& [group, launch] : launches) {
    launch.threads = std::clamp(launch.threads, 1, threads);
    changed->scratch_bytes = std::max(changed->scratch_bytes, launch.scratch_bytes);
    changed->shared_bytes = std::max(changed->shared_bytes, launch.shared_bytes);
    changed->footprint_bytes += launch.ints.size() * sizeof(std::int64_t);
    changed->footprint_bytes -= changed->launches[group].ints.size() * sizeof(std::int64_t);
    changed->launches[group] = std::move(launch);
  }
  // No helper is called that no launch has work for.
  changed->threads = 1;
  for (const rkernel::Launch& launch : changed->launches) {
    if (launch.grid.function == nullptr)
      changed->threads = std::max(changed->threads, launch.threads);
  }
  return changed;
}

PlanPtr with_launch(const Plan& plan, std::size_t group, rkernel::Launch launch, int threads) {
  std::vector<GroupLaunch> launches;
  launches.push_back({group, std::move(launch)});
  return with_launches(plan, std::move(launches), threads);
}

}  // namespace dyn::runtime
