#include "src/tune/evolution.hpp"

#include <algorithm>

#include "src/tune/moves.hpp"

namespace dyn::tune {
namespace {

constexpr int tries_for_child = 64;
constexpr int tournament = 3;  // of so many random ones the best is a parent

double uniform(Random& random) { return std::uniform_real_distribution<double>(0, 1)(random); }

}  // namespace

EvolutionSearch::EvolutionSearch(const Space& space, std::uint64_t seed,
                                 const EvolutionSettings& settings)
    : space_(space), settings_(settings), untried_(space), random_(seed) {
  first_ = legal_seeds(space);
  std::ranges::reverse(first_);
}

const Point& EvolutionSearch::parent() {
  std::uniform_int_distribution<std::size_t> any(0, best_.size() - 1);
  std::size_t best = any(random_);
  for (int i = 1; i < tournament; ++i) best = std::min(best, any(random_));
  return best_[best].point;
}

Point EvolutionSearch::crossed(const Point& a, const Point& b) {
  Point child = a;
  for (std::size_t i = 0; i < child.size(); ++i) {
    if (uniform(random_) < 0.5) child[i] = b[i];
  }
  return child;
}

void EvolutionSearch::mutate(Point& point) {
  // One parameter at least, two on average.
  const std::size_t parameters = point.size();
  std::uniform_int_distribution<std::size_t> any(0, parameters - 1);
  move_parameter(space_.parameters, any(random_), 1, point, random_);
  for (std::size_t i = 0; i < parameters; ++i) {
    if (uniform(random_) < 1.0 / static_cast<double>(parameters))
      move_parameter(space_.parameters, i, 1, point, random_);
  }
}

std::optional<Point> EvolutionSearch::child() {
  for (int attempt = 0; attempt < tries_for_child; ++attempt) {
    Point point = uniform(random_) < settings_.crossed ? crossed(parent(), parent()) : parent();
    mutate(point);
    std::optional<Point> legal = project(space_, point, 1);
    if (legal && untried_.take(*legal)) return legal;
  }
  return std::nullopt;
}

std::vector<Point> EvolutionSearch::ask() {
  asked_.clear();
  while (asked_.size() < settings_.children) {
    std::optional<Point> next;
    if (!first_.empty()) {
      if (untried_.take(first_.back())) next = first_.back();
      first_.pop_back();
      if (!next) continue;
    } else if (best_.size() >= settings_.children && uniform(random_) >= settings_.fresh) {
      next = child();
    }
    if (!next) next = untried_.take_random(random_);
    if (!next) break;
    asked_.push_back(*std::move(next));
  }
  return asked_;
}

void EvolutionSearch::tell(std::span<const double> values) {
  for (std::size_t i = 0; i < values.size(); ++i) best_.push_back({asked_[i], values[i]});
  std::ranges::stable_sort(best_, {}, &Rated::value);
  best_.resize(std::min(best_.size(), settings_.population));
}

}  // namespace dyn::tune
