// A deadline of 5 ms, and another thread that cancels, end a run of half a second; the next run
// gives what plain loops do.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <dyn/dyn.hpp>
#include <dyn/functions.hpp>

namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

constexpr std::int64_t width = 1024;
constexpr std::int64_t most_rows = 1 << 16;
constexpr std::size_t layers = 3;

std::vector<float> random_numbers(std::int64_t count, float bound, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> numbers(-bound, bound);
  std::vector<float> all(static_cast<std::size_t>(count));
  std::generate(all.begin(), all.end(), [&] { return numbers(engine); });
  return all;
}

/// Layers of relu(x w), each square.
class Model {
 public:
  Model() {
    for (std::size_t i = 0; i < layers; ++i)
      weights_.push_back(random_numbers(width * width, 0.06f, static_cast<unsigned>(i)));
  }

  dyn::Graph load() const {
    dyn::Options options;
    options.threads = 2;
    dyn::Builder b("deep");
    dyn::Value y = b.input("x", dyn::DType::f32, {b.dim("N", 1, most_rows), width});
    for (std::size_t i = 0; i < layers; ++i)
      y = relu(matmul(
          y, b.weight("w" + std::to_string(i), dyn::Tensor::view(weights_[i], {width, width}))));
    b.output("y", y);
    return b.load(options);
  }

  /// One row by plain loops.
  std::vector<double> row(const float* x) const {
    std::vector<double> last(x, x + width);
    for (const std::vector<float>& weight : weights_) {
      std::vector<double> next(width);
      for (std::size_t k = 0; k < width; ++k)
        for (std::size_t n = 0; n < width; ++n)
          next[n] += last[k] * static_cast<double>(weight[k * width + n]);
      for (double& element : next) element = std::max(element, 0.0);
      last = std::move(next);
    }
    return last;
  }

 private:
  std::vector<std::vector<float>> weights_;
};

/// Milliseconds of a run, and whether it was ended.
struct Outcome {
  double milliseconds = 0;
  bool ended = false;
};

Outcome run(dyn::Call& call, const dyn::RunOptions& options) {
  const Clock::time_point start = Clock::now();
  Outcome outcome;
  try {
    call.run(options);
  } catch (const dyn::Error& error) {
    if (error.kind() != dyn::ErrorKind::cancelled) throw;
    outcome.ended = true;
  }
  outcome.milliseconds = Milliseconds(Clock::now() - start).count();
  return outcome;
}

/// So many rows that a run takes about half a second on this machine.
std::int64_t rows_of_half_a_second(const dyn::Graph& graph, const std::vector<float>& x) {
  constexpr std::int64_t sample = 1024;
  dyn::Call call(graph);
  call.set_input("x", dyn::Tensor::view(x.data(), {sample, width}));
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 4; ++i) least = std::min(least, run(call, {}).milliseconds);
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(500.0 / least * sample), sample,
                                  most_rows);
}

bool right(const Model& model, const std::vector<float>& x, const std::vector<float>& y,
           std::int64_t rows) {
  for (std::int64_t r = 0; r < rows; r += std::max<std::int64_t>(rows / 7, 1)) {
    const std::vector<double> expected = model.row(x.data() + r * width);
    for (std::size_t n = 0; n < width; ++n) {
      const double got = static_cast<double>(y[static_cast<std::size_t>(r * width) + n]);
      if (!(std::abs(got - expected[n]) <= 1e-4 * (1 + expected[n]))) {
        std::printf("row %lld, column %zu: %g instead of %g\n", static_cast<long long>(r), n, got,
                    expected[n]);
        return false;
      }
    }
  }
  return true;
}

}  // namespace

int main() {
  const Model model;
  const dyn::Graph graph = model.load();
  const std::vector<float> x = random_numbers(most_rows * width, 1, 99);
  const std::int64_t rows = rows_of_half_a_second(graph, x);
  std::vector<float> y(static_cast<std::size_t>(rows * width));
  dyn::Call call(graph);
  call.set_input("x", dyn::Tensor::view(x.data(), {rows, width}));
  call.set_output("y", dyn::Tensor::view(y, {rows, width}));
  const auto is_right_after = [&](const char* what) {
    std::fill(y.begin(), y.end(), std::numeric_limits<float>::quiet_NaN());
    const bool good = !run(call, {}).ended && right(model, x, y, rows);
    if (!good) std::printf("%s: the next run is wrong\n", what);
    return good;
  };

  const double whole = run(call, {}).milliseconds;
  if (!is_right_after("a whole run")) return 1;

  // How late a thread comes is the machine's business: the best of some tries counts, and half of
  // the run's time is none of a run that was ended.
  std::vector<double> ends;
  for (int i = 0; i < 5; ++i) {
    const Outcome outcome = run(call, {.deadline = Clock::now() + std::chrono::milliseconds(5)});
    if (!outcome.ended) break;
    ends.push_back(outcome.milliseconds);
  }
  std::sort(ends.begin(), ends.end());
  if (ends.size() < 5 || ends.front() > whole / 2) {
    std::printf("a deadline in 5 ms ended %zu of 5 runs of %.0f ms, the first after %.1f ms\n",
                ends.size(), whole, ends.empty() ? whole : ends.front());
    return 2;
  }
  if (!is_right_after("a deadline")) return 3;

  const dyn::Cancellation cancellation;
  std::optional<Clock::time_point> cancelled;
  std::thread other([&cancellation, &cancelled] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    cancelled = Clock::now();
    cancellation.cancel();
  });
  const Outcome outcome = run(call, {.cancellation = cancellation});
  const Clock::time_point end = Clock::now();
  other.join();
  if (!outcome.ended || outcome.milliseconds > whole / 2 + 20) {
    std::printf("a run of %.0f ms that was cancelled after 20 ms %s after %.1f ms\n", whole,
                outcome.ended ? "was ended" : "was whole", outcome.milliseconds);
    return 4;
  }
  if (!is_right_after("a cancellation")) return 5;

  std::printf(
      "note: a deadline of 5 ms ended a run of %.0f ms after %.2f to %.2f ms (5 runs); cancel() "
      "ended it %.2f ms later\n",
      whole, ends.front(), ends.back(), Milliseconds(end - *cancelled).count());
  return 0;
}
