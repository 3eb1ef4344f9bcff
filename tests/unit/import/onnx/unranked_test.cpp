// Inputs for which the file has no shape.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "dyn/error.hpp"
#include "src/import/onnx/import.hpp"
#include "tests/unit/import/onnx/imported.hpp"
#include "tests/unit/import/onnx/values.hpp"

namespace dyn::testing::unranked {
namespace {

/// The sums of x + b along the last axis of x, of any rank; b is [N, 3].
OnnxFile sums_of_rows() {
  OnnxFile file;
  file.input("x", {}).input("b", {"N", 3}).output("y").integers("axes", {1}, {-1});
  file.model.mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->clear_shape();
  file.node("Add", {"x", "b"}, {"z"});
  set(file.node("ReduceSum", {"z", "axes"}, {"y"}), "keepdims", 0);
  return file;
}

/// `x` has `blocks` of 2 x 3 elements.
Values expected_sums(const std::vector<float>& x, const std::vector<float>& b) {
  Values sums;
  for (std::size_t row = 0; row < x.size() / 3; ++row) {
    double sum = 0;
    for (std::size_t i = 0; i < 3; ++i)
      sum += static_cast<double>(x[row * 3 + i]) + static_cast<double>(b[row % 2 * 3 + i]);
    sums.push_back(sum);
  }
  return sums;
}

void check_run(const Graph& graph, const Shape& shape) {
  CAPTURE(to_string(shape));
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  const std::vector<float> x = random_floats(static_cast<std::size_t>(count)), b = random_floats(6);
  const std::vector<Result> results =
      run_all(graph, {{"x", Tensor::view(x, shape)}, {"b", Tensor::view(b, {2, 3})}});
  CHECK(results[0].shape == Shape(shape.begin(), shape.end() - 1));
  check_close(results[0].values, expected_sums(x, b), 1e-5);
}

std::string text_with(const OnnxFile& file, const onnx::ImportOptions& options) {
  const Folder folder;
  file.save(folder.path("m.onnx"));
  const onnx::Imported imported =
      onnx::import_model(folder.path("m.onnx"), "w.safetensors", options);
  return imported.is_undecided() ? "undecided" : imported.text;
}

}  // namespace

TEST_CASE("an input without a shape has the rank of each run") {
  const Graph graph = load(sums_of_rows());
  REQUIRE(graph.inputs().size() == 2);
  CHECK(graph.inputs()[0].name == "x");
  CHECK(graph.inputs()[0].shape == "_");
  CHECK(graph.inputs()[1].shape == "[N, 3]");
  Call call(graph);
  for (int round = 0; round < 2; ++round) {
    check_run(graph, {2, 3});
    check_run(graph, {4, 2, 3});
    check_run(graph, {5, 2, 3});
    check_run(graph, {2, 5, 2, 3});
  }
  CHECK_THROWS_WITH_AS(graph.infer_shapes({{"x", {2, 3}}, {"b", {2, 3}}}),
                       doctest::Contains("does not say what rank its input(s) x have"), Error);
  const std::vector<float> x = random_floats(7);
  CHECK_THROWS_WITH_AS(
      graph.run({{"x", Tensor::view(x, {7})}, {"b", Tensor::from(std::span(x).first(6), {2, 3})}}),
      doctest::Contains("Add"), Error);
}

TEST_CASE("words or a known value give an input its rank") {
  Options options;
  options.free_dims = {{"x", {"B", "_", "3"}}};
  const Graph freed = load(sums_of_rows(), options);
  CHECK(freed.inputs()[0].shape.starts_with("[B, "));
  check_run(freed, {4, 2, 3});
  Options known;
  const std::vector<float> x = random_floats(24);
  known.known_inputs.emplace("x", Tensor::view(x, {4, 2, 3}));
  const Graph of_value = load(sums_of_rows(), known);
  check_run(of_value, {7, 2, 3});
  CHECK(text_with(sums_of_rows(), {}) == "undecided");
  CHECK(text_with(sums_of_rows(), {.free_dims = {{"x", {"2", "3"}}}}).find("x: f32[2, 3]") !=
        std::string::npos);
  CHECK_THROWS_WITH_AS(
      text_with(sums_of_rows(), {.free_dims = {{"x", {"N", "99999999999999999999"}}}}),
      doctest::Contains("dim 1 of the input x cannot be 99999999999999999999"), Error);
  CHECK_THROWS_WITH_AS(text_with(sums_of_rows(), {.free_dims = {{"x", {"N", "4"}}}}),
                       doctest::Contains("Add"), Error);
}

TEST_CASE("an input without a shape may hold what decides the structure") {
  OnnxFile file;
  file.input("x", {"A", "B"}).input("axes", {}, onnx::TensorProto::INT64).output("y");
  file.model.mutable_graph()
      ->mutable_input(1)
      ->mutable_type()
      ->mutable_tensor_type()
      ->clear_shape();
  set(file.node("ReduceSum", {"x", "axes"}, {"y"}), "keepdims", 0);
  const Graph graph = load(file);
  const std::vector<float> x{1, 2, 3, 4, 5, 6};
  const auto sums = [&](const std::vector<std::int64_t>& axes) {
    return run_all(graph, {{"x", Tensor::view(x, {2, 3})},
                           {"axes", Tensor::from(std::span<const std::int64_t>(axes),
                                                 {static_cast<std::int64_t>(axes.size())})}})[0]
        .values;
  };
  CHECK(sums({0}) == Values{5, 7, 9});
  CHECK(sums({1}) == Values{6, 15});
  CHECK(sums({0, 1}) == Values{21});
}

}  // namespace dyn::testing::unranked
