#include "src/choice/cpu/legality.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "src/choice/cost/rest_columns.hpp"

namespace dyn::choice {
namespace {

using rkernel::LaneAxis;
using rkernel::Region;
using rkernel::Strategy;

bool has_tile(const Machine& machine, const ContractionShape& shape, const Strategy& strategy) {
  if (shape.lanes != LaneAxis::K) {
    return strategy.tile_columns % machine.panel == 0 &&
           machine.find_tile(strategy.tile_rows, strategy.tile_columns, shape.factors()) != nullptr;
  }
  const auto columns = static_cast<std::size_t>(shape.n);
  return strategy.tile_columns == machine.panel && columns < machine.dot_rows.size() &&
         strategy.tile_rows >= 1 && strategy.tile_rows <= machine.dot_rows[columns];
}

bool has_slices(const Machine& machine, const ContractionShape& shape, std::int64_t slices) {
  if (shape.lanes == LaneAxis::M) return slices == 1;
  if (shape.fixed_slices > 0) return slices == shape.fixed_slices;
  return slices == 1 || (machine.threads > 1 && slices > 1 && slices <= shape.k);
}

std::string wrong_moves(const Machine& machine, const ContractionShape& shape,
                        const Strategy& strategy) {
  if (!strategy.copy_a && shape.must_copy_a) return "A cannot be read as it lies";
  if (strategy.direct_b && (shape.b_packed || shape.must_pack_b || shape.lanes == LaneAxis::K))
    return "B cannot be read as it lies";
  // Columns that are packed as rows are dots in every program.
  if (strategy.dot_rest && !shape.rest_as_rows && rest_columns(machine, shape) == 0)
    return "no columns are left to lanes along K";
  return {};
}

std::string wrong_strategy(const Machine& machine, const ContractionShape& shape,
                           const Strategy& strategy) {
  if (strategy.lanes != shape.lanes) return "its lanes are another form's";
  if (!has_tile(machine, shape, strategy))
    return fmt::format("there is no tile of {} x {}", strategy.tile_rows, strategy.tile_columns);
  if (strategy.block_m < 1 || strategy.block_n < 1 || strategy.block_k < 1)
    return fmt::format("a block of {} x {} x {} is empty", strategy.block_m, strategy.block_n,
                       strategy.block_k);
  if (strategy.block_n < shape.n && strategy.block_n % machine.panel != 0)
    return fmt::format("a block of {} columns cuts a panel", strategy.block_n);
  if (!has_slices(machine, shape, strategy.split_k))
    return fmt::format("K cannot be cut in {} slices", strategy.split_k);
  return wrong_moves(machine, shape, strategy);
}

bool is_within(const Region& region, const ContractionShape& shape, int panel) {
  const bool fits_n = region.n0 + region.n == shape.n || region.n % panel == 0;
  return region.m0 >= 0 && region.n0 >= 0 && region.m >= 0 && region.n >= 0 &&
         region.m <= shape.m - region.m0 && region.n <= shape.n - region.n0 &&
         region.n0 % panel == 0 && fits_n;
}

bool overlap(const Region& a, const Region& b) {
  return a.m0 < b.m0 + b.m && b.m0 < a.m0 + a.m && a.n0 < b.n0 + b.n && b.n0 < a.n0 + a.n;
}

/// Each element lies in exactly one region.
bool covers(const std::vector<Region>& regions, const ContractionShape& shape, int panel) {
  double elements = 0;
  for (std::size_t i = 0; i < regions.size(); ++i) {
    if (!is_within(regions[i], shape, panel)) return false;
    elements += static_cast<double>(regions[i].m) * static_cast<double>(regions[i].n);
    for (std::size_t j = 0; j < i; ++j) {
      if (overlap(regions[i], regions[j])) return false;
    }
  }
  return elements == static_cast<double>(shape.m) * static_cast<double>(shape.n);
}

}  // namespace

std::string illegality(const Machine& machine, const ContractionShape& shape, const Choice& choice,
                       int threads) {
  const std::vector<Region>& regions = choice.program.regions;
  if (choice.threads < 1 || choice.threads > threads)
    return fmt::format("it runs on {} of {} threads", choice.threads, threads);
  if (regions.empty() || regions.size() > most_program_regions)
    return fmt::format("it has {} regions, not 1 to {}", regions.size(), most_program_regions);
  if (regions.size() > 1 && shape.lanes == LaneAxis::K) return "lanes along K run in one region";
  if (!covers(regions, shape, machine.panel)) return "its regions do not cover the output once";
  for (const Region& region : regions) {
    if (regions.size() > 1 && region.strategy.split_k > 1)
      return "K is cut in slices, which one region alone can have";
    if (std::string wrong = wrong_strategy(machine, shape, region.strategy); !wrong.empty())
      return wrong;
  }
  return {};
}

}  // namespace dyn::choice
