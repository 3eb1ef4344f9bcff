#include "src/cli/select/sampling.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "src/base/statistics.hpp"

namespace dyn::cli {
namespace {

constexpr double first_margin = 0.3, least_margin = 0.05;
constexpr double short_slice = 0.25;   // length of samples in the first two rounds, in slices
constexpr double long_in_slices = 10;  // an iteration of so many slices is long
constexpr double far_margin =
    1;  // for long iterations: a program slower by more than this share needs one sample only
constexpr std::size_t most_long = 24;  // most programs that go on
constexpr double very_long_in_slices = 100;
constexpr std::size_t most_very_long = 8;
constexpr int rounds_of_long = 4;

/// The programs that still take part.
class Field {
 public:
  Field(std::size_t programs, const std::vector<std::size_t>& always,
        const SamplingSettings& settings, const TakeSample& take)
      : take_(take),
        slice_seconds_(settings.slice_seconds),
        generator_(settings.seed),
        stays_(programs),
        running_(programs) {
    sampled.programs.resize(programs);
    for (const std::size_t program : always) stays_[program] = true;
    std::iota(running_.begin(), running_.end(), std::size_t{0});
  }

  void round(std::vector<double> ProgramSamples::* samples, double slice) {
    std::shuffle(running_.begin(), running_.end(), generator_);
    for (const std::size_t program : running_)
      (sampled.programs[program].*samples).push_back(take_(program, slice * slice_seconds_));
  }

  /// Programs within the margin of the best go on, at most so many of them.
  void keep(double margin, std::size_t most) {
    std::vector<std::pair<double, std::size_t>> order;
    for (const std::size_t program : running_)
      order.emplace_back(sampled.programs[program].choosing_seconds(), program);
    std::sort(order.begin(), order.end());
    sampled.best = order.front().second;
    running_.clear();
    for (std::size_t rank = 0; rank < order.size(); ++rank) {
      const auto [seconds, program] = order[rank];
      const bool near = rank < most && seconds <= (1 + margin) * order.front().first;
      if (near || stays_[program]) running_.push_back(program);
    }
  }

  /// True where an iteration of the best takes more slices than that.
  bool takes(double slices) const {
    return sampled.programs[sampled.best].choosing_seconds() > slices * slice_seconds_;
  }

  Sampled sampled;

 private:
  const TakeSample& take_;
  double slice_seconds_;
  std::mt19937_64 generator_;
  std::vector<bool> stays_;
  std::vector<std::size_t> running_;
};

}  // namespace

double ProgramSamples::choosing_seconds() const { return percentile(choosing, lower_quartile); }

double ProgramSamples::seconds() const {
  std::vector<double> all = choosing;
  all.insert(all.end(), scoring.begin(), scoring.end());
  return percentile(all, lower_quartile);
}

std::optional<double> ProgramSamples::scoring_seconds() const {
  return scoring.empty() ? std::nullopt : std::optional(percentile(scoring, lower_quartile));
}

Sampled sample_programs(std::size_t programs, const std::vector<std::size_t>& always,
                        const SamplingSettings& settings, const TakeSample& take,
                        const std::function<void()>& after_scoring) {
  Field field(programs, always, settings, take);
  const auto choosing = &ProgramSamples::choosing, scoring = &ProgramSamples::scoring;
  field.round(choosing, short_slice);
  field.keep(std::numeric_limits<double>::infinity(), programs);
  const bool is_long = field.takes(long_in_slices);
  const std::size_t most = field.takes(very_long_in_slices) ? most_very_long
                           : is_long                        ? most_long
                                                            : programs;
  if (is_long) field.keep(far_margin, 2 * most);
  field.round(choosing, short_slice);
  field.keep(first_margin, most);
  const int rounds =
      std::max(2, is_long ? std::min(settings.rounds, rounds_of_long) : settings.rounds);
  double margin = first_margin;
  for (int round = 0; round < rounds; round += 2) {
    field.round(choosing, 1);
    field.round(scoring, 1);
    if (after_scoring) after_scoring();
    margin = std::max(least_margin, margin / 2);
    field.keep(margin, programs);
  }
  return std::move(field.sampled);
}

}  // namespace dyn::cli
