// Global padding and loop partitioning, by hand and against all combinations.

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "src/choice/policies/shared/forwarded_kernels.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/choice/policies/fake_kernels.hpp"

using namespace dyn::choice;
using namespace dyn::rkernel;
using namespace dyn::rkernel::testing;

namespace {

std::unique_ptr<const PaperPolicy> made(Policy policy, const MicroKernels& kernels,
                                        Regions regions = Regions::Any,
                                        std::vector<ProductShape> sampled = {}) {
  return make_paper_policy(policy, kernels, {regions, 16, std::move(sampled)});
}

std::int64_t blocks(std::int64_t size, std::int64_t block) { return (size + block - 1) / block; }

// Equation 3 on machines whose kernels take as long in company: k of f_OCC is 1.
double cost(const FakeKernels& kernels, std::size_t kernel, const ProductShape& shape,
            double depth = 512) {
  const MicroKernel block = kernels[kernel];
  const auto steps = static_cast<double>(blocks(static_cast<std::int64_t>(depth), block.k));
  const double deep = steps * static_cast<double>(block.k),
               speed = 2 * static_cast<double>(block.m * block.n) * deep /
                       kernels.task_seconds(kernel, static_cast<std::int64_t>(deep));
  const std::int64_t all = shape.batch * blocks(shape.m, block.m) * blocks(shape.n, block.n);
  const double places = static_cast<double>(blocks(all, kernels.units()) * kernels.units());
  const auto share = [](std::int64_t size, std::int64_t of) {
    return static_cast<double>(size) / static_cast<double>(blocks(size, of) * of);
  };
  return speed * static_cast<double>(all) / places * share(shape.m, block.m) *
         share(shape.n, block.n) * share(shape.k, block.k);
}

double work(const ProductShape& shape) {
  return 2.0 * static_cast<double>(shape.batch * shape.m * shape.n * shape.k);
}

}  // namespace

TEST_CASE("global padding pays for the padded work and for copies of what is padded") {
  // One unit, 2048 operations a second for 32 x 32 x 8 blocks.
  const FakeKernels kernels(1, {{.block = {32, 32, 8}, .step = 8}}, 1000);
  const auto policy = made(Policy::DietCodePadding, kernels);
  const auto merit = [&](const ProductShape& shape) {
    return all_programs(*policy, shape)[0].merit;
  };
  CHECK(merit({1, 64, 96, 16}) == doctest::Approx(2048));  // nothing is padded
  // 60 x 96 x 16 become 64 x 96 x 16: A is copied, 60 * 16 floats to 64 * 16, and C is sliced.
  const double copied = 4.0 * (60 * 16 + 64 * 16 + 2 * 60 * 96) / 1000,
               computed = 2.0 * 64 * 96 * 16 / 2048;
  CHECK(merit({1, 60, 96, 16}) == doctest::Approx(2.0 * 60 * 96 * 16 / (computed + copied)));
  // K of 12 pads both operands, and C not; a batch copies all of them.
  const double both = 2 * 4.0 * (64 * 12 + 64 * 16 + 96 * 12 + 96 * 16) / 1000,
               deeper = 2 * 2.0 * 64 * 96 * 16 / 2048;
  CHECK(merit({2, 64, 96, 12}) == doctest::Approx(2 * 2.0 * 64 * 96 * 12 / (deeper + both)));
}

TEST_CASE("global padding takes a smaller block where copies cost more than they gain") {
  const std::vector<FakeKernel> blocks{{.block = {32, 32, 8}, .step = 8},
                                       {.block = {4, 32, 8}, .step = 1.5}};
  const ProductShape shape{1, 36, 64, 64};
  // 0.5625 of 2048, or all of 1365.
  const FakeKernels free(1, blocks), dear(1, blocks, 2000);
  CHECK(made(Policy::DietCode, free)->choose(shape).regions.front().kernel == 1);
  const ProductShape nearly{1, 31, 64, 64};  // 0.97 of 2048, but A and C are copied
  CHECK(made(Policy::DietCodePadding, free, Regions::Any, {nearly})
            ->choose(nearly)
            .regions.front()
            .kernel == 0);
  const auto merits = all_programs(*made(Policy::DietCodePadding, dear), {1, 32, 64, 64});
  CHECK(merits[0].merit == doctest::Approx(2048));
  const auto padded = all_programs(*made(Policy::DietCodePadding, dear), nearly);
  CHECK(padded[0].merit < 2048 * 31.0 / 32);
}

