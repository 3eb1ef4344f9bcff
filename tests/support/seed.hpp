#pragma once
// The seed of random test data, and the amount of data.

#include <cstdint>
#include <optional>
#include <random>

namespace dyn::testing {

/// The environment's DYN_SEED; without it `fixed`, or one that is fresh for this process. Each
/// value is printed once as "DYN_SEED=N", so that any failure can be repeated.
std::uint64_t test_seed(std::optional<std::uint64_t> fixed = std::nullopt);

/// True where sweeps are run in full: DYN_TEST_LANE is "all". Else they are thinned, never left
/// out.
bool full_sweeps();

/// The number of rounds of a random test: `rounds`, or one in `share` of them where sweeps are
/// thinned; an eighth of that in a build with sanitizers, which takes a hundred times as long and
/// looks for other errors. At least 1.
int test_rounds(int rounds, int share = 1);

/// Thins a sweep over cases: it takes one of every `share` consecutive cases, by a seed that is
/// printed as "DYN_SWEEP_SEED=N" (the environment's variable of that name sets it). Where sweeps
/// are run in full, it takes all of them, an eighth in a build with sanitizers (test_rounds).
class Sweep {
 public:
  explicit Sweep(int share);

  /// True where the next case is to be run.
  bool takes();

 private:
  int share_, place_ = 0, taken_ = 0;
  std::mt19937_64 random_;
};

}  // namespace dyn::testing
