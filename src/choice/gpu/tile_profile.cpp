#include "src/choice/gpu/tile_profile.hpp"

#include <algorithm>
#include <limits>

#include "src/base/rounding.hpp"

namespace dyn::choice {
namespace {

/// Rows and columns of a block that exist, and its stages.
struct BlockWork {
  double rows, columns, steps;

  double store(const GpuBlockRates& rates) const {
    return rows * columns * rates.output + rates.bands;
  }
  double hidden(const GpuBlockRates& rates) const {
    return std::min(rates.most_hidden, store(rates));
  }
  /// The time of a wave that follows no other.
  double seconds(const GpuBlockRates& rates, double latency) const {
    if (steps <= 0) return latency + store(rates);
    const double load = std::max(rows * rates.row + columns * rates.column, rates.least_load);
    return latency + load + (steps - 1) * std::max(load, rates.stage) + rates.stage + store(rates);
  }
};

}  // namespace

GpuTileProfile::GpuTileProfile(const GpuMachine& machine, const GpuContraction& form,
                               const GpuTile& tile)
    : block_m_(tile.block_m),
      block_n_(tile.block_n),
      block_k_(tile.block_k),
      multiprocessors_(machine.multiprocessors),
      latency_(machine.memory_latency_seconds),
      launch_(machine.launch_seconds),
      a_traffic_((form.a_strips > 0 ? form.a_strips : 1) * form.a_element_bytes /
                 machine.l2_bytes_per_second),
      b_traffic_(form.b_element_bytes / machine.l2_bytes_per_second),
      output_traffic_(form.epilogue_bytes / machine.l2_bytes_per_second),
      per_multiply_add_(std::numeric_limits<double>::infinity()) {
  const int fitting = program_occupancy(machine, {&tile, 1}).blocks;
  const double block = static_cast<double>(block_m_ * block_n_ * block_k_);
  for (int resident = 1; resident <= fitting; ++resident) {
    rates_.push_back(block_rates(machine, form, tile, resident));
    const double blocks = static_cast<double>(multiprocessors_ * resident);
    per_multiply_add_ = std::min(per_multiply_add_, rates_.back().stage / (blocks * block));
  }
}

double GpuTileProfile::least_seconds(const GpuContraction& sizes) const {
  const std::int64_t m_blocks = ceil_div(sizes.m, block_m_), n_blocks = ceil_div(sizes.n, block_n_);
  const std::int64_t blocks = sizes.batch * m_blocks * n_blocks;
  if (blocks == 0) return launch_;
  const BlockWork work{static_cast<double>(std::min(block_m_, sizes.m)),
                       static_cast<double>(std::min(block_n_, sizes.n)),
                       static_cast<double>(ceil_div(sizes.k, block_k_))};
  const std::int64_t wave = multiprocessors_ * static_cast<std::int64_t>(rates_.size());
  const std::int64_t full = blocks / wave, rest = blocks - full * wave;
  double seconds = 0;
  if (full > 0) {
    seconds = static_cast<double>(full) * work.seconds(rates_.back(), latency_) -
              static_cast<double>(full - 1) * work.hidden(rates_.back());
  }
  if (rest > 0) {
    const GpuBlockRates& last =
        rates_[static_cast<std::size_t>(ceil_div(rest, multiprocessors_) - 1)];
    seconds += work.seconds(last, latency_) - (full > 0 ? work.hidden(last) : 0);
  }
  const double batch = static_cast<double>(sizes.batch), m = static_cast<double>(sizes.m),
               n = static_cast<double>(sizes.n), k = static_cast<double>(sizes.k);
  const double traffic =
      batch * (m * k * a_traffic_ * static_cast<double>(n_blocks) +
               n * k * b_traffic_ * static_cast<double>(m_blocks) + m * n * output_traffic_);
  return launch_ + std::max(seconds, latency_ + traffic);
}

}  // namespace dyn::choice