TEST_CASE(
    "loop partitioning has whole blocks in its first region, and the best kernels beside it") {
  const std::uint64_t seed = dyn::testing::test_seed();
  MESSAGE("DYN_SEED=" << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 20; ++round) {
    std::vector<FakeKernel> all;
    for (int i = 0; i < 6; ++i) {
      const auto size = [&](std::int64_t unit) {
        return unit * (1 + static_cast<std::int64_t>(random() % 4));
      };
      all.push_back(
          {.block = {size(4), size(16), size(8)}, .step = 1 + static_cast<double>(random() % 50)});
    }
    const FakeKernels kernels(1 + static_cast<int>(random() % 4), all);
    const auto policy = made(Policy::DietCodePartition, kernels);
    for (int i = 0; i < 20; ++i) {
      ProductShape shape = random_shape(random, 200);
      shape.k = std::max<std::int64_t>(shape.k, 1);
      CAPTURE(shape.m);
      CAPTURE(shape.n);
      CAPTURE(shape.k);
      const std::vector<KernelProgram> programs = all_programs(*policy, shape);
      REQUIRE(programs.size() == kernels.size());
      for (std::size_t kernel = 0; kernel < programs.size(); ++kernel) {
        const KernelProgram& program = programs[kernel];
        const MicroKernel block = kernels[kernel];
        const KernelRegion& first = program.regions.front();
        CHECK(first.kernel == kernel);
        const std::int64_t m = shape.m / block.m * block.m, n = shape.n / block.n * block.n;
        if (m == 0 || n == 0) {
          CHECK(program.regions.size() == 1);
          CHECK(program.merit == doctest::Approx(cost(kernels, kernel, shape)));
          continue;
        }
        CHECK(first.m == m);
        CHECK(first.n == n);
        CHECK(program.regions.size() ==
              static_cast<std::size_t>((m < shape.m ? 2 : 1) * (n < shape.n ? 2 : 1)));
        double seconds = 0;
        for (const KernelRegion& region : program.regions) {
          const ProductShape part{shape.batch, region.m, region.n, shape.k};
          double best = cost(kernels, region.kernel, part);
          seconds += work(part) / best;
          if (&region == &first) continue;
          for (std::size_t other = 0; other < kernels.size(); ++other)
            CHECK(cost(kernels, other, part) <= best * (1 + 1e-12));
        }
        CHECK(program.merit == doctest::Approx(work(shape) / seconds));
      }
    }
  }
}

TEST_CASE("loop partitioning cuts rows where a program may have two regions, nothing where one") {
  const FakeKernels kernels(1, {{.block = {32, 32, 8}, .step = 8}, {.block = {4, 16, 8}}});
  const ProductShape shape{1, 70, 100, 64};
  const auto two = all_programs(*made(Policy::DietCodePartition, kernels, Regions::Two), shape);
  CHECK(two[0].regions == std::vector<KernelRegion>{{0, 64, 0, 100, 0}, {64, 6, 0, 100, 1}});
  const auto one = all_programs(*made(Policy::DietCodePartition, kernels, Regions::Whole), shape);
  CHECK(one[0].regions == std::vector<KernelRegion>{{0, 70, 0, 100, 0}});
  CHECK(one[0].merit == doctest::Approx(cost(kernels, 0, shape)));
}

namespace {

// As on a GPU: code for two regions is made for some pairs of different kernels.
class Pairs final : public ForwardedKernels {
 public:
  Pairs(const FakeKernels& all, std::size_t a, std::size_t b) : all_(all), a_(a), b_(b) {}
  bool together(std::size_t a, std::size_t b) const override {
    return (a == a_ && b == b_) || (a == b_ && b == a_);
  }

 private:
  const MicroKernels& kernels() const override { return all_; }

  const FakeKernels& all_;
  std::size_t a_, b_;
};

}  // namespace

TEST_CASE("loop partitioning has kernels together that may be, else one region") {
  const FakeKernels all(
      1,
      {{.block = {32, 32, 8}, .step = 8}, {.block = {4, 16, 8}}, {.block = {2, 16, 8}, .step = 2}});
  const Pairs pairs(all, 0, 2);
  const ProductShape shape{1, 70, 100, 64};
  const auto programs = all_programs(*made(Policy::DietCodePartition, pairs, Regions::Two), shape);
  CHECK(programs[0].regions == std::vector<KernelRegion>{{0, 64, 0, 100, 0}, {64, 6, 0, 100, 2}});
  CHECK(programs[1].regions == std::vector<KernelRegion>{{0, 70, 0, 100, 1}});
}

TEST_CASE("dietcode's sampled shapes vote, at the reduction in their middle") {
  // 200 columns fill 208 of them, and half of 384; of the fixed sizes 181 and 215 prefer 192.
  const FakeKernels columns(
      1, {{.block = {4, 208, 8}, .step = 208}, {.block = {4, 192, 8}, .step = 192}});
  const ProductShape between{1, 64, 200, 64};
  for (const Policy policy : dietcodes) {
    CHECK(made(policy, columns, Regions::Whole)->choose(between).regions.front().kernel == 1);
    CHECK(
        made(policy, columns, Regions::Whole, {between})->choose(between).regions.front().kernel ==
        0);
  }
  const std::uint64_t seed = dyn::testing::test_seed();
  MESSAGE("DYN_SEED=" << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 20; ++round) {
    std::vector<FakeKernel> all;
    for (int i = 0; i < 8; ++i)
      all.push_back(
          {.block = {std::int64_t{4} << (random() % 5), std::int64_t{16} << (random() % 4), 8},
           .fixed = static_cast<double>(random() % 2000),
           .step = 1 + static_cast<double>(random() % 50)});
    const FakeKernels kernels(2, all);
    std::vector<ProductShape> sampled;
    for (std::int64_t m = 1; m <= 100; m += 9) sampled.push_back({1, m, 200, 64 + m});
    const double depth = static_cast<double>(sampled[sampled.size() / 2].k);
    const auto policy = made(Policy::DietCode, kernels, Regions::Any, sampled);
    for (const ProductShape& shape : sampled) {
      const auto own = [&](std::size_t kernel) { return cost(kernels, kernel, shape, depth); };
      const std::size_t chosen = policy->choose(shape).regions.front().kernel;
      for (std::size_t kernel = 0; kernel < kernels.size(); ++kernel)
        CHECK(own(kernel) <= own(chosen) * (1 + 1e-12));
    }
  }
}
