// K cut in slices that run at the same time: their sums are added in the order of the slices,
// whichever was ready first.

#include <doctest/doctest.h>

#include <cmath>

#include "targets/cpu/tile/dot_loop.hpp"
#include "tests/support/random_floats.hpp"
#include "tests/unit/cpu/contraction/fixture.hpp"

using namespace dyn::cpu;
using namespace dyn::codegen;
using dyn::choice::Choice;
using dyn::cpu::testing::Case;
using dyn::rkernel::LaneAxis;

namespace {

/// Sums the slices, each in the order of K, and adds the sums in the order of the slices.
float sliced_sum(const Case& c, std::span<const float> a, std::span<const float> b,
                 std::int64_t row, std::int64_t column, std::int64_t slices) {
  float total = 0;
  std::int64_t k = 0;
  for (std::int64_t slice = 0; slice < slices; ++slice) {
    const std::int64_t end = k + c.k / slices + (slice < c.k % slices ? 1 : 0);
    float sum = 0;
    for (; k < end; ++k)
      sum = std::fma(a[static_cast<std::size_t>(row * c.k + k)],
                     b[static_cast<std::size_t>(k * c.n + column)], sum);
    total += sum;
  }
  return total;
}

}  // namespace

TEST_CASE("split contractions of all choices equal plain loops, epilogues included") {
  for (const Isa& isa : all_isas()) {
    if (!cpu_has(isa)) continue;
    CAPTURE(isa.name);
    const auto store = CodeStore::open(isa, {});
    std::mt19937_64 random(20261121);
    for (const Case& c : {Case{.m = 1, .n = 16, .k = 4099, .bias = true, .relu = true},
                          Case{.m = 14, .n = 33, .k = 700, .residual = true},
                          Case{.m = 5, .n = 3, .k = 1300, .transpose_a = true, .bias = true},
                          Case{.batch = 2, .m = 9, .n = 40, .k = 900, .packed = false},
                          Case{.m = 20,
                               .n = 7,
                               .k = 2048,
                               .transpose_b = true,
                               .packed = false,
                               .residual = true}}) {
      const auto split = [](const Choice& choice) {
        return choice.program.regions.front().strategy.split_k > 1;
      };
      int ran = 0;
      CHECK(testing::run_choices(c, isa, *store, random, 8, [&](const Choice& choice) {
              return split(choice) && ++ran > 0;
            }) <= 1);
      CHECK(ran > 0);
    }
  }
}

TEST_CASE("the sums of slices are added in the order of the slices, bit for bit") {
  for (const Isa& isa : all_isas()) {
    if (!cpu_has(isa) || !isa.fma) continue;
    const auto store = CodeStore::open(isa, {});
    std::mt19937_64 random(7);
    const Case c{.m = 3, .n = 20, .k = 2051, .packed = false};
    const std::vector<float> a = dyn::testing::random_floats(random, c.m * c.k),
                             b = dyn::testing::random_floats(random, c.k * c.n);
    testing::Built built = testing::build(c);
    const dyn::rkernel::PlanRequest request{built.symbols, 8};
    const auto kernel = testing::compiled(
        ContractionKernel::draft(built.problem, testing::context_for(isa, *store), 2), *store);
    int ran = 0;
    kernel->for_each_choice(request, [&](const Choice& choice) {
      const dyn::rkernel::Strategy& strategy = choice.program.regions.front().strategy;
      if (strategy.split_k == 1 || strategy.lanes != LaneAxis::N || strategy.dot_rest || ran > 20)
        return;
      ++ran;
      std::vector<float> output(static_cast<std::size_t>(c.m * c.n));
      testing::run_stages(kernel->launch_with(request, choice),
                          {a.data(), b.data(), output.data()});
      for (std::int64_t row = 0; row < c.m; ++row) {
        for (std::int64_t column = 0; column < c.n; ++column) {
          REQUIRE(output[static_cast<std::size_t>(row * c.n + column)] ==
                  sliced_sum(c, a, b, row, column, strategy.split_k));
        }
      }
    });
    CHECK(ran > 1);
  }
}

TEST_CASE("with determinism the slices depend on the sizes alone") {
  const Isa& isa = select_isa("");
  const auto store = CodeStore::open(isa, {});
  const auto measured = testing::context_for(isa, *store);
  testing::Built built = testing::build({.m = 2, .n = 24, .k = 5000});
  const MainLoopTable loops{main_loop_tiles(isa),
                            std::vector<MainLoop>(main_loop_tiles(isa).size())};
  const MainLoopTable dot_loops{dot_tiles(isa), std::vector<MainLoop>(dot_tiles(isa).size())};
  for (const int machine_threads : {1, 2}) {
    dyn::choice::Machine machine = measured->machine();
    machine.threads = machine_threads;
    const auto context =
        std::make_shared<const ContractionContext>(isa, machine, ContractionLoops{loops, dot_loops},
                                                   ContractionSettings{.deterministic = true});
    const auto kernel = ContractionKernel::draft(built.problem, context, 2).without_code();
    for (const int threads : {1, 2, 5}) {
      kernel->for_each_choice({built.symbols, threads}, [&](const Choice& choice) {
        const dyn::rkernel::Strategy& strategy = choice.program.regions.front().strategy;
        CHECK(strategy.split_k == (strategy.lanes == LaneAxis::M ? 1 : 4));
      });
    }
  }
}
