#include "targets/cpu/vendor_cost.hpp"

#include <algorithm>

namespace dyn::cpu {
namespace {

/// Of one execution: arguments, checks, loops over blocks (0.4 us measured of a product of 1 x 4 x 4), and taking its objects.
constexpr double seconds_per_execution = 0.6e-6;

/// Of one thread, in products at most.
double flops_per_second(const rkernel::Machine& machine) {
  double best = 0;
  for (const rkernel::TileSpeed& tile : machine.tiles) best = std::max(best, 2.0 * tile.rows * tile.columns / tile.seconds_per_k);
  return best;
}

}  // namespace

double vendor_seconds(const rkernel::Machine& machine, const rkernel::ContractionShape& shape, int threads, std::int64_t tickets, bool epilogue) {
  const auto active = static_cast<int>(std::clamp<std::int64_t>(tickets, 1, threads));
  const auto units = static_cast<double>(active);
  const std::int64_t rounds = (tickets + active - 1) / active;
  const double waiting = static_cast<double>(rounds) * units / static_cast<double>(std::max<std::int64_t>(tickets, 1));  // of the last round's idle threads
  const auto batch = static_cast<double>(shape.batch), m = static_cast<double>(shape.m), n = static_cast<double>(shape.n), k = static_cast<double>(shape.k);
  const auto moved = [&](double elements, std::size_t level) { return 4 * elements / machine.bandwidth_per_thread(level, active) / units; };
  const double products = 2 * batch * m * n * k / flops_per_second(machine) / units;
  const double reads = moved(batch * m * k, shape.a_level) + moved((shape.b_packed ? 1 : batch) * n * k, shape.b_level);
  const double sums = epilogue ? moved(2 * batch * m * n, machine.level_of(static_cast<std::int64_t>(4 * batch * m * n))) : 0;
  return std::max(products, reads) * waiting + sums + seconds_per_execution * static_cast<double>(rounds) + (active > 1 ? machine.seconds_per_wakeup : 0);
}

}  // namespace dyn::cpu
