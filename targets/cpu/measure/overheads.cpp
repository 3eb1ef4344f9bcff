#include "targets/cpu/measure/overheads.hpp"

#include <immintrin.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <thread>
#include <vector>

#include "src/base/clock.hpp"
#include "src/base/crew.hpp"
#include "targets/cpu/measure/buffer.hpp"

namespace dyn::cpu {
namespace {

constexpr double scheduled_handover_seconds =
    1e-3;  // of threads that share a processor: a scheduler's tick

double measure_call(MainLoop loop, const Tile& tile) {
  constexpr int calls = 256;
  std::vector<float> sums(static_cast<std::size_t>(tile.rows * tile.columns));
  const std::vector<float> operands(sums.size());
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < measured_rounds; ++round) {
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < calls; ++i)
      loop(operands.data(), 1, operands.data(), tile.columns, 0, 0, sums.data(), tile.columns, 0, 0,
           0, 0);
    best = std::min(best, seconds_since(start) / calls);
  }
  return best;
}

// Tickets are taken by the caller and other threads, who begin and end each round together; fewer
// of them where the system refuses threads.
double measure_ticket(int threads) {
  constexpr std::int64_t tickets = 4096;
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < measured_rounds; ++round) {
    alignas(64) std::atomic<std::int64_t> counter{0};
    alignas(64) std::atomic<int> ready{0};
    alignas(64) std::atomic<bool> begun{false};
    const auto take_all = [&] {
      std::int64_t left = counter.load();
      while (left > 0) counter.compare_exchange_weak(left, left - 1);
    };
    Crew others(threads - 1, [&](int) {
      ++ready;
      while (!begun.load()) _mm_pause();
      take_all();
    });
    const int come = others.close(Crew::patience);
    while (ready.load() < come) std::this_thread::yield();
    const Clock::time_point start = Clock::now();
    counter = tickets;
    begun = true;
    take_all();
    best = std::min(
        best, seconds_since(start) * static_cast<double>(come + 1) / static_cast<double>(tickets));
  }
  return best;
}

double measure_handover() {
  constexpr int exchanges = 200;
  alignas(64) std::atomic<int> flag{0};
  alignas(64) std::atomic<int> answer{0};
  Crew other(1, [&](int) {
    for (int i = 1; i <= measured_rounds * exchanges; ++i) {
      while (flag.load(std::memory_order_acquire) < i) _mm_pause();
      answer.store(i, std::memory_order_release);
    }
  });
  if (other.close(Crew::patience) == 0) return scheduled_handover_seconds;
  double best = std::numeric_limits<double>::infinity();
  int sent = 0;
  for (int round = 0; round < measured_rounds; ++round) {
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < exchanges; ++i) {
      flag.store(++sent, std::memory_order_release);
      while (answer.load(std::memory_order_acquire) < sent) _mm_pause();
    }
    best = std::min(best, seconds_since(start) / exchanges);
  }
  return best;
}

}  // namespace

Overheads measure_overheads(MainLoop loop, const Tile& tile, int threads, int processors) {
  const double handover = threads == 1      ? 0
                          : processors == 1 ? scheduled_handover_seconds
                                            : measure_handover();
  return {measure_call(loop, tile), measure_ticket(std::min(threads, processors)), handover};
}

}  // namespace dyn::cpu
