#include "src/tune/bayes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/tune/moves.hpp"

namespace dyn::tune {
namespace {

constexpr double least_apart = 0.3;  // of two regions' centers, in lengths of a region's side
constexpr std::size_t most_seeds = 24;

double distance_of(const Space& space, const Point& a, const Point& b) {
  double squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double apart = distance(space.parameters[i], a[i], b[i]);
    squares += apart * apart;
  }
  return std::sqrt(squares);
}

}  // namespace

BayesSearch::BayesSearch(const Space& space, std::uint64_t seed, const BayesSettings& settings)
    : space_(space),
      settings_(settings),
      untried_(space),
      random_(seed),
      seeds_(legal_seeds(space)) {
  seeds_.resize(std::min(seeds_.size(), most_seeds));
}

std::vector<Point> BayesSearch::ask() {
  asked_.clear();
  if (!has_asked_seeds_) {
    has_asked_seeds_ = true;
    for (const Point& seed : seeds_) {
      if (untried_.take(seed)) asked_.push_back({seed, no_region});
    }
  }
  if (asked_.empty()) begin_regions();
  if (asked_.empty()) ask_by_draws();
  // Regions that have nothing left may not be all that there is.
  if (asked_.empty()) {
    if (std::optional<Point> point = untried_.take_random(random_))
      asked_.push_back({*std::move(point), no_region});
  }
  std::vector<Point> points;
  for (const Asked& asked : asked_) points.push_back(asked.point);
  return points;
}

std::optional<BayesSearch::Known> BayesSearch::next_start(std::size_t region) {
  const double apart = least_apart * settings_.region.first_length;
  while (!starts_.empty()) {
    Known start = std::move(starts_.back());
    starts_.pop_back();
    bool is_near = false;
    for (std::size_t i = 0; i < regions_.size(); ++i) {
      is_near = is_near ||
                (i != region && distance_of(space_, regions_[i]->center(), start.point) < apart);
    }
    if (!is_near) return start;
  }
  return std::nullopt;
}

bool BayesSearch::begin(std::size_t region) {
  std::unique_ptr<TrustRegion> made;
  if (const std::optional<Known> start = next_start(region)) {
    made = std::make_unique<TrustRegion>(space_, start->point, settings_.region);
    made->observe({start->point}, {start->logarithm});
  } else if (const std::optional<Point> center = untried_.take_random(random_)) {
    made = std::make_unique<TrustRegion>(space_, *center, settings_.region);
    asked_.push_back({*center, region});
  } else {
    return false;
  }
  for (const Point& point : made->candidates(settings_.first_points - 1, untried_, random_)) {
    if (untried_.take(point)) asked_.push_back({point, region});
  }
  if (region == regions_.size()) regions_.emplace_back();
  regions_[region] = std::move(made);
  return true;
}

void BayesSearch::begin_regions() {
  for (std::size_t region = 0; region < settings_.regions; ++region) {
    const bool runs = region < regions_.size() && !regions_[region]->is_over();
    if (!runs && !begin(region)) return;
  }
}

void BayesSearch::ask_by_draws() {
  struct Drawn {
    std::size_t region;
    std::vector<Point> candidates;
    std::vector<std::vector<double>> draws;  ///< one for each point of the batch
  };
  std::vector<Drawn> all;
  for (std::size_t region = 0; region < regions_.size(); ++region) {
    TrustRegion& of = *regions_[region];
    if (of.is_over()) continue;
    std::vector<Point> candidates = of.candidates(settings_.candidates, untried_, random_);
    if (candidates.empty()) {
      of.give_up();
      continue;
    }
    auto draws = of.draws(settings_.batch, candidates, settings_.preference, random_);
    all.push_back({region, std::move(candidates), std::move(draws)});
  }
  for (std::size_t number = 0; number < settings_.batch; ++number) {
    std::optional<Asked> best;
    double least = std::numeric_limits<double>::infinity();
    for (const auto& [region, candidates, draws] : all) {
      for (std::size_t i = 0; i < candidates.size(); ++i) {
        const double draw = draws[number][i];
        if (draw >= least || untried_.has_taken(candidates[i])) continue;
        least = draw;
        best = Asked{candidates[i], region};
      }
    }
    if (!best) return;
    untried_.take(best->point);
    asked_.push_back(*std::move(best));
  }
}

void BayesSearch::tell(std::span<const double> values) {
  std::vector<std::vector<Point>> points(regions_.size());
  std::vector<std::vector<double>> logarithms(regions_.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto& [point, region] = asked_[i];
    const double logarithm = std::log(values[i]);
    if (region == no_region) {
      starts_.push_back({point, logarithm});
    } else {
      points[region].push_back(point);
      logarithms[region].push_back(logarithm);
    }
  }
  for (std::size_t region = 0; region < regions_.size(); ++region)
    regions_[region]->observe(points[region], logarithms[region]);
  std::ranges::stable_sort(starts_, std::greater(), &Known::logarithm);
}

}  // namespace dyn::tune
