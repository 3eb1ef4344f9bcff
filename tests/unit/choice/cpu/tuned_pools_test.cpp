// Micro-kernels of a tuning file: what is taken of them, and what is refused.

#include <doctest/doctest.h>

#include "dyn/error.hpp"
#include "src/choice/calibration/json.hpp"
#include "src/choice/cpu/tuned_pools.hpp"
#include "tests/support/round_machine.hpp"

using namespace dyn::choice;
using dyn::Error;
using dyn::rkernel::Policy;

namespace {

BlockSpeed example() {
  return {{{8, 32, 64, 96, 128}, {64, 512}, true}, {1e-6, 1.0 / 3}, {2e-6, 0.5}};
}

constexpr const char* f32_in_panels = R"({"factors": "f32", "b": "in panels"})";

dyn::rkernel::Tuning tuning_of(const nlohmann::json& kernels, int threads = 2,
                               const std::string& operands = f32_in_panels) {
  dyn::rkernel::Tuning tuning{"file.json", "cpu/none", "round", {}, false, {}};
  tuning.pools.push_back(
      {Policy::TSCompiler, threads, kernels.dump(), "[[1,2,3,4],[5,6,7,8]]", operands});
  return tuning;
}

}  // namespace

TEST_CASE("a tuning file's micro-kernels come back as they were measured") {
  const Machine machine = dyn::testing::round_machine();
  const auto found = tuned_kernels(machine, tuning_of(std::vector{example()}), Policy::TSCompiler);
  REQUIRE(found.size() == 1);
  REQUIRE(found[0].kernels.size() == 1);
  CHECK(found[0].operands == BlockOperands());
  CHECK(found[0].kernels[0].plan == example().plan);
  CHECK(found[0].kernels[0].alone == example().alone);
  CHECK(found[0].kernels[0].together == example().together);
  REQUIRE(found[0].sampled.size() == 2);
  CHECK(found[0].sampled[1].batch == 5);
  CHECK(found[0].sampled[1].m == 6);
  CHECK(found[0].sampled[1].n == 7);
  CHECK(found[0].sampled[1].k == 8);
}

TEST_CASE("micro-kernels come back for each kind of operands that they were timed with") {
  const Machine machine = dyn::testing::round_machine();
  dyn::rkernel::Tuning tuning = tuning_of(std::vector{example()});
  for (const char* operands :
       {R"({"factors": "bf16", "b": "in panels"})", R"({"factors": "f32", "b": "as it lies"})",
        R"({"factors": "u8xi8 of i4 in 32 by f16", "b": "in panels"})"}) {
    tuning.pools.push_back(tuning.pools.front());
    tuning.pools.back().operands = operands;
  }
  const std::vector<TunedKernels> found = tuned_kernels(machine, tuning, Policy::TSCompiler);
  REQUIRE(found.size() == 4);
  CHECK(found[1].operands == BlockOperands{dyn::DType::bf16});
  CHECK(found[2].operands == BlockOperands{{}, false, false, true});
  CHECK(found[3].operands.factors.coding.block == 32);
  for (const TunedKernels& each : found)
    CHECK(nlohmann::json(each.operands).get<BlockOperands>() == each.operands);
  CHECK_THROWS_WITH_AS(
      tuned_kernels(machine,
                    tuning_of(std::vector{example()}, 2, R"({"factors": "f32", "b": "askew"})"),
                    Policy::TSCompiler),
      doctest::Contains("B is 'askew'"), Error);
}

TEST_CASE("micro-kernels of another policy or number of threads are not there") {
  const Machine machine = dyn::testing::round_machine();
  const auto kernels = std::vector{example()};
  CHECK(tuned_kernels(machine, tuning_of(kernels), Policy::DietCode).empty());
  CHECK(tuned_kernels(machine, tuning_of(kernels, 3), Policy::TSCompiler).empty());
  CHECK(tuned_kernels(machine, {"file.json", "", "", {}, true, {}}, Policy::TSCompiler).empty());
}

TEST_CASE("micro-kernels that no code runs are refused, with their number and what is wrong") {
  const Machine machine = dyn::testing::round_machine();
  const auto refused = [&](const auto& change, const char* why) {
    std::vector<BlockSpeed> kernels{example(), example()};
    change(kernels[1]);
    CAPTURE(why);
    CHECK_THROWS_WITH_AS(
        tuned_kernels(machine, tuning_of(kernels), Policy::TSCompiler),
        doctest::Contains("'file.json', micro-kernels of policy 'tscompiler' on 2 threads: "),
        Error);
    CHECK_THROWS_WITH_AS(tuned_kernels(machine, tuning_of(kernels), Policy::TSCompiler),
                         doctest::Contains(why), Error);
  };
  refused([](BlockSpeed& one) { one.plan.block.tile_rows = 77; },
          "number 2: there is no tile of 77");
  refused([](BlockSpeed& one) { one.plan.block.rows = 65; }, "65 x 96 x 128 are no whole tiles");
  refused([](BlockSpeed& one) { one.plan.block.columns = 0; }, "are no whole tiles");
  refused([](BlockSpeed& one) { one.plan.block.depth = -1; }, "are no whole tiles");
  refused([](BlockSpeed& one) { one.plan.depths = {512, 64}; }, "its depths do not ascend");
  refused([](BlockSpeed& one) { one.plan.depths = {}; }, "its depths do not ascend");
  refused([](BlockSpeed& one) { one.alone.pop_back(); }, "it has no time for each depth");
  refused([](BlockSpeed& one) { one.together = {1e-6, 0}; }, "it has no time for each depth");
  CHECK_THROWS_WITH_AS(
      tuned_kernels(machine, tuning_of(nlohmann::json::array()), Policy::TSCompiler),
      doctest::Contains("it has none"), Error);
  CHECK_THROWS_WITH_AS(tuned_kernels(machine, tuning_of({{{"block", {1}}}}), Policy::TSCompiler),
                       doctest::Contains("tune anew"), Error);
}
