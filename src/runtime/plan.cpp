#include "src/runtime/plan.hpp"

#include <algorithm>

namespace dyn::runtime {
namespace {

double sum(const Plan& plan, double rkernel::Launch::*field) {
  double total = 0;
  for (const rkernel::Launch& launch : plan.launches) total += launch.*field;
  return total;
}

}  // namespace

double Plan::flops() const { return sum(*this, &rkernel::Launch::flops); }
double Plan::bytes() const { return sum(*this, &rkernel::Launch::bytes); }
double Plan::predicted_seconds() const { return sum(*this, &rkernel::Launch::predicted_seconds); }

PlanPtr with_launch(const Plan& plan, std::size_t group, rkernel::Launch launch, int threads) {
  auto changed = std::make_shared<Plan>(plan);
  launch.threads = std::clamp(launch.threads, 1, threads);
  changed->threads = std::max(changed->threads, launch.threads);
  changed->scratch_bytes = std::max(changed->scratch_bytes, launch.scratch_bytes);
  changed->shared_bytes = std::max(changed->shared_bytes, launch.shared_bytes);
  changed->launches[group] = std::move(launch);
  return changed;
}

}  // namespace dyn::runtime
