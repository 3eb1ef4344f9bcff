// A free length from which every layer takes something: sizes stay small, and what is equal is
// proven equal, so that models of many layers load.

#include <doctest/doctest.h>

#include <fmt/format.h>

#include "src/runtime/load/model.hpp"
#include "tests/unit/import/onnx/values.hpp"

using namespace dyn;
using testing::check_close;
using testing::OnnxFile;
using testing::random_floats;
using Doubles = testing::Values;  // not dyn::Values

namespace {

constexpr std::int64_t to_the_end = std::numeric_limits<std::int64_t>::max();

/// y = x[first:last] along the last axis of a tensor of this rank.
void slice(OnnxFile& file, const std::string& x, const std::string& y, std::int64_t first,
           std::int64_t last, std::int64_t axis) {
  const std::string name = "of_" + y;
  file.integers(name + "_first", {1}, {first})
      .integers(name + "_last", {1}, {last})
      .integers(name + "_axis", {1}, {axis});
  file.node("Slice", {x, name + "_first", name + "_last", name + "_axis"}, {y});
}

}  // namespace

TEST_CASE("a hundred parts of parts of a free length") {
  OnnxFile file;
  file.input("x", {"L"}).output("y");
  std::string last = "x";
  for (int i = 0; i < 100; ++i) {
    const std::string next = i == 99 ? "y" : fmt::format("v{}", i);
    slice(file, last, next, i % 3 == 1 ? 0 : 1, i % 3 == 0 ? to_the_end : -1, 0);
    last = next;
  }
  // 34 steps take from the front, 33 from the back, 33 from both.
  const Graph graph = testing::load(file);
  for (const std::int64_t length : {140, 133, 20, 0}) {
    CAPTURE(length);
    std::vector<float> x = random_floats(static_cast<std::size_t>(length));
    const std::int64_t left = std::max<std::int64_t>(0, length - 133);
    Doubles expected;
    for (std::int64_t i = 0; i < left; ++i)
      expected.push_back(static_cast<double>(x[static_cast<std::size_t>(67 + i)]));
    const testing::Result result =
        testing::run_all(graph, {{"x", Tensor::view(x.data(), {length})}}).front();
    CHECK(result.shape == Shape{left});
    check_close(result.values, expected, 1e-7);
  }
}

TEST_CASE("a free length of which halves and thirds are joined forty times") {
  OnnxFile file;
  file.input("x", {"L"}).output("y").integers("first", {1}, {0});
  file.integers("last", {1}, {to_the_end}).integers("axis", {1}, {0});
  file.integers("two", {1}, {2}).integers("three", {1}, {3});
  std::string last = "x";
  for (int i = 0; i < 40; ++i) {
    const std::string next = i == 39 ? "y" : fmt::format("v{}", i);
    for (const char* step : {"two", "three"})
      file.node("Slice", {last, "first", "last", "axis", step}, {next + step});
    testing::set(file.node("Concat", {next + "two", next + "three"}, {next}), "axis", 0);
    last = next;
  }
  const Graph graph = testing::load(file);
  for (const std::int64_t length : {5000, 127, 7, 1, 0}) {
    CAPTURE(length);
    std::vector<float> x = random_floats(static_cast<std::size_t>(length));
    Doubles expected(x.begin(), x.end());
    for (int i = 0; i < 40; ++i) {
      Doubles joined;
      for (const std::size_t step : {std::size_t{2}, std::size_t{3}}) {
        for (std::size_t j = 0; j < expected.size(); j += step) joined.push_back(expected[j]);
      }
      expected = joined;
    }
    const testing::Result result =
        testing::run_all(graph, {{"x", Tensor::from(std::span<const float>(x), {length})}}).front();
    CHECK(result.shape == Shape{static_cast<std::int64_t>(expected.size())});
    check_close(result.values, expected, 1e-7);
  }
}

TEST_CASE("fifty differences of neighbours along a free length") {
  OnnxFile file;
  file.input("x", {"L"}).output("y");
  std::string last = "x";
  for (int i = 0; i < 50; ++i) {
    const std::string next = i == 49 ? "y" : fmt::format("v{}", i), later = next + "_later",
                      earlier = next + "_earlier";
    slice(file, last, later, 1, to_the_end, 0);
    slice(file, last, earlier, 0, -1, 0);
    const std::string half = next + "_twice";
    file.node("Sub", {later, earlier}, {half});
    file.node("Mul", {half, "half"}, {next});
    last = next;
  }
  file.floats("half", {}, {0.5F});
  std::vector<float> x = random_floats(90);
  Doubles expected(x.begin(), x.end());
  for (int i = 0; i < 50; ++i) {
    for (std::size_t j = 0; j + 1 < expected.size(); ++j)
      expected[j] = (expected[j + 1] - expected[j]) * 0.5;
    expected.pop_back();
  }
  check_close(run(file, {{"x", {&x, {90}}}}).values, expected, 1e-5);
}

TEST_CASE("a hundred valid convolutions, each added to what is left of its input") {
  OnnxFile file;
  file.input("x", {1, 1, "L"}).floats("w", {1, 1, 3}, {0.25F, -0.5F, 0.125F}).output("y");
  std::string last = "x";
  for (int i = 0; i < 100; ++i) {
    const std::string next = i == 99 ? "y" : fmt::format("v{}", i);
    file.node("Conv", {last, "w"}, {next + "_conv"});
    slice(file, last, next + "_middle", 1, -1, 2);
    file.node("Add", {next + "_conv", next + "_middle"}, {next});
    last = next;
  }
  std::vector<float> x = random_floats(230);
  Doubles expected(x.begin(), x.end());
  for (int i = 0; i < 100; ++i) {
    Doubles next;
    for (std::size_t j = 1; j + 1 < expected.size(); ++j)
      next.push_back(expected[j] + expected[j - 1] * 0.25 - expected[j] * 0.5 +
                     expected[j + 1] * 0.125);
    expected = next;
  }
  check_close(run(file, {{"x", {&x, {1, 1, 230}}}}).values, expected, 1e-5);
  // What is equal is proven: none of it is left to be checked, and sizes stay what they are.
  const Graph graph = testing::load(file);
  CHECK(std::ranges::none_of(graph.model()->module().constraints, [](const auto& each) {
    return each.kind != graph::Constraint::Kind::LessEqual;
  }));
  CHECK(graph.outputs()[0].shape == "[1, 1, L - 200]");
}
