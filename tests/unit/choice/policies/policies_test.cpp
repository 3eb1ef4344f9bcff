// Each paper's formula by hand, and properties of all of them.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/seed.hpp"
#include "tests/unit/choice/policies/fake_kernels.hpp"

using namespace dyn::choice;
using namespace dyn::rkernel;
using namespace dyn::rkernel::testing;

namespace {

std::unique_ptr<const PaperPolicy> made(Policy policy, const MicroKernels& kernels,
                                        Regions regions = Regions::Two) {
  return make_paper_policy(policy, kernels, {regions, 16});
}

KernelRegion whole(const ProductShape& shape, std::size_t kernel) {
  return {0, shape.m, 0, shape.n, kernel};
}

// For each output of a shape, the number of regions that contain it.
bool covers_once(const ProductShape& shape, const KernelProgram& program) {
  std::vector<int> times(static_cast<std::size_t>(shape.m * shape.n));
  for (const KernelRegion& region : program.regions) {
    if (region.m0 < 0 || region.n0 < 0 || region.m0 + region.m > shape.m ||
        region.n0 + region.n > shape.n)
      return false;
    for (std::int64_t m = region.m0; m < region.m0 + region.m; ++m) {
      for (std::int64_t n = region.n0; n < region.n0 + region.n; ++n)
        ++times[static_cast<std::size_t>(m * shape.n + n)];
    }
  }
  return std::ranges::all_of(times, [](int count) { return count == 1; });
}

}  // namespace

TEST_CASE("dyn, the vendor's library and the oracle are no papers") {
  const FakeKernels kernels(1, {{.block = {8, 16, 1}}});
  for (const Policy policy : {Policy::Dyn, Policy::Vendor, Policy::Oracle})
    CHECK(made(policy, kernels) == nullptr);
  for (const Policy policy : papers) CHECK(made(policy, kernels) != nullptr);
  for (const PolicyInfo& info : all_ablations()) CHECK(made(info.policy, kernels) != nullptr);
}

TEST_CASE("ablations have names, and are not among what the oracle compares") {
  CHECK(policy_named("vortex-static2") == Policy::VortexFixedAll);
  CHECK(policy_named("mikpoly") == Policy::MikPoly);
  CHECK_FALSE(policy_named("vortex-"));
  for (const PolicyInfo& info : all_ablations()) {
    CHECK(policy_named(info.name) == info.policy);
    CHECK(&info_of(info.policy) == &info);
    CHECK(policy_names().find(std::string(info.name)) != std::string::npos);
    CHECK(std::ranges::find(all_policies(), info.policy, &PolicyInfo::policy) ==
          all_policies().end());
  }
}

TEST_CASE("vortex takes the kernel of least cost") {
  const FakeKernels kernels(2, {{.block = {8, 16, 1}, .step = 4},
                                {.block = {16, 16, 1}, .step = 5},
                                {.block = {16, 16, 1}, .step = 5}});
  const ProductShape shape{1, 24, 16, 10};
  // 3 blocks of 40 seconds in two waves, 2 of 50 in one: the large ones, of which the earlier wins.
  const KernelProgram chosen = made(Policy::Vortex, kernels)->choose(shape);
  CHECK(chosen.regions == std::vector{whole(shape, 1)});
  CHECK(chosen.seconds == 50);
  CHECK(chosen.merit == -50);
  CHECK(all_programs(*made(Policy::Vortex, kernels), shape).size() == 3);
}

