#include "targets/cpu/vendor/blocks.hpp"

#include <algorithm>

#include "src/base/rounding.hpp"
#include "src/choice/calibration/calibration.hpp"

namespace dyn::cpu {
namespace {

constexpr std::int64_t row_step = 8;      ///< of blocks' borders
constexpr std::int64_t least_panels = 2;  ///< of a block of columns

}  // namespace

VendorBlocks cut_blocks(const VendorSizes& sizes, std::int64_t panel, int threads) {
  const choice::Calibration& fitted = choice::default_calibration();
  const double flops = 2.0 * static_cast<double>(sizes.batch) * static_cast<double>(sizes.m) *
                       static_cast<double>(sizes.n) * static_cast<double>(sizes.k);
  const auto per_thread = std::clamp<std::int64_t>(
      static_cast<std::int64_t>(flops / fitted.vendor_flops_of_block) / threads, 1,
      fitted.vendor_most_blocks_of_thread);
  const std::int64_t wanted = threads > 1 ? ceil_div(per_thread * threads, sizes.batch) : 1;
  VendorBlocks best;
  double least = 0;
  for (std::int64_t rows = 1; rows <= wanted; ++rows) {
    VendorBlocks blocks;
    blocks.m = std::min(sizes.m, round_up(ceil_div(sizes.m, rows), row_step));
    blocks.n = std::min(sizes.n,
                        round_up(ceil_div(sizes.n, ceil_div(wanted, rows)), least_panels * panel));
    blocks.m_blocks = ceil_div(sizes.m, blocks.m);
    blocks.n_blocks = ceil_div(sizes.n, blocks.n);
    const double again = static_cast<double>(blocks.m_blocks) * static_cast<double>(sizes.n) +
                         static_cast<double>(blocks.n_blocks) * static_cast<double>(sizes.m);
    // Too few blocks leave threads idle: worse than whatever is read again.
    const double merit =
        again * static_cast<double>(ceil_div(
                    threads, std::min<std::int64_t>(threads, sizes.batch * blocks.count())));
    if (rows > 1 && merit >= least) continue;
    least = merit;
    best = blocks;
  }
  return best;
}

}  // namespace dyn::cpu
