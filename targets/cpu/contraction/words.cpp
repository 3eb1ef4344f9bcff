#include "targets/cpu/contraction/words.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/rounding.hpp"
#include "src/choice/cost/cost.hpp"
#include "src/choice/cost/rest_columns.hpp"
#include "src/choice/cpu/unused_lanes.hpp"

namespace dyn::cpu {
namespace {

using choice::ContractionShape;
using rkernel::LaneAxis;
using rkernel::Region;
using rkernel::Strategy;

std::string words_of(const ContractionShape& shape, const Region& region) {
  const Strategy& strategy = region.strategy;
  return fmt::format("tile {}x{}, rows {}, block {} x {} x {}{}, A {}, B {}{}", strategy.tile_rows,
                     strategy.tile_columns,
                     rkernel::to_string(rkernel::tiling_of(std::min(region.m, strategy.block_m),
                                                           strategy.tile_rows)),
                     strategy.block_m, strategy.block_n, strategy.block_k,
                     strategy.split_k > 1 ? fmt::format(" of {} slices", strategy.split_k) : "",
                     strategy.copy_a ? "copied" : "as it lies",
                     shape.b_packed      ? "packed at load"
                     : strategy.direct_b ? "as it lies"
                                         : "packed by each ticket",
                     strategy.lanes == LaneAxis::M   ? ", lanes along M"
                     : strategy.lanes == LaneAxis::K ? ", lanes along K"
                                                     : "") +
         (strategy.dot_rest ? ", lanes along K in the columns of no whole vector" : "");
}

Strategy canonical(const codegen::Isa& isa, const ContractionShape& shape, const Region& region) {
  Strategy strategy = region.strategy;
  const std::int64_t m_blocks = std::max<std::int64_t>(1, ceil_div(region.m, strategy.block_m));
  const std::int64_t n_blocks = std::max<std::int64_t>(1, ceil_div(region.n, strategy.block_n));
  strategy.block_m = std::max<std::int64_t>(1, ceil_div(region.m, m_blocks));
  const std::int64_t panels = ceil_div(ceil_div(region.n, isa.panel_f32), n_blocks);
  strategy.block_n = std::max<std::int64_t>(1, panels) * isa.panel_f32;
  strategy.dot_rest = choice::has_dots(shape, strategy) && region.n % isa.f32_lanes != 0;
  if (strategy.lanes == LaneAxis::K) return strategy;
  const auto largest_tile = [&](std::int64_t rows) {
    return static_cast<int>(rkernel::tiling_of(rows, strategy.tile_rows).first.tile);
  };
  strategy.tile_rows =
      std::max({1, largest_tile(strategy.block_m), largest_tile(region.m / m_blocks)});
  if (panels * isa.panel_f32 < strategy.tile_columns) strategy.tile_columns = isa.panel_f32;
  const std::int64_t slice_k = std::max<std::int64_t>(1, shape.slice_of_k(strategy.split_k));
  strategy.block_k = std::min(strategy.block_k, slice_k);
  return strategy;
}

}  // namespace

std::string words_of(const ContractionShape& shape, const choice::Choice& choice) {
  std::string text;
  for (const Region& region : choice.program.regions) {
    if (choice.program.regions.size() > 1) {
      text += fmt::format("{}[{}..{}, {}..{}] ", text.empty() ? "" : "; ", region.m0,
                          region.m0 + region.m, region.n0, region.n0 + region.n);
    }
    text += words_of(shape, region);
  }
  return text + fmt::format(", {} thread{}", choice.threads, choice.threads == 1 ? "" : "s");
}

std::string terms_of(const choice::Machine& machine, const ContractionShape& shape,
                     const choice::Choice& choice) {
  const rkernel::UnusedLanes unused = choice::unused_lanes(machine, shape, choice.program);
  std::string text =
      fmt::format("    unused lanes: {:.1f} % along M, {:.1f} % along N, {:.1f} % along K\n",
                  100 * unused.m, 100 * unused.n, 100 * unused.k);
  for (const Region& region : choice.program.regions) {
    ContractionShape part = shape;
    part.m = region.m;
    part.n = region.n;
    choice::CostBreakdown breakdown;
    choice::contraction_cost(machine, part, region.strategy, choice.threads, &breakdown);
    text += choice::to_string(breakdown);
  }
  return text;
}

choice::Choice canonical(const codegen::Isa& isa, const ContractionShape& shape,
                         choice::Choice choice) {
  for (Region& region : choice.program.regions) region.strategy = canonical(isa, shape, region);
  return choice;
}

}  // namespace dyn::cpu