TEST_CASE("tscompiler counts whole waves of what the machine can hold") {
  // 4 units. Kernel 0: 6 blocks in waves of 4, two of 2 * 10 seconds. Kernel 1: 12 blocks in waves
  // of 8, two of 3 * 6.
  const FakeKernels kernels(4, {{.block = {32, 32, 8}, .step = 1, .crowd = 2},
                                {.block = {16, 32, 8}, .step = 0.6, .crowd = 3, .resident = 2}});
  const ProductShape shape{1, 96, 64, 80};
  const auto policy = made(Policy::TSCompiler, kernels);
  const std::vector<KernelProgram> programs = all_programs(*policy, shape);
  REQUIRE(programs.size() == 2);
  CHECK(programs[0].seconds.value() == doctest::Approx(40));
  CHECK(programs[1].seconds.value() == doctest::Approx(36));
  CHECK(policy->choose(shape).regions == std::vector{whole(shape, 1)});
  CHECK(policy->choose({3, 96, 64, 80}).seconds.value() ==
        doctest::Approx(90));  // 18 and 36 blocks: five waves of 20, and of 18
}

TEST_CASE("dietcode multiplies speed, occupancy and padding") {
  // Kernel 0 makes 2 * 32 * 32 * 512 operations in 512 seconds: 2048 a second; kernel 1 makes 1024.
  // Blocks take no longer in company: one unit has a quarter of the throughput of four, and k is 1.
  const FakeKernels kernels(
      4, {{.block = {32, 32, 1}, .step = 1}, {.block = {16, 16, 1}, .step = 0.5}});
  const auto policy = made(Policy::DietCode, kernels);
  const auto merits = [&](const ProductShape& shape) {
    std::vector<double> all;
    for (const KernelProgram& program : all_programs(*policy, shape)) {
      CHECK_FALSE(program.seconds);
      all.push_back(program.merit);
    }
    return all;
  };
  // One block of four, and four of four; nothing padded.
  CHECK(merits({1, 32, 32, 64})[0] == doctest::Approx(2048 / 4.0));
  CHECK(merits({1, 32, 32, 64})[1] == doctest::Approx(1024));
  // 3 of 4 units, 80 of 96 rows, 24 of 32 columns; 5 x 2 blocks of 12, 24 of 32 columns.
  CHECK(merits({1, 80, 24, 64})[0] == doctest::Approx(2048 * 0.75 * 80 / 96 * 24 / 32));
  CHECK(merits({1, 80, 24, 64})[1] == doctest::Approx(1024 * (10 / 12.0) * 24 / 32));
  CHECK(policy->choose({1, 4096, 4096, 256}).regions.front().kernel == 0);
  CHECK(policy->choose({1, 16, 16, 256}).regions.front().kernel == 1);
}

TEST_CASE("dietcode learns from one block on one unit what idle units cost") {
  // One block alone is as fast as a wave of 4 takes, or four times as fast: occupancy 1/4 costs
  // three quarters of the throughput, or nothing.
  const ProductShape shape{1, 32, 32, 64};
  const FakeKernels apart(4, {{.block = {32, 32, 1}, .crowd = 1}}),
      together(4, {{.block = {32, 32, 1}, .crowd = 4}}),
      between(4, {{.block = {32, 32, 1}, .crowd = 2}}), single(1, {{.block = {32, 32, 1}}});
  CHECK(all_programs(*made(Policy::DietCode, apart), shape)[0].merit ==
        doctest::Approx(2048 * 0.25));
  CHECK(all_programs(*made(Policy::DietCode, together), shape)[0].merit == doctest::Approx(2048));
  // Half the throughput: k = 2/3, and f_OCC = 1/6 + 1/3.
  CHECK(all_programs(*made(Policy::DietCode, between), shape)[0].merit ==
        doctest::Approx(2048 * 0.5));
  CHECK(all_programs(*made(Policy::DietCode, single), shape)[0].merit == doctest::Approx(2048));
}

