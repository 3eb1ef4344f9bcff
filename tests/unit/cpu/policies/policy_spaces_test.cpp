// Each policy's own micro-kernels on a CPU: valid programs for every size, and the same choice with
// and without bounds.

#include <doctest/doctest.h>

#include <limits>
#include <map>
#include <random>

#include "src/choice/policies/shared/cpu_blocks.hpp"
#include "src/choice/policies/vortex/vortex.hpp"
#include "targets/cpu/policies/paper_policies.hpp"
#include "tests/support/round_machine.hpp"
#include "tests/support/seed.hpp"

using namespace dyn;
using choice::Choice;
using choice::ContractionShape;
using choice::Machine;
using rkernel::Policy;

namespace {

// Policy oracle's figures serve them all.
constexpr Policy papers[] = {
    Policy::Vortex,      Policy::MikPoly,         Policy::FTuner,
    Policy::TSCompiler,  Policy::DietCode,        Policy::MikPolyWave,
    Policy::MikPolyPipe, Policy::DietCodePadding, Policy::DietCodePartition};

// Timed blocks as the machine's figures predict them.
cpu::PolicySpeeds predicted_speeds(const Machine& machine) {
  cpu::PolicySpeeds speeds;
  for (const Policy policy : cpu::measured_policies(Policy::Oracle)) {
    for (const choice::BlockPlan& plan : choice::cpu_blocks(policy, machine)) {
      cpu::BlockSpeed speed{plan};
      for (const std::int64_t depth : plan.depths) {
        speed.alone.push_back(choice::predicted_seconds(machine, plan.block, depth, {}, 1));
        if (plan.together)
          speed.together.push_back(
              choice::predicted_seconds(machine, plan.block, depth, {}, machine.threads));
      }
      speeds[policy].push_back(std::move(speed));
    }
  }
  return speeds;
}

// Regions lie within the output, apart from each other, and are as large as it together.
bool is_cover(const ContractionShape& shape, const rkernel::Program& program) {
  std::int64_t outputs = 0;
  for (const rkernel::Region& one : program.regions) {
    if (one.m <= 0 || one.n <= 0 || one.m0 < 0 || one.n0 < 0 || one.m0 + one.m > shape.m ||
        one.n0 + one.n > shape.n)
      return false;
    outputs += one.m * one.n;
    for (const rkernel::Region& other : program.regions) {
      if (&one != &other && one.m0 < other.m0 + other.m && other.m0 < one.m0 + one.m &&
          one.n0 < other.n0 + other.n && other.n0 < one.n0 + one.n)
        return false;
    }
  }
  return outputs == shape.m * shape.n;
}

bool can_run(const Machine& machine, const ContractionShape& shape, const Choice& choice) {
  for (const rkernel::Region& region : choice.program.regions) {
    const rkernel::Strategy& strategy = region.strategy;
    if (machine.find_tile(strategy.tile_rows, strategy.tile_columns) == nullptr ||
        strategy.block_m < 1 || strategy.block_n < 1 || strategy.block_n % machine.panel != 0 ||
        strategy.block_k < 1 || strategy.split_k != 1 || region.n0 % machine.panel != 0 ||
        (shape.must_copy_a && !strategy.copy_a))
      return false;
  }
  return choice.threads >= 1 && choice.threads <= machine.threads;
}

}  // namespace

TEST_CASE("8192 sizes of a product have a valid program under every policy") {
  const Machine machine = testing::round_machine();
  const cpu::PaperPolicies policies(machine, {predicted_speeds(machine)});
  for (const Policy policy : papers) {
    CAPTURE(name_of(policy));
    int valid = 0;
    for (std::int64_t m = 1; m <= 8192; ++m) {
      const ContractionShape shape{.batch = 1, .m = m, .n = 1000, .k = 777};
      const auto chosen = policies.choose(policy, shape);
      valid += chosen && is_cover(shape, chosen->choice.program) &&
               can_run(machine, shape, chosen->choice);
    }
    CHECK(valid == 8192);
  }
}

TEST_CASE("programs of every policy are valid for operands of every form") {
  const std::uint64_t seed = testing::test_seed();
  MESSAGE("DYN_SEED=" << seed);
  std::mt19937_64 random(seed);
  for (const int threads : {1, 2, 7}) {
    const Machine machine = testing::random_machine(random, threads);
    const cpu::PaperPolicies policies(machine, {predicted_speeds(machine)});
    for (int i = 0; i < 40; ++i) {
      ContractionShape shape = testing::random_contraction(random, machine);
      if (shape.lanes == rkernel::LaneAxis::K) shape.lanes = rkernel::LaneAxis::N;
      if (shape.factors() != rkernel::Factors()) shape.b_dtype = DType::f32;
      for (const Policy policy : papers) {
        CAPTURE(name_of(policy));
        CAPTURE(shape.m);
        CAPTURE(shape.n);
        CAPTURE(shape.k);
        int programs = 0;
        policies.for_each(policy, shape, [&](const Choice& choice, bool) {
          ++programs;
          CHECK(is_cover(shape, choice.program));
          CHECK(can_run(machine, shape, choice));
        });
        CHECK((programs > 0) == (shape.batch > 0 && shape.m > 0 && shape.n > 0));
      }
    }
  }
}

