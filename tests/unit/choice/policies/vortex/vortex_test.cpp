// Vortex's choice with bounds against all kernels, and its ablations.

#include "src/choice/policies/vortex/vortex.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <map>
#include <set>

#include "tests/support/seed.hpp"
#include "tests/unit/choice/policies/fake_kernels.hpp"

using namespace dyn::choice;
using namespace dyn::rkernel;
using namespace dyn::rkernel::testing;

namespace {

// The first kernel of least cost among those that `admits` admits.
template <class Admits>
std::size_t best_kernel(const FakeKernels& kernels, const ProductShape& shape, Admits&& admits) {
  std::size_t best = kernels.size();
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t kernel = 0; kernel < kernels.size(); ++kernel) {
    if (!admits(kernel)) continue;
    const double seconds = vortex_seconds(kernels, kernel, shape);
    if (seconds < least) least = seconds, best = kernel;
  }
  return best;
}

template <class Value, class Admits>
std::size_t most_voted(const FakeKernels& kernels, Admits&& admits, Value&& value) {
  std::map<std::size_t, int> votes;
  for (std::int64_t m = 1; m <= 4096; m *= 2) {
    for (std::int64_t n = 1; n <= 4096; n *= 2) {
      for (std::int64_t k = 1; k <= 4096; k *= 2)
        ++votes[value(best_kernel(kernels, {1, m, n, k}, admits))];
    }
  }
  std::size_t most = votes.begin()->first;
  for (const auto& [one, count] : votes)
    if (count > votes[most]) most = one;
  return most;
}

}  // namespace

TEST_CASE("vortex's bounds change no choice") {
  const std::uint64_t seed = dyn::testing::test_seed();
  MESSAGE("DYN_SEED=" << seed);
  std::mt19937_64 random(seed);
  std::set<std::size_t> taken;
  for (int round = 0; round < 60; ++round) {
    const FakeKernels kernels = random_kernels(random, 16);
    const auto policy = make_vortex(kernels);
    for (int i = 0; i < 30; ++i) {
      const ProductShape shape = random_shape(random, i < 20 ? 500 : 10000);
      const std::size_t best = best_kernel(kernels, shape, [](std::size_t) { return true; });
      const KernelProgram chosen = policy->choose(shape);
      REQUIRE(chosen.regions.size() == 1);
      CHECK(chosen.regions.front().kernel == best);
      CHECK(chosen.seconds.value() == vortex_seconds(kernels, best, shape));
      taken.insert(best);
    }
  }
  CHECK(taken.size() > 10);
}

TEST_CASE("vortex's static variants fix layer 0, or both layers, to what is best most often") {
  const std::uint64_t seed = dyn::testing::test_seed();
  MESSAGE("DYN_SEED=" << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 4; ++round) {
    const FakeKernels kernels = random_kernels(random, 16);
    const auto all = [](std::size_t) { return true; };
    const std::size_t lowest =
        most_voted(kernels, all, [&](std::size_t kernel) { return kernels.lowest_layer(kernel); });
    const auto of_lowest = [&](std::size_t kernel) {
      return kernels.lowest_layer(kernel) == lowest;
    };
    const std::size_t one =
        most_voted(kernels, of_lowest, [](std::size_t kernel) { return kernel; });
    const auto first = make_vortex(kernels, VortexLayersFree::FixedLowest),
               both = make_vortex(kernels, VortexLayersFree::FixedAll);
    for (int i = 0; i < 30; ++i) {
      const ProductShape shape = random_shape(random, 3000);
      CHECK(first->choose(shape).regions.front().kernel == best_kernel(kernels, shape, of_lowest));
      CHECK(both->choose(shape).regions.front().kernel == one);
      CHECK(all_programs(*both, shape).size() == 1);
    }
  }
}
