#include "src/cli/select/choosing_time.hpp"

#include "src/cli/report/statistics.hpp"

namespace dyn::cli {
namespace {

constexpr int most_samples = 200, fewest_samples = 5;
constexpr double enough_seconds = 2e-3;
constexpr double batch_seconds = 1e-6;  // a batch of so long is timed well by the clock
constexpr int most_batch = 1024;

std::vector<double> time_calls(const rkernel::Kernel& kernel, const rkernel::PlanRequest& request,
                               rkernel::Policy policy, bool remembered) {
  const auto call = [&] { kernel.choose_only(request, policy, remembered); };
  call();
  int batch = 1;
  const auto sample = [&] {
    return seconds_of([&] {
      for (int i = 0; i < batch; ++i) call();
    });
  };
  while (batch < most_batch && sample() < batch_seconds) batch *= 2;
  std::vector<double> samples;
  double total = 0;
  for (int i = 0; i < most_samples && (i < fewest_samples || total < enough_seconds); ++i) {
    const double seconds = sample();
    total += seconds;
    samples.push_back(seconds / batch);
  }
  return samples;
}

}  // namespace

ChoosingTimes time_choosing(const rkernel::Kernel& kernel, const rkernel::PlanRequest& request,
                            rkernel::Policy policy) {
  if (policy == rkernel::Policy::Oracle) return {};
  ChoosingTimes times{time_calls(kernel, request, policy, false), {}};
  if (policy == rkernel::Policy::Dyn) times.remembered = time_calls(kernel, request, policy, true);
  return times;
}

}  // namespace dyn::cli
