// Every program of the space computes the contraction.

#include <doctest/doctest.h>

#include "src/choice/calibration/json.hpp"
#include "src/rkernel/target/program_space.hpp"
#include "src/rkernel/target/same_program.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/cpu/contraction/fixture.hpp"
#include "tests/unit/cpu/contraction/policy_context.hpp"

using namespace dyn::cpu;
using dyn::cpu::testing::Case;
using dyn::rkernel::Candidate;
using dyn::rkernel::ModelInput;
using dyn::rkernel::Policy;

namespace {

std::vector<Case> spaces_cases() {
  Case tall{.m = 53, .n = 200, .k = 300, .bias = true, .relu = true};
  Case thin{.m = 130, .n = 5, .k = 700};
  Case fresh{.batch = 3, .m = 37, .n = 90, .k = 96};
  fresh.packed = false;
  Case turned{.m = 61, .n = 47, .k = 1100, .transpose_a = true, .residual = true};
  turned.packed = false;
  turned.transpose_b = true;
  Case row{.m = 1, .n = 333, .k = 129};
  return {tall, thin, fresh, turned, row};
}

}  // namespace

TEST_CASE("programs of the tuner's space compute what plain loops do") {
  const dyn::codegen::Isa& isa = dyn::codegen::select_isa("");
  const auto store = dyn::codegen::CodeStore::open(isa, {});
  std::mt19937_64 random(dyn::testing::test_seed(20271127));
  const int programs = dyn::testing::test_rounds(60, 2);
  std::size_t distinct = 0;
  for (const Case& c : spaces_cases()) {
    CAPTURE(testing::words(c));
    for (const int threads : {1, 2})
      CHECK(testing::run_space(c, isa, *store, random, threads, programs, &distinct) <= 1);
  }
  CHECK(distinct > static_cast<std::size_t>(programs) * 4);
}

TEST_CASE("a context takes a tuned program at exactly its problem") {
  const dyn::codegen::Isa& isa = dyn::codegen::select_isa("");
  const auto store = dyn::codegen::CodeStore::open(isa, {});
  const auto plain = testing::policy_context(isa, *store, {.policy = Policy::Dyn});
  const Case c{.m = 45, .n = 160, .k = 320};
  const testing::Built built = testing::build(c);
  const auto kernel = testing::compiled(ContractionKernel::draft(built.problem, plain, 2), *store);
  const dyn::rkernel::PlanRequest request{built.symbols, 2};

  // A seed that is not what dyn takes.
  const auto space = kernel->program_space(request);
  const dyn::rkernel::Launch own = kernel->plan(request);
  std::optional<Candidate> other;
  for (const auto& point : space->seeds()) {
    Candidate program = space->program(point);
    if (!dyn::rkernel::same_program(program.launch, own)) other = std::move(program);
  }
  REQUIRE(other);
  auto tuning = std::make_shared<dyn::rkernel::Tuning>();
  tuning->file = "tuned.json";
  tuning->programs = {{other->model_input(), 2, 1.25e-6}};
  const dyn::choice::TunedChoices choices(plain->machine(), *tuning);
  const auto shape =
      nlohmann::json::parse(other->model_input().sizes).get<dyn::choice::ContractionShape>();
  const dyn::choice::Choice* tuned = choices.find(dyn::choice::ChoiceKey(shape, 2));
  REQUIRE(tuned != nullptr);
  CHECK(tuned->tuned);
  CHECK(tuned->seconds == 1.25e-6);
  CHECK(dyn::rkernel::same_program(kernel->launch_with(request, *tuned), other->launch));
  // Other threads and other sizes are other problems.
  CHECK(choices.find(dyn::choice::ChoiceKey(shape, 1)) == nullptr);
  auto longer = shape;
  longer.k += 1;
  CHECK(choices.find(dyn::choice::ChoiceKey(longer, 2)) == nullptr);

  const auto context =
      testing::policy_context(isa, *store, {.policy = Policy::Dyn, .tuning = tuning});
  const auto tuned_kernel =
      testing::compiled(ContractionKernel::draft(built.problem, context, 2), *store);
  for (int time = 0; time < 2; ++time) {  // chosen, then remembered
    const dyn::rkernel::Launch launch = tuned_kernel->plan(request);
    CHECK(launch.predicted_seconds == 1.25e-6);
    CHECK(launch.tickets == other->launch.tickets);
    CHECK(launch.threads == other->launch.threads);
  }
  CHECK(tuned_kernel->plan({built.symbols, 1}).predicted_seconds != 1.25e-6);
  CHECK(tuned_kernel->explain(request).find("by the tuning file") != std::string::npos);
  const dyn::rkernel::Choices all = tuned_kernel->choices(request, Policy::Dyn);
  CHECK(all.candidates.at(all.chosen).program == other->program);
}
