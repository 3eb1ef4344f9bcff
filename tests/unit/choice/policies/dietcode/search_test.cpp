// DietCode's evolutionary search over a shape-generic space.

#include "src/choice/policies/dietcode/search.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/support/round_machine.hpp"
#include "tests/support/seed.hpp"

using namespace dyn::choice;

namespace {

// Four tiles and little memory: few enough kernels to try all.
Machine small_machine() {
  Machine machine = dyn::testing::round_machine(3);
  machine.tiles = {{1, 32, 4e-9}, {2, 32, 5e-9}, {3, 32, 7e-9}, {1, 64, 6e-9}};
  machine.levels[1].bytes = 32768;
  return machine;
}

std::vector<BlockKernel> whole_space(const Machine& machine) {
  std::vector<BlockKernel> all;
  for (const TileSpeed& tile : machine.tiles) {
    for (std::int64_t m = tile.rows; m <= 300; m += tile.rows) {
      for (std::int64_t n = tile.columns; n <= 512; n += tile.columns) {
        for (std::int64_t k = 16; k <= 512; k += 16) {
          const BlockKernel kernel{tile.rows, tile.columns, m, n, k};
          if (in_dietcode_space(machine, kernel)) all.push_back(kernel);
        }
      }
    }
  }
  return all;
}

double speed_of(const Machine& machine, const BlockKernel& kernel) {
  return static_cast<double>(kernel.rows * kernel.columns * 512) /
         predicted_seconds(machine, kernel, 512, {}, 1);
}

}  // namespace

TEST_CASE("dietcode's cost is speed, occupancy and padding, by hand") {
  const Machine machine = dyn::testing::round_machine(4);
  // 3 x 2 blocks on 4 threads: 6 of 8 places; 80 of 96 rows, 40 of 64 columns, 100 of 128 deep.
  CHECK(dietcode_cost(machine, {8, 32, 32, 32, 64}, 1000, 1, {1, 80, 40, 100}) ==
        doctest::Approx(1000 * 0.75 * (80.0 / 96) * (40.0 / 64) * (100.0 / 128)));
  // Occupancy counts by half: 1/2 * 3/4 + 1/2.
  CHECK(dietcode_cost(machine, {8, 32, 32, 32, 64}, 1000, 0.5, {1, 80, 40, 100}) ==
        doctest::Approx(1000 * 0.875 * (80.0 / 96) * (40.0 / 64) * (100.0 / 128)));
}

TEST_CASE("dietcode's space has whole tiles and lines that L2 holds, whatever the shape") {
  const Machine machine = small_machine();  // 8192 floats
  CHECK(in_dietcode_space(machine, {2, 32, 4, 64, 16}));
  CHECK_FALSE(in_dietcode_space(machine, {2, 32, 3, 64, 16}));
  CHECK_FALSE(in_dietcode_space(machine, {1, 64, 3, 96, 16}));
  CHECK_FALSE(in_dietcode_space(machine, {2, 32, 4, 64, 24}));
  CHECK_FALSE(in_dietcode_space(machine, {4, 32, 4, 64, 16}));
  // (4 + 64) * 112 + 256 are 7872 floats; 128 deep they are 8960.
  CHECK(in_dietcode_space(machine, {2, 32, 4, 64, 112}));
  CHECK_FALSE(in_dietcode_space(machine, {2, 32, 4, 64, 128}));
}

TEST_CASE(
    "dietcode's search finds for each shape nearly the best of all kernels, always the same") {
  const std::uint64_t seed = dyn::testing::test_seed();
  MESSAGE("DYN_SEED=" << seed);
  std::mt19937_64 random(seed);
  const Machine machine = small_machine();
  const KernelSpeed speed = [&](const BlockKernel& kernel) { return speed_of(machine, kernel); };
  const std::vector<BlockKernel> all = whole_space(machine);
  for (int round = 0; round < 3; ++round) {
    std::vector<ProductShape> shapes;
    for (int i = 0; i < 8; ++i)
      shapes.push_back({1, 1 + static_cast<std::int64_t>(random() % 200),
                        1 + static_cast<std::int64_t>(random() % 300), 512});
    const DietCodeSearch search{.seed = random()};
    const EvolvedKernels found = evolved_kernels(machine, shapes, speed, search);
    CHECK(found.kernels == evolved_kernels(machine, shapes, speed, search).kernels);
    CHECK(found.kernels.size() == search.kept);
    CHECK(found.favourites <= shapes.size());
    for (const BlockKernel& kernel : found.kernels) CHECK(in_dietcode_space(machine, kernel));
    const std::vector<BlockKernel> kernels(
        found.kernels.begin(),
        found.kernels.begin() + static_cast<std::ptrdiff_t>(found.favourites));
    for (const ProductShape& shape : shapes) {
      const auto best = [&](const std::vector<BlockKernel>& among) {
        double most = 0;
        for (const BlockKernel& kernel : among)
          most = std::max(most, dietcode_cost(machine, kernel, speed(kernel), 1, shape));
        return most;
      };
      CHECK(best(kernels) >= 0.85 * best(all));
    }
  }
}

TEST_CASE("dietcode's search keeps what it begins with where that is the best") {
  const Machine machine = small_machine();
  const KernelSpeed speed = [&](const BlockKernel& kernel) { return speed_of(machine, kernel); };
  const std::vector<ProductShape> shapes{{1, 100, 200, 512}};
  const std::vector<BlockKernel> all = whole_space(machine);
  const auto cost = [&](const BlockKernel& kernel) {
    return dietcode_cost(machine, kernel, speed(kernel), 1, shapes[0]);
  };
  const BlockKernel best = *std::ranges::max_element(all, {}, cost);
  const EvolvedKernels found =
      evolved_kernels(machine, shapes, speed, {.population = 4, .generations = 1}, {{best}});
  CHECK(found.kernels.front() == best);
}

TEST_CASE("dietcode's random kernels are of its space") {
  const std::uint64_t seed = dyn::testing::test_seed();
  MESSAGE("DYN_SEED=" << seed);
  std::mt19937_64 random(seed);
  const Machine machine = small_machine();
  int drawn = 0;
  for (int i = 0; i < 400; ++i) {
    const std::optional<BlockKernel> kernel = random_dietcode_kernel(machine, random);
    if (!kernel) continue;
    ++drawn;
    CHECK(in_dietcode_space(machine, *kernel));
  }
  CHECK(drawn > 10);
}

TEST_CASE("dietcode's kernels on a CPU are few, of its space, and measured at one depth") {
  const Machine machine = dyn::testing::round_machine();
  const std::vector<BlockPlan> plans = dietcode_blocks(machine);
  CHECK(plans.size() > 4);
  CHECK(plans.size() <= 40);
  for (const BlockPlan& plan : plans) {
    CHECK(in_dietcode_space(machine, plan.block));
    CHECK(plan.depths == std::vector<std::int64_t>{512});
    CHECK(plan.together);
  }
}
