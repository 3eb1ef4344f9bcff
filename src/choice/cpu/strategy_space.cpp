#include "src/choice/cpu/strategy_space.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "src/base/rounding.hpp"
#include "src/choice/cost/program_cost.hpp"
#include "src/choice/cost/rest_columns.hpp"
#include "src/choice/cpu/legality.hpp"
#include "src/rkernel/tree/regions.hpp"

namespace dyn::choice {
namespace {

using rkernel::LaneAxis;
using rkernel::Pattern;
using rkernel::Region;
using rkernel::Strategy;

/// Places in a point.
enum Place : std::size_t {
  Lanes,
  Threads,
  TileColumns,
  TileRows,
  PartsM,
  PartsN,
  PartsK,
  Slices,
  CopyA,
  DirectB,
  DotRest,
  Regions,
  CutM,
  CutN,
  RestPartsM,
  RestPartsN,
  Places
};

constexpr std::int64_t cut_shares = 16;   // cuts lie at these parts of an extent
constexpr std::int64_t least_depth = 64;  // of a slice, and of a block of K
constexpr std::int64_t most_parts_per_thread = 256;

std::size_t count_of(const rkernel::Program& program) { return program.regions.size(); }

/// 1 to 8, then four values in each octave.
std::vector<std::int64_t> part_counts(std::int64_t most) {
  std::vector<std::int64_t> counts;
  for (std::int64_t base = 1; base <= most; base *= 2) {
    for (const std::int64_t quarter : {4, 5, 6, 7}) {
      const std::int64_t count = base * quarter / 4;
      if (base * quarter % 4 == 0 && count <= most) counts.push_back(count);
    }
  }
  return counts;
}

void add_value(std::vector<std::int64_t>& values, std::int64_t value) {
  const auto place = std::ranges::lower_bound(values, value);
  if (place == values.end() || *place != value) values.insert(place, value);
}

bool cuts_m(Pattern pattern) { return pattern != Pattern::I && pattern != Pattern::III; }
bool cuts_n(Pattern pattern) {
  return pattern != Pattern::I && pattern != Pattern::II && pattern != Pattern::IX;
}

}  // namespace

/// A program of select()'s, in the words of the axes.
struct StrategySpace::Considered {
  ContractionShape shape;
  int threads;
  Strategy strategy;
  double seconds;
  std::int64_t parts_m, parts_n, parts_k;
};

std::vector<StrategySpace::Considered> StrategySpace::considered() const {
  std::vector<Considered> all;
  for (const ContractionShape& shape : shapes_) {
    for_each_choice(machine_, candidates_, shape, threads_, [&](const Choice& choice) {
      const Strategy& strategy = choice.program.regions.front().strategy;
      const auto parts = [](std::int64_t extent, std::int64_t block) {
        return std::max<std::int64_t>(1, ceil_div(extent, block));
      };
      all.push_back({shape, choice.threads, strategy, choice.seconds,
                     parts(shape.m, strategy.block_m), parts(shape.n, strategy.block_n),
                     parts(shape.slice_of_k(strategy.split_k), strategy.block_k)});
    });
  }
  std::ranges::stable_sort(all, {}, &Considered::seconds);
  return all;
}

StrategySpace::StrategySpace(const Machine& machine, const CandidateSet& candidates,
                             std::vector<ContractionShape> shapes, int threads)
    : machine_(machine), candidates_(candidates), shapes_(std::move(shapes)), threads_(threads) {
  const std::vector<Considered> choices = considered();
  add_axes(choices);
  std::set<Point> seen;
  for (const Considered& choice : choices) {
    Point point = point_of(choice);
    if (seen.insert(point).second) seeds_.push_back(std::move(point));
  }
  best_seconds_ =
      choices.empty() ? std::numeric_limits<double>::infinity() : choices.front().seconds;
}

void StrategySpace::add_axes(const std::vector<Considered>& choices) {
  axes_.resize(Places);
  const std::vector<std::int64_t> none{0}, either{0, 1};
  const auto name = [&](Place place, const char* words, std::vector<std::int64_t> values,
                        bool ordered = true) {
    axes_[place] = {words, std::move(values), ordered};
  };
  std::int64_t m = 1, panels = 1, depth = 1;
  std::vector<std::int64_t> lanes, columns, rows;
  bool may_direct = false, may_rest = false, may_slice = threads_ > 1, may_cut = false;
  for (const ContractionShape& shape : shapes_) {
    m = std::max(m, shape.m);
    panels = std::max(panels, ceil_div(shape.n, machine_.panel));
    depth = std::max(depth, shape.k);
    lanes.push_back(static_cast<std::int64_t>(shape.lanes));
    may_direct |= !shape.b_packed && !shape.must_pack_b && shape.lanes != LaneAxis::K;
    may_rest |= rest_columns(machine_, shape) > 0;
    may_cut |= shape.m > 1 || shape.n > machine_.panel;
    may_slice &= shape.fixed_slices == 0;
  }
  for (const TileSpeed& tile : machine_.tiles) {
    if (tile.columns % machine_.panel != 0) continue;
    add_value(columns, tile.columns);
    add_value(rows, tile.rows);
  }
  for (const int dot : machine_.dot_rows) {
    if (dot > 0) add_value(rows, dot);
  }
  const std::int64_t most_parts = most_parts_per_thread * threads_;
  name(Lanes, "lanes", lanes, false);
  name(Threads, "threads", part_counts(threads_));
  add_value(axes_[Threads].values, threads_);
  name(TileColumns, "tile columns", columns);
  name(TileRows, "tile rows", rows);
  name(PartsM, "blocks along M", part_counts(std::min(m, most_parts)));
  name(PartsN, "blocks along N", part_counts(std::min(panels, most_parts)));
  name(PartsK, "blocks along K", part_counts(std::max<std::int64_t>(1, depth / least_depth)));
  name(Slices, "slices of K",
       part_counts(may_slice ? std::clamp<std::int64_t>(depth / least_depth, 1, 4 * threads_) : 1));
  name(CopyA, "A copied", either);
  name(DirectB, "B as it lies", may_direct ? either : none);
  name(DotRest, "dots in the last columns", may_rest ? either : none);
  std::vector<std::int64_t> patterns, shares;
  for (const Pattern pattern : rkernel::all_patterns) {
    if (pattern == Pattern::I || may_cut) patterns.push_back(static_cast<std::int64_t>(pattern));
  }
  for (std::int64_t share = cut_shares - 1; share > 0; --share) shares.push_back(share);
  name(Regions, "pattern of regions", patterns, false);
  name(CutM, "cut along M, in 16ths", shares);
  name(CutN, "cut along N, in 16ths", shares);
  name(RestPartsM, "blocks along M of further regions", part_counts(std::min(m, 4L * threads_)));
  name(RestPartsN, "blocks along N of further regions",
       part_counts(std::min(panels, 4L * threads_)));
  for (const Considered& choice : choices) {
    add_value(axes_[PartsM].values, choice.parts_m);
    add_value(axes_[PartsN].values, choice.parts_n);
    add_value(axes_[PartsK].values, choice.parts_k);
    add_value(axes_[Slices].values, choice.strategy.split_k);
    add_value(axes_[TileRows].values, choice.strategy.tile_rows);
  }
}

StrategySpace::Point StrategySpace::point_of(const Considered& choice) const {
  Point point;
  for (const Axis& axis : axes_) point.push_back(axis.values.front());
  point[Lanes] = static_cast<std::int64_t>(choice.shape.lanes);
  point[Threads] = choice.threads;
  point[TileColumns] = choice.strategy.tile_columns;
  point[TileRows] = choice.strategy.tile_rows;
  point[PartsM] = choice.parts_m;
  point[PartsN] = choice.parts_n;
  point[PartsK] = choice.parts_k;
  point[Slices] = choice.strategy.split_k;
  point[CopyA] = choice.strategy.copy_a ? 1 : 0;
  point[DirectB] = choice.strategy.direct_b ? 1 : 0;
  point[DotRest] = choice.strategy.dot_rest ? 1 : 0;
  return point;
}

const ContractionShape& StrategySpace::shape_at(const Point& point) const {
  return *std::ranges::find(shapes_, static_cast<LaneAxis>(point[Lanes]), &ContractionShape::lanes);
}

Strategy StrategySpace::strategy_at(const ContractionShape& shape, const Point& point,
                                    std::int64_t m, std::int64_t n, bool is_first) const {
  const std::int64_t panels = std::max<std::int64_t>(1, ceil_div(n, machine_.panel));
  const std::int64_t slices = std::max<std::int64_t>(point[Slices], 1);
  Strategy strategy;
  strategy.tile_rows = static_cast<int>(point[TileRows]);
  strategy.tile_columns = static_cast<int>(point[TileColumns]);
  strategy.block_m = std::max<std::int64_t>(1, ceil_div(m, point[is_first ? PartsM : RestPartsM]));
  strategy.block_n = ceil_div(panels, point[is_first ? PartsN : RestPartsN]) * machine_.panel;
  strategy.split_k = point[Slices];
  strategy.block_k = std::max<std::int64_t>(1, ceil_div(shape.slice_of_k(slices), point[PartsK]));
  strategy.copy_a = point[CopyA] != 0;
  strategy.direct_b = point[DirectB] != 0;
  strategy.dot_rest = point[DotRest] != 0;
  strategy.lanes = shape.lanes;
  return strategy;
}

Choice StrategySpace::choice_at(const Point& point) const {
  const ContractionShape& shape = shape_at(point);
  const auto pattern = static_cast<Pattern>(point[Regions]);
  const auto cut_at = [&](std::int64_t extent, std::int64_t share, std::int64_t unit) {
    return std::min(extent, (extent * share / cut_shares + unit - 1) / unit * unit);
  };
  rkernel::Cuts cuts{cut_at(shape.m, point[CutM], point[TileRows]),
                     cut_at(shape.n, point[CutN], machine_.panel), 0};
  // Three strips: the second cut halves what is left.
  cuts.second_m = cuts.m + cut_at(shape.m - cuts.m, cut_shares / 2, point[TileRows]);
  Choice choice;
  choice.threads = static_cast<int>(point[Threads]);
  choice.program.regions = rkernel::cover(pattern, shape.m, shape.n, cuts);
  bool is_first = true;
  for (Region& region : choice.program.regions) {
    region.strategy = strategy_at(shape, point, region.m, region.n, is_first);
    is_first = false;
  }
  return choice;
}

bool StrategySpace::allows(const Point& point) const {
  const auto pattern = static_cast<Pattern>(point[Regions]);
  const auto says_nothing = [&](Place place) {
    return point[place] != axes_[place].values.front();
  };
  if (!cuts_m(pattern) && says_nothing(CutM)) return false;
  if (!cuts_n(pattern) && says_nothing(CutN)) return false;
  if (pattern == Pattern::I && (says_nothing(RestPartsM) || says_nothing(RestPartsN))) return false;
  const ContractionShape& shape = shape_at(point);
  if (point[PartsM] > std::max<std::int64_t>(shape.m, 1) ||
      point[PartsN] > std::max<std::int64_t>(1, ceil_div(shape.n, machine_.panel)))
    return false;
  const Choice choice = choice_at(point);
  // Fewer regions than the pattern has are those of another one.
  const std::size_t regions = count_of(choice.program);
  const std::size_t of_pattern = pattern == Pattern::I                               ? 1
                                 : pattern == Pattern::II || pattern == Pattern::III ? 2
                                 : pattern == Pattern::VIII                          ? 4
                                                                                     : 3;
  return regions == of_pattern && illegality(machine_, shape, choice, threads_).empty();
}

bool StrategySpace::promises(const Point& point) const {
  const Choice choice = choice_at(point);
  const double seconds = program_cost(machine_, shape_at(point), choice.program, choice.threads) +
                         (choice.threads > 1 ? machine_.seconds_per_wakeup : 0);
  return seconds <= hopeless * best_seconds_;
}

double StrategySpace::unmet(const Point& point) const {
  const ContractionShape& shape = shape_at(point);
  const auto columns = static_cast<int>(point[TileColumns]);
  const std::int64_t block_m = ceil_div(std::max<std::int64_t>(shape.m, 1), point[PartsM]);
  const int fastest = shape.lanes == LaneAxis::K
                          ? machine_.dot_rows.at(static_cast<std::size_t>(shape.n))
                          : machine_.fastest_rows(columns, shape.factors());
  const std::int64_t tickets = shape.batch * point[PartsM] * point[PartsN] * point[Slices];
  double count = 0;
  count += point[TileRows] != std::min<std::int64_t>(fastest, block_m) ? 1 : 0;
  count += block_m % point[TileRows] != 0 ? 1 : 0;
  count += tickets % point[Threads] != 0 ? 1 : 0;
  return count;
}

std::vector<StrategySpace::Point> StrategySpace::seeds(std::size_t most) const {
  return {seeds_.begin(),
          seeds_.begin() + static_cast<std::ptrdiff_t>(std::min(most, seeds_.size()))};
}

}  // namespace dyn::choice