TEST_CASE("vortex's bounds change no choice among its thousands of blocks") {
  const std::uint64_t seed = testing::test_seed();
  MESSAGE("DYN_SEED=" << seed);
  std::mt19937_64 random(seed);
  for (const int threads : {1, 2, 16}) {
    const Machine machine = testing::random_machine(random, threads);
    const choice::BlockOperands operands{{}, random() % 2 == 0, random() % 2 == 0};
    const cpu::CpuMicroKernels kernels(
        machine,
        best_vortex_blocks(all_vortex_blocks(machine, vortex_layers(machine), operands,
                                             choice::VortexAnalyser::Mixed)),
        operands);
    const auto policy = choice::make_vortex(kernels);
    for (int i = 0; i < 60; ++i) {
      const auto size = [&] { return std::int64_t{1} << (random() % 14); };
      const choice::ProductShape shape{1, size() + static_cast<std::int64_t>(random() % 50),
                                       size() + static_cast<std::int64_t>(random() % 50),
                                       size() - 1 + static_cast<std::int64_t>(random() % 50)};
      std::size_t best = 0;
      double least = std::numeric_limits<double>::infinity();
      for (std::size_t kernel = 0; kernel < kernels.size(); ++kernel) {
        const double seconds = vortex_seconds(kernels, kernel, shape);
        if (seconds < least) least = seconds, best = kernel;
      }
      CHECK(policy->choose(shape).regions.front().kernel == best);
    }
  }
}

TEST_CASE("a policy whose blocks were not timed at load times them when it is asked, if it may") {
  const Machine machine = testing::round_machine();
  const ContractionShape shape{.batch = 1, .m = 40, .n = 96, .k = 100};
  const cpu::PaperPolicies without(machine, {});
  CHECK_FALSE(without.choose(Policy::VortexEmpirical, shape));
  CHECK_FALSE(without.choose(Policy::DietCode, shape));
  CHECK(without.choose(Policy::Vortex, shape));
  std::vector<Policy> asked;
  cpu::PolicyFigures figures;
  figures.measure = [&](Policy policy) {
    asked.push_back(policy);
    std::vector<choice::BlockSpeed> speeds;
    for (const choice::BlockPlan& plan : choice::cpu_blocks(policy, machine)) {
      choice::BlockSpeed speed{plan};
      for (const std::int64_t depth : plan.depths)
        speed.alone.push_back(choice::predicted_seconds(machine, plan.block, depth, {}, 1));
      if (plan.together) speed.together = speed.alone;
      speeds.push_back(std::move(speed));
    }
    return speeds;
  };
  const cpu::PaperPolicies with(machine, std::move(figures));
  CHECK(with.choose(Policy::Vortex, shape));  // its layer 0 is among the machine's figures
  CHECK(asked.empty());
  const auto chosen = with.choose(Policy::VortexEmpirical, shape);
  REQUIRE(chosen);
  CHECK(is_cover(shape, chosen->choice.program));
  with.choose(Policy::VortexEmpirical, shape);
  CHECK(with.choose(Policy::DietCodePartition, shape));
  CHECK(asked == std::vector{Policy::VortexEmpirical, Policy::DietCode});
}

TEST_CASE(
    "dietcode's alternatives and votes take a tuner's blocks, and the shapes that it sampled") {
  const Machine machine = testing::round_machine();
  cpu::PolicyFigures figures;
  // The narrow block is the faster one, and pads much less of thin outputs.
  figures.tuned[Policy::DietCode] = {{{},
                                      {{{{8, 32, 8, 32, 64}, {512}, true}, {1e-6}, {1e-6}},
                                       {{{8, 32, 64, 128, 64}, {512}, true}, {40e-6}, {40e-6}}},
                                      {{1, 8, 32, 512}, {1, 4096, 4096, 512}}}};
  const cpu::PaperPolicies policies(machine, std::move(figures));
  for (const Policy policy :
       {Policy::DietCode, Policy::DietCodePadding, Policy::DietCodePartition}) {
    const ContractionShape shape{.batch = 1, .m = 8, .n = 32, .k = 512};
    CHECK(policies.is_tuned(policy, shape));
    CHECK_FALSE(policies.is_tuned(Policy::TSCompiler, shape));
    const auto chosen = policies.choose(policy, shape);
    REQUIRE(chosen);
    CHECK(chosen->choice.program.regions.front().strategy.block_m == 8);
  }
}

TEST_CASE("a tuner's blocks are taken for operands as they were timed with, and for no others") {
  const Machine machine = testing::round_machine();
  cpu::PolicyFigures figures;
  const auto timed_with = [](const choice::BlockOperands& operands, std::int64_t rows) {
    return choice::TunedKernels{
        operands, {{{{8, 32, rows, 32, 64}, {512}, true}, {1e-6}, {1e-6}}}, {{1, 48, 96, 512}}};
  };
  figures.tuned[Policy::TSCompiler] = {timed_with({}, 16),
                                       timed_with({{}, false, false, true}, 24)};
  const cpu::PaperPolicies policies(machine, std::move(figures));
  const auto rows_for = [&](const ContractionShape& shape) {
    const auto chosen = policies.choose(Policy::TSCompiler, shape);
    return chosen ? chosen->choice.program.regions.front().strategy.block_m : 0;
  };
  ContractionShape shape{.batch = 1, .m = 48, .n = 96, .k = 512};
  CHECK(rows_for(shape) == 16);
  // Moves are no part of the times.
  shape.must_copy_a = true;
  CHECK(rows_for(shape) == 16);
  shape.b_packed = false, shape.must_pack_b = true;
  CHECK(rows_for(shape) == 16);
  shape.must_pack_b = false;
  CHECK(policies.is_tuned(Policy::TSCompiler, shape));
  CHECK(rows_for(shape) == 24);
  shape.b_packed = true, shape.b_dtype = DType::bf16;
  CHECK_FALSE(policies.is_tuned(Policy::TSCompiler, shape));
  CHECK(rows_for(shape) == 0);
}
