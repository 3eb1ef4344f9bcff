// Options::progress and Options::log: what a load tells, and that it can be ended there.

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "dyn/dyn.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn;
using testing::check_error;
using testing::uncached;

namespace {

/// A model with a kernel that no other test has compiled in this process, and two weights.
std::string fresh_model(int number) {
  std::string expression = "x";
  for (int i = 0; i < 3; ++i)
    expression = "tanh(" + expression + " + sin(" + expression + ") * " +
                 (((number >> i) & 1) != 0 ? "cos" : "exp") + "(x))";
  return "dyn 1\ndim B in 1..64\nweight w: f32[48, 32] = random 1\nweight b: f32[32] = random 2\n"
         "graph told(x: f32[B, 48]) -> (y: f32[B, 32]) {\n  return matmul(" +
         expression + ", w) + b\n}\n";
}

struct Told {
  std::string stage;
  std::int64_t done, total;
};

}  // namespace

TEST_CASE("a load tells how far it is: stages in order, in its own thread") {
  std::vector<Told> told;
  std::vector<std::string> infos, debugs;
  Options options = uncached(3);
  options.progress = [&, here = std::this_thread::get_id()](const LoadProgress& progress) {
    CHECK(std::this_thread::get_id() == here);
    told.push_back({std::string(progress.stage), progress.done, progress.total});
    return true;
  };
  options.log = [&](LogLevel level, std::string_view line) {
    if (level == LogLevel::info) infos.emplace_back(line);
    if (level == LogLevel::debug) debugs.emplace_back(line);
  };
  const Graph graph = Graph::from_text(fresh_model(0), options);
  std::string stages;
  for (std::size_t i = 0; i < told.size(); ++i) {
    CHECK(told[i].done >= 0);
    CHECK(told[i].done < told[i].total);
    if (i == 0 || told[i].stage != told[i - 1].stage) stages += told[i].stage + " ";
  }
  CHECK(stages == "parse compile weights ");
  REQUIRE(infos.size() == 1);
  CHECK(infos[0].find("loaded '<text>' in ") == 0);
  REQUIRE(debugs.size() == 1);
  CHECK(debugs[0].find("ms to parse") != std::string::npos);
  const std::size_t by_load = told.size();
  graph.run({{"x", Tensor(DType::f32, {3, 48})}});
  CHECK(told.size() == by_load);
}

TEST_CASE("a load is ended wherever it tells how far it is, and the next one is whole") {
  int fresh = 1;
  for (const char* stage : {"parse", "compile", "weights"}) {
    CAPTURE(std::string(stage));
    const std::string text = fresh_model(fresh++);
    Options options = uncached(2);
    options.progress = [&](const LoadProgress& progress) { return progress.stage != stage; };
    check_error(
        ErrorKind::cancelled, [&] { Graph::from_text(text, options); },
        "Options::progress has ended the load, in stage '" + std::string(stage) + "'",
        "loading '<text>'");
    options.progress = [&](const LoadProgress& progress) -> bool {
      if (progress.stage == stage) throw std::runtime_error("the host is in trouble");
      return true;
    };
    CHECK_THROWS_WITH_AS(Graph::from_text(text, options), "the host is in trouble",
                         std::runtime_error);
    options.progress = nullptr;
    const Graph graph = Graph::from_text(text, options);
    CHECK(graph.run({{"x", Tensor(DType::f32, {3, 48})}}).size() == 1);
  }
}
