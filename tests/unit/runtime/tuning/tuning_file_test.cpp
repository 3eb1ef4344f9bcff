// Files of tuned programs: written, read, refused, and taken by a loaded model.

#include <doctest/doctest.h>

#include "dyn/dyn.hpp"
#include "src/runtime/tuning/tuning_file.hpp"
#include "tests/unit/runtime/tuning/written_tuning.hpp"

using namespace dyn;
using namespace dyn::runtime;

namespace {

TuningFile example() {
  TuningFile file{tuning_version(), "cpu/none", "a machine", "measured", "bert", "bayes", 7, {}};
  TunedProblem problem{"matmul_0 B=1", 2, R"({"m":3,"lanes":0})", {"a", "b"}};
  problem.trials = {{{1, 2}, 0.5}, {{3, 4}, 1.0 / 3}};
  problem.spent_seconds = 1.5;
  file.problems.push_back(problem);
  problem.threads = 1;
  problem.scored = true;
  problem.own = TunedProblem::Program{"tile 1x2, \"quoted\"", 1e-6};
  problem.best = TunedProblem::Program{"tile 3x4", 0.5e-6};
  problem.program = rkernel::ModelInput{R"({"m":3,"lanes":1})", "[1,[[0,3]]]"};
  file.problems.push_back(problem);
  return file;
}

TunedKernelPool example_pool() {
  TunedKernelPool pool{rkernel::Policy::TSCompiler, 3, 5, {{1, 2, 3, 4}, {8, 7, 6, 5}}};
  pool.measured = {{{{1, 32, 4, 64, 0}, {64}, true}, {1e-6}, {2e-6}},
                   {{{2, 32, 8, 64, 16}, {64, 128}, true}, {1.0 / 3, 1}, {2, 3}}};
  pool.kept = {1};
  pool.of_limit = 0.7;
  pool.spent_seconds = 2.5;
  pool.operands = {DType::bf16, false, false, true};
  return pool;
}

std::string without(std::string text, const std::string& part, const std::string& instead) {
  const std::size_t at = text.find(part);
  REQUIRE(at != std::string::npos);
  return text.replace(at, part.size(), instead);
}

constexpr const char* model_text = R"(dyn 1
dim M in 1..64
weight w: f32[64, 96] = random 1
graph net(x: f32[M, 64]) -> (y: f32[M, 96]) {
  y = matmul(x, w)
  return y
}
)";

}  // namespace

TEST_CASE("tuning file: what is written is read") {
  const TuningFile file = example();
  const std::string text = to_json(file);
  const TuningFile read = tuning_file_from(text, "name");
  CHECK(to_json(read) == text);
  CHECK(read.model == file.model);
  CHECK(read.seed == 7);
  REQUIRE(read.problems.size() == 2);
  CHECK(read.problems[0].trials[1].ratio == 1.0 / 3);
  CHECK(read.problems[0].trials[1].point == std::vector<std::int64_t>{3, 4});
  CHECK_FALSE(read.problems[0].program);
  CHECK_FALSE(read.problems[0].scored);
  CHECK(read.problems[1].own == file.problems[1].own);
  CHECK(read.problems[1].best == file.problems[1].best);
  CHECK(read.problems[1].program->sizes == file.problems[1].program->sizes);
  CHECK(read.problems[1].program->program == file.problems[1].program->program);

  const runtime::testing::WrittenTuning written(text);
  const auto tuning = load_tuning(written.path());
  CHECK(tuning->target == "cpu/none");
  CHECK(tuning->machine == "a machine");
  REQUIRE(tuning->programs.size() == 1);
  CHECK(tuning->programs[0].threads == 1);
  CHECK(tuning->programs[0].seconds == 0.5e-6);
  CHECK(load_tuning("") == nullptr);
}

TEST_CASE("tuning file: micro-kernels are written and read, and those that were kept are loaded") {
  TuningFile file = example();
  file.problems.clear();
  file.pools = {example_pool()};
  const std::string text = to_json(file);
  const TuningFile read = tuning_file_from(text, "name");
  CHECK(to_json(read) == text);
  REQUIRE(read.pools.size() == 1);
  const TunedKernelPool& pool = read.pools[0];
  CHECK(pool.policy == rkernel::Policy::TSCompiler);
  CHECK(pool.threads == 3);
  CHECK(pool.seed == 5);
  CHECK(pool.shapes[1].k == 5);
  REQUIRE(pool.measured.size() == 2);
  CHECK(pool.measured[1].plan == example_pool().measured[1].plan);
  CHECK(pool.measured[1].alone == example_pool().measured[1].alone);
  CHECK(pool.kept == std::vector<std::size_t>{1});
  CHECK(pool.of_limit == 0.7);
  CHECK(pool.spent_seconds == 2.5);
  CHECK(pool.operands == example_pool().operands);

  const runtime::testing::WrittenTuning written(text);
  const auto tuning = load_tuning(written.path());
  CHECK(tuning->programs.empty());
  CHECK_FALSE(tuning->has_problems);
  REQUIRE(tuning->pools.size() == 1);
  CHECK(tuning->pools[0].policy == rkernel::Policy::TSCompiler);
  CHECK(tuning->pools[0].threads == 3);
  CHECK(tuning->pools[0].shapes == "[[1,2,3,4],[8,7,6,5]]");
  CHECK(tuning->pools[0].operands == R"({"b":"as it lies","factors":"bf16"})");
  CHECK(tuning->pools[0].kernels.find("[2,32,8,64,16]") != std::string::npos);
  CHECK(tuning->pools[0].kernels.find("[1,32,4,64,0]") == std::string::npos);

  const auto refused = [](const std::string& broken, const char* part) {
    CHECK_THROWS_WITH_AS(tuning_file_from(broken, "file.json"), doctest::Contains(part), Error);
  };
  refused(without(text, "\"tscompiler\"", "\"abacus\""), "there is no policy 'abacus'");
  refused(without(text, "\"kept\":[1]", "\"kept\":[2]"), "micro-kernel 2 is not among 2");
  refused(without(text, "\"alone\"", "\"lonely\""), "alone");
}

