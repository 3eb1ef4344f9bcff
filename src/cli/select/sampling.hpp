#pragma once
// Finds the fastest of many programs by successive halving: some samples choose, others score.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace dyn::cli {

struct SamplingSettings {
  int rounds = 10;  ///< rounds after the first two; the second, fourth, ... of them score
  double slice_seconds = 1e-3;
  std::uint64_t seed = 0;  ///< seed of the order within each round
};

inline constexpr double lower_quartile = 25;  ///< percent

/// Seconds of one iteration in each round that a program took part in.
struct ProgramSamples {
  std::vector<double> choosing, scoring;
  /// The lower quartile over rounds: noise only adds time, but the least sample would favour the
  /// program that has most samples.
  double choosing_seconds() const;
  /// None for a program that was dropped before it could score.
  std::optional<double> scoring_seconds() const;
  double seconds() const;  ///< the lower quartile of all samples, what both are for
};

struct Sampled {
  std::vector<ProgramSamples> programs;
  std::size_t best = 0;  ///< by the choosing samples alone, among those that stayed to the end: its
                         ///< scoring samples are as fair as any other's
};

/// Seconds of one iteration of a program over a slice.
using TakeSample = std::function<double(std::size_t program, double slice_seconds)>;

/// All programs take two short choosing rounds. Those within 1.3 of the best go on to `rounds`
/// more, and after each pair of these the margin becomes half as wide; programs in `always` stay to
/// the end. Each round runs in another random order. Long iterations need less: where one takes ten
/// slices or more, only the best 48 within twice the best take the second round, and at most 24 go
/// on, for four rounds; where one takes a hundred slices, 16 and 8. `after_scoring` is called after
/// each scoring round. `programs` is positive.
Sampled sample_programs(std::size_t programs, const std::vector<std::size_t>& always,
                        const SamplingSettings& settings, const TakeSample& take,
                        const std::function<void()>& after_scoring = {});

}  // namespace dyn::cli
