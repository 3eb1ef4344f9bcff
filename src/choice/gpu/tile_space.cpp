#include "src/choice/gpu/tile_space.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "src/base/rounding.hpp"
#include "src/rkernel/target/device.hpp"

namespace dyn::choice {
namespace {

/// Places in a point. The first ones are a tile.
enum Place : std::size_t {
  OfEngine,
  WarpM,
  WarpN,
  BlockM,
  BlockN,
  BlockK,
  Stages,
  Overlapped,
  Shared,
  Sharers,
  Regions,
  Pair,
  Cut,
  Places
};

constexpr std::size_t tile_places = Overlapped + 1;
constexpr std::int64_t cut_shares = 16;  // cuts lie at these parts of an extent

enum OfRegions : std::int64_t { OneRegion, CutRows, CutColumns };

std::array<std::int64_t, tile_places> values_of(const GpuTile& tile) {
  return {static_cast<std::int64_t>(tile.engine),
          tile.warp_m,
          tile.warp_n,
          tile.block_m,
          tile.block_n,
          tile.block_k,
          tile.stages,
          tile.overlapped ? 1 : 0};
}

void add_sorted(std::vector<std::int64_t>& values, std::int64_t value) {
  const auto place = std::ranges::lower_bound(values, value);
  if (place == values.end() || *place != value) values.insert(place, value);
}

std::int64_t blocks_in(const GpuContraction& shape, const GpuTile& tile) {
  return shape.batch * ceil_div(shape.m, tile.block_m) * ceil_div(shape.n, tile.block_n);
}

std::string wrong_split(const GpuSplit& split, const GpuTile& tile, const GpuContraction& shape) {
  if (split.tiles == 0) return {};
  const std::int64_t steps = ceil_div(shape.k, tile.block_k);
  if (!tile.can_be_shared()) return "blocks cannot share tiles of so many outputs";
  if (split.tiles < 0 || split.tiles > blocks_in(shape, tile) ||
      split.tiles > rkernel::most_counters)
    return fmt::format("{} tiles cannot be shared", split.tiles);
  if (split.span < 1 || split.span >= steps)
    return fmt::format("{} of {} steps is no part of a tile", split.span, steps);
  if (split.tiles > most_shared_steps / steps) return "shared tiles have too many steps";
  return {};
}

bool is_cut(const GpuContraction& shape, const GpuRegion& a, const GpuRegion& b,
            const GpuTile& first) {
  const bool rows = a.n0 == 0 && b.n0 == 0 && a.n == shape.n && b.n == shape.n && a.m0 == 0 &&
                    b.m0 == a.m && b.m == shape.m - a.m && a.m % first.block_m == 0;
  const bool columns = a.m0 == 0 && b.m0 == 0 && a.m == shape.m && b.m == shape.m && a.n0 == 0 &&
                       b.n0 == a.n && b.n == shape.n - a.n && a.n % first.block_n == 0 &&
                       first.block_n % column_unit == 0;
  return (rows || columns) && a.m > 0 && a.n > 0 && b.m > 0 && b.n > 0;
}

}  // namespace

std::string gpu_illegality(const GpuPrograms& programs, const GpuContraction& shape,
                           const std::vector<GpuRegion>& regions) {
  if (regions.empty() || regions.size() > 2)
    return fmt::format("it has {} regions, not one or two", regions.size());
  for (const GpuRegion& region : regions) {
    if (region.tile >= programs.tiles.size()) return "there is no such tile";
  }
  const GpuRegion& first = regions.front();
  const GpuTile& tile = programs.tiles[first.tile];
  if (regions.size() == 1) {
    if (first.m0 != 0 || first.n0 != 0 || first.m != shape.m || first.n != shape.n)
      return "its region does not cover the output";
    if (first.split.tiles != 0 && !programs.split) return "no code lets blocks share tiles";
    return wrong_split(first.split, tile, shape);
  }
  const GpuPair pair{first.tile, regions[1].tile};
  if (std::ranges::find(programs.pairs, pair) == programs.pairs.end())
    return "no code has these two tiles";
  if (!is_cut(shape, first, regions[1], tile))
    return "its two regions do not cover the output in whole blocks";
  if (first.split.tiles != 0 || regions[1].split.tiles != 0)
    return "tiles of two regions cannot be shared";
  return {};
}

GpuTileSpace::GpuTileSpace(const GpuMachine& machine, const GpuPrograms& programs,
                           GpuShapeFor shape_for)
    : machine_(machine), programs_(programs), shape_for_(std::move(shape_for)), axes_(Places) {
  constexpr std::array names{"engine",        "warp rows", "warp columns", "block rows",
                             "block columns", "step of K", "stages",       "copies overlapped"};
  for (std::size_t place = 0; place < tile_places; ++place) axes_[place].name = names[place];
  axes_[OfEngine].ordered = false;
  for (const GpuTile& tile : programs_.tiles) {
    const auto values = values_of(tile);
    for (std::size_t place = 0; place < tile_places; ++place)
      add_sorted(axes_[place].values, values[place]);
  }
  const bool split = programs_.split, pairs = !programs_.pairs.empty();
  using Values = std::vector<std::int64_t>;
  axes_[Shared] = {"waves of shared tiles", split ? Values{0, 1, 2} : Values{0}};
  // Below 0: so many parts of each tile; above: so many blocks on each multiprocessor.
  axes_[Sharers] = {"blocks that share them",
                    split ? Values{1, 2, 3, 4, 6, 8, -2, -3, -4, -6, -8, -16} : Values{1}};
  axes_[Regions] = {"regions", pairs ? Values{OneRegion, CutRows, CutColumns} : Values{OneRegion},
                    false};
  axes_[Pair].name = "pair of tiles";
  for (std::size_t i = 0; i < std::max<std::size_t>(1, programs_.pairs.size()); ++i)
    axes_[Pair].values.push_back(static_cast<std::int64_t>(i));
  axes_[Pair].ordered = false;
  axes_[Cut].name = "cut, in 16ths";
  for (std::int64_t share = pairs ? cut_shares - 1 : 1; share > 0; --share)
    axes_[Cut].values.push_back(share);
}

const GpuTile* GpuTileSpace::tile_at(const Point& point) const {
  const auto found = std::ranges::find_if(programs_.tiles, [&](const GpuTile& tile) {
    const auto values = values_of(tile);
    return std::equal(values.begin(), values.end(), point.begin());
  });
  return found == programs_.tiles.end() ? nullptr : &*found;
}

// The tiles of the last waves, shared by blocks of equal work.
GpuSplit GpuTileSpace::split_at(const Point& point, const GpuTile& tile,
                                const GpuContraction& shape) const {
  if (point[Shared] == 0) return {};
  const std::int64_t resident = program_occupancy(machine_, {&tile, 1}).blocks;
  const std::int64_t wave = machine_.multiprocessors * std::max<std::int64_t>(resident, 1);
  const std::int64_t tiles = blocks_in(shape, tile), last = tiles % wave;
  const std::int64_t shared = std::min(tiles, last + (point[Shared] - 1) * wave);
  const std::int64_t steps = ceil_div(shape.k, tile.block_k), sharers = point[Sharers];
  if (sharers < 0) return {shared, ceil_div(steps, -sharers)};
  return {shared, ceil_div(shared * steps, sharers * machine_.multiprocessors)};
}

std::vector<GpuRegion> GpuTileSpace::regions_at(const Point& point) const {
  if (point[Regions] == OneRegion) {
    const GpuTile* const tile = tile_at(point);
    if (tile == nullptr) return {};
    const GpuContraction shape = shape_for_(*tile);
    return {{static_cast<std::size_t>(tile - programs_.tiles.data()), 0, shape.m, 0, shape.n,
             split_at(point, *tile, shape)}};
  }
  const GpuPair& pair = programs_.pairs[static_cast<std::size_t>(point[Pair])];
  const GpuTile& first = programs_.tiles[pair.first];
  const GpuContraction shape = shape_for_(first);
  const auto cut_of = [&](std::int64_t extent, int block) {
    return ceil_div(extent * point[Cut] / cut_shares, block) * block;
  };
  if (point[Regions] == CutRows) {
    const std::int64_t cut = cut_of(shape.m, first.block_m);
    return {{pair.first, 0, cut, 0, shape.n, {}},
            {pair.second, cut, shape.m - cut, 0, shape.n, {}}};
  }
  const std::int64_t cut = cut_of(shape.n, first.block_n);
  return {{pair.first, 0, shape.m, 0, cut, {}}, {pair.second, 0, shape.m, cut, shape.n - cut, {}}};
}

bool GpuTileSpace::says_nothing(const Point& point) const {
  const auto differs = [&](std::size_t place) {
    return point[place] != axes_[place].values.front();
  };
  if (point[Regions] == OneRegion)
    return differs(Pair) || differs(Cut) || (point[Shared] == 0 && differs(Sharers));
  const auto seed = values_of(programs_.tiles.front());
  return differs(Shared) || differs(Sharers) ||
         !std::equal(seed.begin(), seed.end(), point.begin());
}

bool GpuTileSpace::allows(const Point& point) const {
  if (says_nothing(point)) return false;
  const std::vector<GpuRegion> regions = regions_at(point);
  if (regions.empty()) return false;
  if (point[Shared] > 0 && regions.front().split.tiles == 0) return false;
  return gpu_illegality(programs_, shape_for_(programs_.tiles[regions.front().tile]), regions)
      .empty();
}

GpuProgram GpuTileSpace::program_at(const Point& point) const {
  std::vector<GpuRegion> regions = regions_at(point);
  const double seconds = gpu_program_cost(machine_, shape_for_, programs_.tiles, regions);
  return {std::move(regions), seconds};
}

double GpuTileSpace::unmet(const Point& point) const {
  const GpuTile& tile = programs_.tiles[regions_at(point).front().tile];
  const GpuContraction shape = shape_for_(tile);
  const bool has_tensor_cores = axes_[OfEngine].values.size() > 1;
  double count = 0;
  count += has_tensor_cores && tile.engine != Engine::TensorCores ? 1 : 0;
  count += shape.a_vectors && shape.b_vectors ? 0 : 1;
  return count;
}

std::vector<GpuTileSpace::Point> GpuTileSpace::seeds() const {
  std::vector<std::pair<double, Point>> seeds;
  for (std::size_t i = 0; i < programs_.own; ++i) {
    Point point;
    for (const std::int64_t value : values_of(programs_.tiles[i])) point.push_back(value);
    for (std::size_t place = tile_places; place < Places; ++place)
      point.push_back(axes_[place].values.front());
    if (allows(point)) seeds.emplace_back(program_at(point).seconds, std::move(point));
  }
  std::ranges::stable_sort(seeds, {}, &std::pair<double, Point>::first);
  std::vector<Point> points;
  for (auto& [seconds, point] : seeds) points.push_back(std::move(point));
  return points;
}

}  // namespace dyn::choice
