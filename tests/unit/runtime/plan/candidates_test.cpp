// Programs of several policies: their union, plans with one of them, and the oracle among them.

#include <doctest/doctest.h>

#include <atomic>
#include <random>
#include <thread>

#include "dyn/dyn.hpp"
#include "src/runtime/plan/candidates.hpp"
#include "src/runtime/plan/oracle.hpp"
#include "src/runtime/run/call_state.hpp"
#include "tests/unit/runtime/load/fake_target.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn;
using rkernel::Candidate;
using rkernel::Choices;
using rkernel::Launch;
using rkernel::Policy;
using runtime::CandidateUnion;

namespace {

Launch launch_of(std::vector<std::int64_t> ints, int threads = 1) {
  Launch launch;
  launch.tickets = 4;
  launch.ints = std::move(ints);
  launch.threads = threads;
  return launch;
}

constexpr const char* text = R"(dyn 1
dim S in 0..64
weight table: f32[5, 8] = random 3
weight w: f32[8, 6] = random 1
weight v: f32[6, 4] = random 2
graph two(ids: i64[S]) -> (y: f32[S, 4]) {
  y = softmax(matmul(softmax(matmul(gather(table, ids) axis=0, w)) axis=-1, v)) axis=-1
  return y
}
)";

std::shared_ptr<const runtime::Model> load_for_policy(const std::string& policy, int threads = 2) {
  Options options = testing::uncached(threads);
  options.policy = policy;
  return runtime::Model::load({text, "two", ".", nullptr, {}}, options, testing::make_fake_target);
}

std::vector<float> run(const std::shared_ptr<const runtime::Model>& model,
                       const std::vector<std::int64_t>& ids) {
  runtime::CallState call(model);
  call.set_input(0, Tensor::view(ids, {static_cast<std::int64_t>(ids.size())}));
  call.run();
  const auto values = call.output(0).data<float>();
  return {values.begin(), values.end()};
}

std::vector<std::int64_t> some_ids(std::size_t count) {
  std::mt19937_64 random(count);
  std::vector<std::int64_t> ids(count);
  for (std::int64_t& id : ids) id = static_cast<std::int64_t>(random() % 5);
  return ids;
}

}  // namespace

TEST_CASE("candidates: the same code on the same partition is one program, whoever considers it") {
  Launch other_code = launch_of({1, 2});
  other_code.grid.blocks = 7;
  Launch predicted = launch_of({1, 2});
  predicted.predicted_seconds = 3;  // does not affect what runs
  Choices first{{{"a", 1.0, launch_of({1, 2})},
                 {"b", 2.0, launch_of({1, 3})},
                 {"again", 2.5, launch_of({1, 2})}},
                2,
                ""};
  Choices second{{{"c", std::nullopt, launch_of({1, 2}, 2)},
                  {"d", std::nullopt, predicted},
                  {"e", std::nullopt, other_code}},
                 1,
                 ""};
  const CandidateUnion all = runtime::unite(
      {{Policy::Dyn, first},
       {Policy::FTuner, second},
       {Policy::Vendor, {{}, 0, "not here"}},
       {Policy::Oracle, {{{"f", 1.0, launch_of({9})}, {"g", 1.0, launch_of({1, 3})}}, 0, ""}}});
  REQUIRE(all.programs.size() == 5);
  CHECK(all.programs[4].program == "f");
  CHECK(all.programs[0].program == "a");
  CHECK(all.programs[2].program == "c");
  CHECK(all.programs[3].program == "e");
  REQUIRE(all.policies.size() == 3);
  CHECK(all.policies[0].considered == std::vector<std::size_t>{0, 1});
  CHECK(all.policies[0].chosen == std::optional<std::size_t>(0));
  CHECK(all.policies[0].predicted_seconds == std::optional(2.5));
  CHECK(all.policies[1].considered == std::vector<std::size_t>{2, 0, 3});
  CHECK(all.policies[1].chosen == std::optional<std::size_t>(0));
  CHECK_FALSE(all.policies[1].predicted_seconds);
  CHECK_FALSE(all.policies[2].chosen);
  CHECK(all.policies[2].none_reason == "not here");
  testing::check_error(
      ErrorKind::internal,
      [] { runtime::unite({{Policy::Dyn, {{{"a", 1.0, launch_of({})}}, 1, ""}}}); },
      "policy dyn chooses number 1 of 1");
}

