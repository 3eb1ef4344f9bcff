// Whatever programs a tuning file has, runs give the same numbers.

#include <doctest/doctest.h>

#include <cmath>

#include <fmt/format.h>

#include "dyn/dyn.hpp"
#include "src/rkernel/target/program_space.hpp"
#include "src/runtime/load/model.hpp"
#include "src/runtime/tuning/tuning_file.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/runtime/load/support.hpp"
#include "tests/unit/runtime/tuning/written_tuning.hpp"

using namespace dyn;
using namespace dyn::runtime;
using dyn::runtime::testing::WrittenTuning;

namespace {

constexpr std::int64_t rows = 37, depth = 300, columns = 72;

constexpr const char* tuned_model = R"(dyn 1
dim M in 1..128
weight w: f32[300, 72] = random 1
graph tuned(x: f32[M, 300]) -> (y: f32[M, 72]) {
  h = matmul(x, w)
  y = relu(h)
  return y
}
)";

Options options_for(const std::string& device, int threads) {
  Options options = dyn::testing::uncached(threads, device);
  if (device == "emulator") options.gpu = "a100";
  return options;
}

/// The contraction's kernel of the loaded model.
const rkernel::Kernel& contraction_of(const Model& model) {
  for (std::size_t group = 0; group < model.problems().size(); ++group) {
    if (model.problems()[group].contraction) return model.kernel(group);
  }
  throw Error(ErrorKind::internal, "the model has no contraction");
}

/// A random allowed point: some values of a seed are changed.
rkernel::ProgramSpace::Point random_point(const rkernel::ProgramSpace& space,
                                          std::mt19937_64& random) {
  const auto seeds = space.seeds();
  while (true) {
    rkernel::ProgramSpace::Point point = seeds[random() % seeds.size()];
    for (std::uint64_t changes = 1 + random() % 4; changes > 0; --changes) {
      const std::size_t axis = random() % point.size();
      const auto& values = space.axes()[axis].values;
      point[axis] = values[random() % values.size()];
    }
    if (space.allows(point)) return point;
  }
}

std::vector<float> result_of(const Options& options, const std::vector<float>& x) {
  const Graph graph = Graph::from_text(tuned_model, options);
  const Outputs outputs = graph.run({{"x", Tensor::view(x.data(), {rows, depth})}});
  const auto values = outputs["y"].data<float>();
  return {values.begin(), values.end()};
}

void check_programs(const std::string& device, int threads, int count) {
  CAPTURE(device);
  const Options options = options_for(device, threads);
  const auto model = Model::load({.text = tuned_model}, options);
  const std::vector<std::int64_t> symbols = model->bind_dims({{"M", rows}});
  const rkernel::Kernel& kernel = contraction_of(*model);
  const auto space = kernel.program_space({symbols, threads});
  REQUIRE(space);
  const std::vector<float> x = dyn::testing::random_values(rows * depth, 5);
  const std::vector<float> expected = result_of(options, x);
  std::mt19937_64 random(dyn::testing::test_seed(20271128));
  for (int i = 0; i < count; ++i) {
    const rkernel::Candidate program = space->program(random_point(*space, random));
    CAPTURE(program.program);
    TuningFile file{tuning_version(), kernel.target_name(), kernel.machine_name(), "measured"};
    TunedProblem problem{"tuned", threads, program.model_input().sizes, {}};
    problem.best = TunedProblem::Program{program.program, 1.5e-6};
    problem.program = program.model_input();
    file.problems.push_back(problem);
    const WrittenTuning written(to_json(file));
    Options with = options;
    with.tuning = written.path();

    const auto tuned = Model::load({.text = tuned_model}, with);
    const auto seconds = [&](std::int64_t m) {
      const std::vector<std::int64_t> at = tuned->bind_dims({{"M", m}});
      return contraction_of(*tuned).plan({at, threads}).predicted_seconds;
    };
    CHECK(seconds(rows) == 1.5e-6);
    CHECK(seconds(rows + 1) != 1.5e-6);
    CHECK(contraction_of(*tuned)
              .explain({tuned->bind_dims({{"M", rows}}), threads})
              .find("by the tuning file") != std::string::npos);

    const std::vector<float> values = result_of(with, x);
    REQUIRE(values.size() == static_cast<std::size_t>(rows * columns));
    double worst = 0;
    for (std::size_t at = 0; at < values.size(); ++at)
      worst = std::max(worst, std::abs(static_cast<double>(values[at]) - expected[at]));
    CHECK(worst < 1e-3);
  }
}

}  // namespace

TEST_CASE("tuned programs of a CPU give the same results, at exactly their sizes") {
  check_programs("cpu", 1, dyn::testing::test_rounds(6, 2));
  check_programs("cpu", 2, dyn::testing::test_rounds(12, 2));
}

TEST_CASE("tuned programs of a GPU, whose tiles are no candidates, give the same results") {
  check_programs("emulator", 2, dyn::testing::test_rounds(4, 2));
}
