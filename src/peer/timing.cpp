#include "src/peer/timing.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

namespace dyn::peer {
namespace {

constexpr double batch_seconds = 20e-6;
constexpr int most_batch = 1 << 20;

double seconds_of(int count, const std::function<void()>& iterate) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) iterate();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return (samples[(samples.size() - 1) / 2] + samples[samples.size() / 2]) / 2;
}

}  // namespace

SliceResult time_slice(double slice_seconds, const std::function<void()>& iterate) {
  const double first = seconds_of(1, iterate);
  if (first >= slice_seconds) return {first, 1};
  std::vector<double> samples;
  long iterations = 0;
  int batch = 1;
  for (double total = 0; samples.empty() || total < slice_seconds;) {
    const double seconds = seconds_of(batch, iterate);
    total += seconds;
    iterations += batch;
    if (seconds < batch_seconds && samples.empty() && batch < most_batch)
      batch *= 2;
    else
      samples.push_back(seconds / batch);
  }
  return {median(std::move(samples)), iterations};
}

}  // namespace dyn::peer
