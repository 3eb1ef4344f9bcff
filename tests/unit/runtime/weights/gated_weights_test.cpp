// The weights of a gated layer: their panels take turns in memory and on disk, and a weight that
// other kernels read too lies there as these want it.

#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "dyn/dyn.hpp"
#include "src/runtime/executables/planned_executable.hpp"
#include "src/runtime/load/model.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/unit/runtime/load/support.hpp"

namespace dyn::testing::gated_weights {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t rows = 3, depth = 200, columns = 1024;

const runtime::Weights& weights_of(const Graph& graph) {
  return dynamic_cast<const runtime::PlannedExecutable&>(graph.model()->executable())
      .weights()
      .host();
}

/// `head`: how the weights a and b are declared; `results` and `body`: of the graph.
Graph load(const std::string& head, const std::string& results, const std::string& body,
           const Options& options, const std::string& folder = "") {
  return Graph::from_text(fmt::format("dyn 1\ndim M in 0..9\n{}graph g(x: f32[M, {}], ids: i64[M]) "
                                      "-> ({}) {{\n{}}}\n",
                                      head, depth, results, body),
                          options, folder);
}

std::string random_weights() {
  return fmt::format("weight a: f32[{0}, {1}] = random 1\nweight b: f32[{0}, {1}] = random 2\n",
                     depth, columns);
}

const std::string gate_results = fmt::format("y: f32[M, {}]", columns),
                  gate = "  y = silu(matmul(x, a)) * matmul(x, b)\n  return y\n";

std::vector<float> result_of(const Graph& graph, const char* name) {
  const std::vector<float> x = random_values(rows * depth, 3);
  std::vector<std::int64_t> ids{5, 0, -1};
  const Outputs outputs = graph.run(
      {{"x", Tensor::view(x.data(), {rows, depth})}, {"ids", Tensor::view(ids.data(), {rows})}});
  const auto values = outputs[name].data<float>();
  return {values.begin(), values.end()};
}

void check_close(const std::vector<float>& actual, const std::vector<float>& expected) {
  REQUIRE(actual.size() == expected.size());
  double worst = 0, largest = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    worst = std::max(worst, std::abs(double{actual[i]} - expected[i]));
    largest = std::max(largest, std::abs(double{expected[i]}));
  }
  CHECK(worst <= 1e-4 * largest);
}

/// As the reference has it, whose weights lie as in the file.
void check_as_reference(const std::string& results, const std::string& body, const char* name,
                        const Options& options) {
  CAPTURE(body);
  Options reference = uncached();
  reference.device = "reference";
  check_close(result_of(load(random_weights(), results, body, options), name),
              result_of(load(random_weights(), results, body, reference), name));
}

}  // namespace

TEST_CASE("panels of gated products take turns") {
  for (const auto& [kept, bytes] : {std::pair("", 4), std::pair("bf16", 2)}) {
    CAPTURE(kept);
    Options options = uncached();
    options.weights = kept;
    const Graph graph = load(random_weights(), gate_results, gate, options);
    const auto& problems = graph.model()->problems();
    REQUIRE(problems.size() == 1);
    const rkernel::Contraction& contraction = *problems[0].contraction;
    REQUIRE(contraction.others.size() == 1);
    const runtime::Weights& weights = weights_of(graph);
    const auto place = [&](int operand) {
      return static_cast<const std::byte*>(
          weights.operand(problems[0], static_cast<std::size_t>(operand)));
    };
    // The second one begins behind the first panel of the first one.
    const std::int64_t distance = place(contraction.others[0]) - place(contraction.b);
    CHECK(distance % (depth * bytes) == 0);
    CHECK(distance / (depth * bytes) >= 8);
    CHECK(distance / (depth * bytes) <= 32);
    CHECK(graph.load_report().weight_bytes == 2UL * depth * columns * bytes);
  }
}

TEST_CASE("a weight of a gated layer that another product reads lies apart for it, too") {
  const std::string both = fmt::format("y: f32[M, {0}], z: f32[M, {0}]", columns);
  const std::string body =
      "  y = silu(matmul(x, a)) * matmul(x, b)\n"
      "  z = matmul(relu(x), a)\n  return y, z\n";
  for (const char* name : {"y", "z"}) check_as_reference(both, body, name, uncached());
  CHECK(load(random_weights(), both, body, uncached()).load_report().weight_bytes ==
        3UL * depth * columns * 4);
}

TEST_CASE("a table that is gathered from keeps its rows beside panels that take turns") {
  const std::string results = fmt::format("y: f32[M, {}], z: f32[M, {}]", columns, columns);
  check_as_reference(results,
                     "  y = silu(matmul(x, a)) * matmul(x, b)\n"
                     "  z = gather(a, ids) axis=0\n  return y, z\n",
                     "z", uncached());
}

TEST_CASE("gated weights come back from disk, where plain ones of the same file are others") {
  const TemporaryFolder folder;
  Options options = uncached();
  options.cache_dir = (folder.path() / "cache").string();
  constexpr std::size_t count = depth * columns;
  const std::vector<float> values = random_values(2 * count, 7);
  const std::string data(reinterpret_cast<const char*>(values.data()), values.size() * 4);
  const auto entry = [](const char* key, std::size_t from) {
    return fmt::format(R"("{}":{{"dtype":"F32","shape":[{},{}],"data_offsets":[{},{}]}})", key,
                       depth, columns, from * 4, (from + count) * 4);
  };
  std::ofstream(folder.path() / "w.safetensors", std::ios::binary)
      << safetensors_file("{" + entry("a", 0) + "," + entry("b", count) + "}", data);
  std::this_thread::sleep_for(std::chrono::milliseconds(60));  // until its time stamp is settled
  const std::string head = "weights \"w.safetensors\"\n",
                    type = fmt::format("f32[{}, {}]", depth, columns);
  const auto load_gate = [&] {
    return load(
        head, gate_results,
        fmt::format("  y = silu(matmul(x, a: {0})) * matmul(x, b: {0})\n  return y\n", type),
        options, folder.string());
  };
  const auto load_plain = [&] {
    return load(head, fmt::format("y: f32[M, {0}], z: f32[M, {0}]", columns),
                fmt::format("  y = matmul(x, a: {0})\n  z = matmul(relu(x), b: {0})\n"
                            "  return y, z\n",
                            type),
                options, folder.string());
  };
  const std::vector<float> first = result_of(load_gate(), "y"),
                           plain = result_of(load_plain(), "y");
  const Graph again = load_gate();
  CHECK(again.load_report().weights_from_disk);
  CHECK(result_of(again, "y") == first);
  const Graph plain_again = load_plain();
  CHECK(plain_again.load_report().weights_from_disk);
  CHECK(result_of(plain_again, "y") == plain);
}

}  // namespace dyn::testing::gated_weights
