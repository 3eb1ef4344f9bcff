#include "src/choice/gpu/tile_search.hpp"

#include <algorithm>
#include <limits>

#include "src/choice/calibration/calibration.hpp"

namespace dyn::choice {
namespace {

constexpr double rounding = 1 - 1e-9;  ///< bounds and costs add in different orders

GpuContraction with_sizes(GpuContraction form, const GpuContraction& sizes) {
  form.batch = sizes.batch;
  form.m = sizes.m;
  form.n = sizes.n;
  form.k = sizes.k;
  form.a_overlap = sizes.a_overlap;
  return form;
}

double multiply_adds(const GpuContraction& sizes) {
  return static_cast<double>(sizes.batch) * static_cast<double>(sizes.m) *
         static_cast<double>(sizes.n) * static_cast<double>(sizes.k);
}

}  // namespace

GpuTileSearch::GpuTileSearch(const GpuMachine& machine, const std::vector<GpuTile>& candidates,
                             const std::vector<GpuTile>& late, const GpuShapeFor& form)
    : machine_(machine), candidates_(candidates), late_(late) {
  const int count = static_cast<int>(candidates_.size() + late_.size());
  for (int i = 0; i < count; ++i) {
    const GpuTile& tile = tile_at(i);
    if (program_occupancy(machine, {&tile, 1}).blocks == 0) continue;
    const GpuContraction met = form(tile);
    (static_cast<std::size_t>(i) < candidates_.size() ? known_ : known_late_)
        .push_back({i, met, GpuTileProfile(machine, met, tile)});
  }
}

double GpuTileSearch::cost(const Known& known, const GpuContraction& sizes) const {
  return gpu_contraction_cost(machine_, with_sizes(known.form, sizes), tile_at(known.tile));
}

GpuChoice GpuTileSearch::cheapest_candidate(const GpuContraction& sizes) const {
  const double equal = default_calibration().gpu_equal_within;
  std::vector<double> costs(known_.size(), std::numeric_limits<double>::infinity());
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < known_.size(); ++i) {
    if (known_[i].profile.least_seconds(sizes) * rounding > least * equal) continue;
    costs[i] = cost(known_[i], sizes);
    least = std::min(least, costs[i]);
  }
  for (std::size_t i = 0; i < known_.size(); ++i)
    if (costs[i] <= least * equal) return {known_[i].tile, costs[i]};
  return {-1, std::numeric_limits<double>::infinity()};
}

double GpuTileSearch::least_seconds(const GpuContraction& sizes) const {
  const GpuContraction& form = known_late_.front().form;
  const double batch = static_cast<double>(sizes.batch), m = static_cast<double>(sizes.m),
               n = static_cast<double>(sizes.n), k = static_cast<double>(sizes.k);
  const double bytes = batch * (m * k * form.a_element_bytes / sizes.a_overlap +
                                n * k * form.b_element_bytes + m * n * form.epilogue_bytes);
  return machine_.launch_seconds + machine_.memory_latency_seconds +
         bytes / machine_.memory_bytes_per_second;
}

GpuChoice GpuTileSearch::cheapest(const GpuContraction& sizes) const {
  GpuChoice best = cheapest_candidate(sizes);
  if (known_late_.empty()) return best.tile < 0 ? GpuChoice{} : best;
  double enough = best.seconds * default_calibration().gpu_worth_code;
  const double work = multiply_adds(sizes);
  if (work == 0 || least_seconds(sizes) * rounding >= enough)
    return best.tile < 0 ? GpuChoice{} : best;
  struct Bound {
    double seconds;
    const Known* known;
  };
  std::vector<Bound> bounds;
  bounds.reserve(known_late_.size());
  for (const Known& known : known_late_) {
    if (work * known.profile.seconds_per_multiply_add() * rounding >= enough) continue;
    const double seconds = known.profile.least_seconds(sizes) * rounding;
    if (seconds < enough) bounds.push_back({seconds, &known});
  }
  std::ranges::sort(bounds, [](const Bound& a, const Bound& b) {
    return a.seconds < b.seconds || (a.seconds == b.seconds && a.known < b.known);
  });
  for (const Bound& bound : bounds) {
    if (bound.seconds >= enough) break;
    const double seconds = cost(*bound.known, sizes);
    if (seconds >= enough) continue;
    enough = seconds;
    best = {bound.known->tile, seconds};
  }
  return best.tile < 0 ? GpuChoice{} : best;
}

std::vector<GpuChoice> GpuTileSearch::cheapest_late(const GpuContraction& sizes,
                                                    std::size_t most) const {
  std::vector<GpuChoice> all;
  for (const Known& known : known_late_) all.push_back({known.tile, cost(known, sizes)});
  std::ranges::stable_sort(all, {}, &GpuChoice::seconds);
  all.resize(std::min(all.size(), most));
  return all;
}

}  // namespace dyn::choice