TEST_CASE(
    "dietcode's tree dispatches the shapes that voted as their formula says, and most others "
    "nearly so") {
  const std::uint64_t seed = dyn::testing::test_seed();
  MESSAGE("DYN_SEED=" << seed);
  std::mt19937_64 random(seed);
  double logarithms = 0;
  int shapes = 0;
  for (int round = 0; round < 8; ++round) {
    const FakeKernels kernels = random_kernels(random, 16);
    const auto policy = made(Policy::DietCode, kernels);
    const auto best = [&](const ProductShape& shape) {
      const std::vector<KernelProgram> programs = all_programs(*policy, shape);
      return *std::ranges::max_element(programs, {}, &KernelProgram::merit);
    };
    for (const std::int64_t m : {1, 2, 64, 91, 1024, 5793, 8192}) {
      for (const std::int64_t n : {1, 3, 128, 181, 4096}) {
        for (const std::int64_t k : {16, 181, 2048}) {
          for (const std::int64_t batch : {1, 16})
            CHECK(policy->choose({batch, m, n, k}).regions == best({batch, m, n, k}).regions);
        }
      }
    }
    for (int i = 0; i < 100; ++i, ++shapes) {
      const ProductShape shape = random_shape(random, 8192);
      logarithms += std::log(policy->choose(shape).merit / best(shape).merit);
    }
  }
  const double mean = std::exp(logarithms / shapes);
  MESSAGE("merit of what the tree takes, of the best one's: " << mean);
  CHECK(mean > 0.8);
}

TEST_CASE(
    "every program of every policy has each output once, and the chosen one is the best of them") {
  const std::uint64_t seed = dyn::testing::test_seed();
  MESSAGE("DYN_SEED=" << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 20; ++round) {
    const FakeKernels kernels = random_kernels(random, 16);
    std::vector<Policy> all(std::begin(papers), std::end(papers));
    all.insert(all.end(), std::begin(dietcodes) + 1, std::end(dietcodes));
    for (const Policy policy : all) {
      for (const Regions regions : {Regions::Any, Regions::Two, Regions::Whole}) {
        const auto own = made(policy, kernels, regions);
        for (int i = 0; i < 15; ++i) {
          const ProductShape shape = random_shape(random, 300);
          CAPTURE(name_of(policy));
          CAPTURE(shape.m);
          CAPTURE(shape.n);
          const std::vector<KernelProgram> programs = all_programs(*own, shape);
          REQUIRE(!programs.empty());
          for (const KernelProgram& program : programs) {
            REQUIRE(covers_once(shape, program));
            for (const KernelRegion& region : program.regions) {
              CHECK(region.kernel < kernels.size());
              CHECK(region.n0 % 16 == 0);
            }
            if (regions == Regions::Whole) CHECK(program.regions.size() == 1);
            if (regions == Regions::Two) CHECK(program.regions.size() <= 2);
            if (program.seconds) CHECK(*program.seconds == -program.merit);
          }
          const KernelProgram chosen = own->choose(shape);
          CHECK(covers_once(shape, chosen));
          const auto best = std::ranges::max_element(programs, {}, &KernelProgram::merit);
          if (std::ranges::find(dietcodes, policy) != std::end(dietcodes))
            continue;  // trees decide
          CHECK(chosen.regions == best->regions);
          CHECK(chosen.merit == best->merit);
        }
      }
    }
  }
}

TEST_CASE("nothing to compute has no program; one output, and no reduction, have one") {
  std::mt19937_64 random(dyn::testing::test_seed());
  const FakeKernels kernels = random_kernels(random, 16), none(2, {});
  for (const Policy policy : papers) {
    CAPTURE(name_of(policy));
    const auto own = made(policy, kernels), empty = made(policy, none);
    for (const ProductShape& shape :
         {ProductShape{1, 0, 5, 5}, ProductShape{1, 5, 0, 5}, ProductShape{0, 5, 5, 5}}) {
      CHECK(own->choose(shape).regions.empty());
      CHECK(all_programs(*own, shape).empty());
    }
    for (const ProductShape& shape :
         {ProductShape{1, 1, 1, 1}, ProductShape{1, 1, 1, 0}, ProductShape{2, 5, 7, 0}}) {
      CHECK(covers_once(shape, own->choose(shape)));
      CHECK(std::isfinite(own->choose(shape).merit));
    }
    CHECK(empty->choose({1, 5, 5, 5}).regions.empty());
  }
}
