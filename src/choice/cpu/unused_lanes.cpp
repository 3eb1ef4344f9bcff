#include "src/choice/cpu/unused_lanes.hpp"

#include <algorithm>
#include <utility>

#include "src/base/rounding.hpp"
#include "src/choice/cost/rest_columns.hpp"

namespace dyn::choice {
namespace {

// The share of `whole` lanes beyond the `used` ones.
double unused(std::int64_t used, std::int64_t whole) {
  return whole > 0 ? 1 - static_cast<double>(used) / static_cast<double>(whole) : 0;
}

// Columns that the multiply-adds of a region compute, those of dots included.
std::int64_t computed_columns(const Machine& machine, const ContractionShape& shape,
                              const rkernel::Region& region) {
  const std::int64_t panels = ceil_div(region.n, machine.panel), last = region.n % machine.panel;
  if (last == 0 || has_dots(shape, region.strategy)) return region.n;
  const std::int64_t blocks =
      std::max<std::int64_t>(1, ceil_div(region.n, region.strategy.block_n));
  const std::int64_t panels_of_tile = region.strategy.tile_columns / machine.panel,
                     panels_of_block = panels / blocks;
  // The last panel of a block that wide tiles do not fill runs by itself.
  const bool alone =
      region.strategy.direct_b || panels_of_tile == 1 || panels_of_block % panels_of_tile != 0;
  const bool one_vector =
      alone && last <= machine.vector_width && machine.most_rows(machine.vector_width) > 0;
  return region.n - last + (one_vector ? machine.vector_width : machine.panel);
}

// Steps of K that dots compute: of each block of each slice its whole vectors, and one more for
// what is left, even where nothing is.
std::int64_t computed_terms(const Machine& machine, const ContractionShape& shape,
                            const rkernel::Strategy& strategy) {
  const std::int64_t k = shape.k;
  const std::int64_t blocks =
      shape.rest_as_rows
          ? 1
          : std::max<std::int64_t>(1, ceil_div(ceil_div(k, strategy.split_k), strategy.block_k));
  const auto vectors = [&](std::int64_t slice) { return slice / machine.vector_width + blocks; };
  const std::int64_t larger = k % strategy.split_k, slice = k / strategy.split_k;
  return (larger * vectors(slice + 1) + (strategy.split_k - larger) * vectors(slice)) *
         machine.vector_width;
}

}  // namespace

rkernel::UnusedLanes unused_lanes(const Machine& machine, const ContractionShape& shape,
                                  const rkernel::Program& program) {
  rkernel::UnusedLanes lanes;
  if (shape.m <= 0 || shape.n <= 0 || shape.k <= 0 || program.regions.empty()) return lanes;
  const rkernel::Strategy& first = program.regions.front().strategy;
  if (first.lanes == rkernel::LaneAxis::K) {
    lanes.k = unused(shape.k, computed_terms(machine, shape, first));
    return lanes;
  }
  std::int64_t computed = 0, beyond_k = 0;
  for (const rkernel::Region& region : program.regions) {
    computed += region.m * computed_columns(machine, shape, region);
    const std::int64_t rest =
        has_dots(shape, region.strategy) ? region.n % machine.vector_width : 0;
    beyond_k += region.m * rest * (computed_terms(machine, shape, region.strategy) - shape.k);
  }
  (first.lanes == rkernel::LaneAxis::M ? lanes.m : lanes.n) = unused(shape.m * shape.n, computed);
  lanes.k = unused(computed * shape.k, computed * shape.k + beyond_k);
  return lanes;
}

}  // namespace dyn::choice