TEST_CASE("candidates: a plan with other launches has the threads and memory that they need") {
  runtime::Plan plan;
  plan.launches = {launch_of({1}, 2), launch_of({1, 2}, 1)};
  plan.threads = 2;
  plan.scratch_bytes = 10;
  plan.footprint_bytes = 1000;
  Launch large = launch_of({1, 2, 3, 4}, 64);
  large.scratch_bytes = 20;
  large.shared_bytes = 30;
  const runtime::PlanPtr wide = runtime::with_launch(plan, 1, large, 4);
  CHECK(wide->threads == 4);
  CHECK(wide->launches[1].threads == 4);
  CHECK(wide->scratch_bytes == 20);
  CHECK(wide->shared_bytes == 30);
  CHECK(wide->footprint_bytes == 1000 + 2 * sizeof(std::int64_t));
  const runtime::PlanPtr narrow = runtime::with_launch(plan, 0, launch_of({7}, 1), 4);
  CHECK(narrow->threads == 1);  // no helper is called for nothing
  CHECK(narrow->scratch_bytes == 10);
  CHECK(plan.launches[0].ints == std::vector<std::int64_t>{1});
}

TEST_CASE("oracle: the fastest of what was measured") {
  CHECK(runtime::MeasuredGroup{0, {}, {3, 1, 2}}.best() == 1);
  CHECK(runtime::MeasuredGroup{0, {}, {3, 3}}.best() == 0);
}

TEST_CASE(
    "oracle: every program of every group runs, none is planned again, and results are the same") {
  const std::vector<std::int64_t> ids = some_ids(9);
  const std::vector<float> expected = run(load_for_policy("dyn"), ids);
  const auto model = load_for_policy("oracle");
  const int before[] = {testing::runs_of_program(0), testing::runs_of_program(1),
                        testing::runs_of_program(2)};
  CHECK(run(model, ids) == expected);
  const auto groups = static_cast<int>(model->problems().size());
  for (std::size_t program = 0; program < 3; ++program)
    CHECK(testing::runs_of_program(program) >= before[program] + groups);
  CHECK(model->shapes_planned() == 1);
  const runtime::PlanPtr plan = model->plan(std::vector<std::int64_t>{9});
  CHECK(model->shapes_planned() == 1);
  for (const Launch& launch : plan->launches) {
    REQUIRE(launch.ints.size() == 4);  // the planner's own program has no number behind the symbols
    CHECK(launch.ints.back() < 3);
  }
  CHECK(run(model, {}).empty());
  CHECK(run(model, some_ids(3)) == run(load_for_policy("dyn"), some_ids(3)));
}

TEST_CASE("oracle: threads that meet new shapes at once get the results of one") {
  const auto plain = load_for_policy("dyn"), model = load_for_policy("oracle");
  std::vector<std::vector<float>> expected;
  for (std::size_t length = 0; length < 4; ++length)
    expected.push_back(run(plain, some_ids(length)));
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 8; ++i) {
        const auto length = static_cast<std::size_t>((thread + i) % 4);
        if (run(model, some_ids(length)) != expected[length]) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(model->shapes_planned() == 4);
}

TEST_CASE("oracle: a model that cannot be measured is refused") {
  Options options = testing::uncached(1, "reference");
  options.policy = "oracle";
  const auto reference = runtime::Model::load({text, "two", ".", nullptr, {}}, options);
  testing::check_error(
      ErrorKind::unsupported, [&] { run(reference, {1}); }, "device 'cpu' only",
      "take another policy");
  options.device = "cpu";
  const char* stateful =
      "dyn 1\nstate last: f32[2, 2]\ngraph g(x: f32[1, 2]) -> (r: f32[2, 2]) {\nreturn "
      "append(last, x) at=1\n}\n";
  const auto model =
      runtime::Model::load({stateful, "g", ".", nullptr, {}}, options, testing::make_fake_target);
  testing::check_error(
      ErrorKind::unsupported, [&] { model->plan(model->bind_dims({})); }, "state 'last'",
      "take another policy");
}

TEST_CASE("calls: a plan of the caller's is used without asking the model for one") {
  const auto model = load_for_policy("dyn");
  const std::vector<std::int64_t> ids = some_ids(5);
  runtime::CallState call(model);
  call.set_input(0, Tensor::view(ids, {5}));
  const runtime::PlanPtr plan = model->plan_uncached(std::vector<std::int64_t>{5});
  call.use_plan(plan);
  call.run();
  CHECK(&call.plan() == plan.get());
  CHECK(model->shapes_planned() == 0);
  const auto values = call.output(0).data<float>();
  CHECK(std::vector<float>(values.begin(), values.end()) == run(model, ids));
  testing::check_error(
      ErrorKind::user, [&] { call.use_plan(model->plan_uncached(std::vector<std::int64_t>{6})); },
      "other shapes");
  runtime::CallState empty(model);
  testing::check_error(ErrorKind::user, [&] { empty.use_plan(plan); }, "input 'ids' is missing");
}
