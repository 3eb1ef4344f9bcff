#pragma once
// Spaces and functions like those of programs, with known best points.

#include <cmath>
#include <cstdint>
#include <random>

#include "src/tune/session.hpp"

namespace dyn::tune::testing {

/// Tiles, blocks, slices and flags: eight parameters. Rows times columns of a tile are limited
/// (not allowed beyond), and so are the bytes of a block (does not fit beyond).
inline Space program_space() {
  Space space;
  space.parameters = {{"rows", {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14}},
                      {"columns", {1, 2, 4}},
                      {"parts_m", {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64}},
                      {"parts_n", {1, 2, 3, 4, 6, 8, 12, 16, 24, 32}},
                      {"parts_k", {1, 2, 3, 4, 6, 8}},
                      {"copies", {0, 1}},
                      {"lanes", {0, 1, 2}, false},
                      {"threads", {1, 2, 4, 8}}};
  space.allowed = [](const Values& v) { return v[0] * v[1] <= 14 && (v[6] != 2 || v[1] == 1); };
  space.fits = [](const Values& v) { return 4096 / v[2] * (4096 / v[4]) <= 1 << 21; };
  space.unmet = [](const Values& v) { return v[0] % 2 == 0 ? 0.0 : 1.0; };
  space.seeds = {{14, 1, 4, 4, 1, 0, 0, 1}, {6, 2, 8, 4, 4, 0, 0, 2}, {7, 2, 16, 1, 2, 1, 1, 4}};
  return space;
}

/// Like times of programs: each choice costs a factor that grows away from the best one, which
/// depends on other choices.
class ProgramTime {
 public:
  explicit ProgramTime(std::uint64_t seed) : random_(seed) {
    for (double& place : best_) place = std::uniform_real_distribution<double>(0.15, 0.85)(random_);
    lanes_ = static_cast<std::int64_t>(random_() % 2);
    copies_ = static_cast<std::int64_t>(random_() % 2);
  }

  double operator()(const Values& v) const {
    const auto share = [](std::int64_t value, double most) {
      return std::log2(static_cast<double>(value)) / most;
    };
    const auto away = [](double factor, double x, double best) {
      return 1 + factor * (x - best) * (x - best);
    };
    const double tile = share(v[0] * v[1], std::log2(14)), m = share(v[2], 6), n = share(v[3], 5),
                 k = share(v[4], 3), threads = share(v[7], 3);
    return away(4, tile, 0.5 + best_[0] / 2) * away(3, m + 0.4 * n, best_[1] + 0.4 * best_[2]) *
           away(2, n, best_[2]) * away(2, k - 0.5 * m, best_[3] - 0.5 * best_[1]) *
           away(1.5, threads, best_[4]) * (v[6] == lanes_ ? 1 : 1.6) * (v[5] == copies_ ? 1 : 1.15);
  }

 private:
  std::mt19937_64 random_;
  double best_[5];
  std::int64_t lanes_, copies_;
};

/// The least value after so many evaluations.
inline double least_after(Method method, const Space& space, std::uint64_t seed,
                          const ProgramTime& time, std::size_t evaluations) {
  Session session(space, make_search(method, space, seed));
  const auto evaluate = [&](const std::vector<Values>& points) {
    std::vector<double> values;
    for (const Values& point : points) values.push_back(time(point));
    return values;
  };
  while (session.trials().size() < evaluations &&
         session.step(evaluations - session.trials().size(), evaluate)) {}
  return session.best()->value;
}

}  // namespace dyn::tune::testing