TEST_CASE("tuning file: a policy for which it has nothing is refused, with what it has") {
  using rkernel::Policy;
  rkernel::Tuning tuning{"file.json", "", "", {}, false, {{Policy::DietCode, 2, "", "", ""}}};
  for (const Policy policy :
       {Policy::DietCode, Policy::DietCodePadding, Policy::DietCodePartition, Policy::Oracle})
    CHECK_NOTHROW(require_content(tuning, policy, 2));
  CHECK_THROWS_WITH_AS(require_content(tuning, Policy::DietCodePadding, 1),
                       doctest::Contains("has nothing for policy 'dietcode-padding' on 1 threads, "
                                         "but micro-kernels for 'dietcode' on 2 threads; dynrun "
                                         "tune --policy dietcode --threads 1 makes it"),
                       Error);
  CHECK_THROWS_WITH_AS(require_content(tuning, Policy::Dyn, 2),
                       doctest::Contains("has nothing for policy 'dyn'"), Error);
  CHECK_THROWS_WITH_AS(require_content(tuning, Policy::TSCompiler, 2),
                       doctest::Contains("--policy tscompiler"), Error);
  tuning.has_problems = true;
  CHECK_NOTHROW(require_content(tuning, Policy::Dyn, 2));
  CHECK_THROWS_AS(require_content(tuning, Policy::TSCompiler, 2), Error);
}

TEST_CASE("tuning file: broken ones are refused, with what is wrong") {
  const std::string good = to_json(example());
  const auto refused = [](const std::string& text, const char* part) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(tuning_file_from(text, "file.json"), doctest::Contains(part), Error);
    CHECK_THROWS_WITH_AS(tuning_file_from(text, "file.json"),
                         doctest::Contains("'file.json' is no tuning file"), Error);
  };
  refused("", "parse error");
  refused("[]", "it has no \"dyn_tuning\"");
  refused("{}", "it has no \"dyn_tuning\"");
  refused(good.substr(0, good.size() / 2), "parse error");
  refused(without(good, "\"dyn_tuning\": 1", "\"dyn_tuning\": 2"), "its format is 2, not 1");
  refused(without(good, "\"machine\"", "\"machines\""), "machine");
  refused(without(good, "\"seed\": 7", "\"seed\": \"x\""), "type must be number");
  refused(without(good, "[0.5,[1,2]]", "[0.5,[1]]"), "no point of 2 axes");
  refused(without(good, "[0.5,[1,2]]", "[-0.5,[1,2]]"), "is no time");
  refused(without(good, "[0.5,[1,2]]", "[1e999,[1,2]]"), "number overflow");
  refused(without(good, "\"best\":", "\"worst\":"), "it has a program, and no \"best\"");
  CHECK_THROWS_WITH_AS(read_tuning_file("/nowhere/at/all.json"),
                       doctest::Contains("'/nowhere/at/all.json' cannot be read"), Error);
}

TEST_CASE("tuning file: a load refuses one of another version, machine, model or policy") {
  const auto load = [](const std::string& tuning, const std::string& policy = "dyn",
                       const std::string& device = "cpu") {
    Options options;
    options.random_weights = true;
    options.cache_dir = "none";
    options.tuning = tuning;
    options.policy = policy;
    options.device = device;
    return Graph::from_text(model_text, options);
  };
  TuningFile file = example();
  file.model.reset();
  file.problems.clear();
  const runtime::testing::WrittenTuning other_machine(to_json(file));
  CHECK_THROWS_WITH_AS(load(other_machine.path()),
                       doctest::Contains("was made for cpu/none on 'a machine', but this is cpu/"),
                       Error);
  file.version = "dyn 0.0.0";
  const runtime::testing::WrittenTuning other_version(to_json(file));
  CHECK_THROWS_WITH_AS(load(other_version.path()),
                       doctest::Contains("was made by dyn 0.0.0, but this is dyn "), Error);
  const runtime::testing::WrittenTuning other_model(to_json(example()));
  CHECK_THROWS_WITH_AS(load(other_model.path()),
                       doctest::Contains("was made for the model 'bert', not for 'net'"), Error);
  CHECK_THROWS_WITH_AS(load(other_machine.path(), "vortex"),
                       doctest::Contains("but the policy is 'vortex'"), Error);
  CHECK_THROWS_WITH_AS(load(other_machine.path(), "dyn", "reference"),
                       doctest::Contains("device 'reference' takes no tuned programs"), Error);
  CHECK_THROWS_WITH_AS(load("/nowhere.json"), doctest::Contains("cannot be read"), Error);
}
