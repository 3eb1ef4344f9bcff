#include "src/cli/op/slices.hpp"

#include <algorithm>

#include "src/base/statistics.hpp"
#include "src/cli/report/statistics.hpp"

namespace dyn::cli {
namespace {

constexpr double batch_seconds = 20e-6;  // a batch of so long is timed well by the clock
constexpr int most_batch = 1 << 20;
constexpr int rounds_of_long_iterations = 3;
constexpr double long_in_slices = 10;

}  // namespace

std::vector<double> time_slice(double slice_seconds, const std::function<void()>& iterate) {
  const double first = seconds_of(iterate);
  if (first >= slice_seconds) return {first};
  std::vector<double> samples;
  int batch = 1;
  for (double total = 0; samples.empty() || total < slice_seconds;) {
    const double seconds = seconds_of([&] {
      for (int i = 0; i < batch; ++i) iterate();
    });
    total += seconds;
    if (seconds < batch_seconds && samples.empty() && batch < most_batch)
      batch *= 2;
    else
      samples.push_back(seconds / batch);
  }
  return samples;
}

SliceTimes time_alternating(const SliceSettings& settings, const std::function<void()>& iterate,
                            const std::vector<PeerProcess*>& peers) {
  std::vector<double> samples, medians;
  std::vector<std::vector<double>> ratios(peers.size());
  int rounds = settings.rounds;
  for (int round = 0; round < rounds; ++round) {
    const std::vector<double> slice = time_slice(settings.slice_seconds, iterate);
    samples.insert(samples.end(), slice.begin(), slice.end());
    medians.push_back(percentile(slice, 50));
    if (medians.back() > long_in_slices * settings.slice_seconds)
      rounds = std::min(rounds, rounds_of_long_iterations);
    wait_until_helpers_idle();
    for (std::size_t i = 0; i < peers.size(); ++i) {
      if (peers[i] == nullptr) continue;
      if (const std::optional<double> seconds = peers[i]->time(settings.slice_seconds))
        ratios[i].push_back(*seconds / medians.back());
      peers[i]->wait_until_idle();
    }
  }
  SliceTimes times{percentile(medians, 50), percentile(samples, 95), {}};
  for (std::size_t i = 0; i < peers.size(); ++i) {
    const bool whole = peers[i] != nullptr && peers[i]->alive();
    times.ratios.push_back(whole ? std::optional(percentile(ratios[i], 50)) : std::nullopt);
  }
  return times;
}

}  // namespace dyn::cli
