// A gather by a constant index is a slice where every run has such an index; elsewhere it is
// checked when it runs.

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <array>
#include <random>
#include <vector>

#include "dyn/dyn.hpp"
#include "graph/passes/pipeline.hpp"
#include "graph/text/text.hpp"
#include "tests/support/random_floats.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/runtime/load/support.hpp"

using dyn::Tensor;

namespace {

constexpr std::array<std::int64_t, 3> sizes{3, 5, 4};

std::string graph_of(int axis, std::int64_t index) {
  const std::array<const char*, 3> results{"5, 4", "S, 4", "S, 5"};
  return fmt::format(
      "dyn 1\ndim S in 2..64\ngraph g(x: f32[S, 5, 4]) -> (y: f32[{}]) {{\n"
      "  y = gather(x, {}) axis={}\n  return y\n}}\n",
      results[static_cast<std::size_t>(axis)], index, axis);
}

std::vector<float> chosen(const std::vector<float>& x, int axis, std::int64_t index) {
  std::vector<float> result;
  for (std::int64_t i = 0; i < sizes[0]; ++i)
    for (std::int64_t j = 0; j < sizes[1]; ++j)
      for (std::int64_t k = 0; k < sizes[2]; ++k)
        if (std::array{i, j, k}[static_cast<std::size_t>(axis)] == index)
          result.push_back(x[static_cast<std::size_t>((i * sizes[1] + j) * sizes[2] + k)]);
  return result;
}

bool is_gathered(const std::string& text) {
  dyn::graph::Module module = dyn::graph::parse(text);
  dyn::graph::find_pass("simplify")->run(module, *std::make_unique<dyn::graph::Fusion>(), {});
  return std::ranges::any_of(module.nodes, [](const dyn::graph::Node& node) {
    return node.op->id == dyn::graph::OpId::Gather;
  });
}

}  // namespace

TEST_CASE("a constant index chooses its slice, from either end") {
  std::mt19937_64 random(dyn::testing::test_seed());
  const std::vector<float> x = dyn::testing::random_floats(random, 3 * 5 * 4);
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t size = sizes[static_cast<std::size_t>(axis)];
    for (std::int64_t index = -size; index < size; ++index) {
      CAPTURE(axis);
      CAPTURE(index);
      const std::string text = graph_of(axis, index);
      const auto outputs =
          dyn::Graph::from_text(text).run({{"x", Tensor::view(x.data(), {3, 5, 4})}});
      const std::span<const float> y = outputs["y"].data<float>();
      CHECK(std::vector(y.begin(), y.end()) == chosen(x, axis, index < 0 ? index + size : index));
      // S is 2 at least.
      CHECK(is_gathered(text) == (axis == 0 && (index < -2 || index >= 2)));
    }
  }
}

TEST_CASE("a constant index that a run does not have is an error of that run") {
  const std::vector<float> x(3 * 5 * 4);
  const dyn::Graph graph = dyn::Graph::from_text(graph_of(0, 2));
  graph.run({{"x", Tensor::view(x.data(), {3, 5, 4})}});
  dyn::testing::check_error(
      dyn::ErrorKind::user, [&] { graph.run({{"x", Tensor::view(x.data(), {2, 5, 4})}}); },
      "an index is out of range");
}
