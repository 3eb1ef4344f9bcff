// Imported operators whose run decides sizes, and branches.

#include <doctest/doctest.h>

#include "dyn/error.hpp"
#include "tests/support/elements.hpp"
#include "tests/unit/import/onnx/values.hpp"

using namespace dyn;
using onnx::TensorProto;
using testing::elements;
using testing::OnnxFile;

namespace {

/// A branch with one node, of x and the value that it adds.
void add_branch(onnx::NodeProto& node, const char* name, const char* op, const char* other,
                const char* result) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::GRAPH);
  onnx::NodeProto& inner = *attribute.mutable_g()->add_node();
  inner.set_op_type(op);
  inner.add_input("x");
  inner.add_input(other);
  inner.add_output(result);
  attribute.mutable_g()->add_output()->set_name(result);
}

}  // namespace

TEST_CASE("imported: the rows that a mask chooses") {
  OnnxFile file;
  file.input("x", {"N", "C"})
      .output("y")
      .integers("one", {1}, {1})
      .floats("zero", {}, {0})
      .floats("two", {1}, {2});
  testing::set(file.node("ReduceSum", {"x", "one"}, {"sums"}), "keepdims", 0);
  file.node("Greater", {"sums", "zero"}, {"marks"});
  testing::set(file.node("Compress", {"x", "marks"}, {"rows"}), "axis", 0);
  file.node("Unsqueeze", {"rows", "one"}, {"apart"});
  file.node("Mul", {"apart", "two"}, {"y"});
  const Graph graph = load(file);
  const std::vector<float> x{1, -3, 2, 5, -1, 0.5F};
  const Outputs outputs = graph.run({{"x", Tensor::view(x, {3, 2})}});
  CHECK(outputs["y"].shape() == Shape{1, 1, 2});
  CHECK(elements<float>(outputs["y"]) == std::vector<float>{4, 10});
}

TEST_CASE("imported: sizes that a cast or a sum of data gives become dims") {
  OnnxFile file;
  file.input("x", {"N", "C"})
      .input("lengths", {"K", 1}, TensorProto::INT64)
      .output("y")
      .integers("first", {1}, {0});
  file.integers("ones", {2}, {1, 1});
  testing::set(file.node("ReduceMax", {"lengths", "first"}, {"longest"}), "keepdims", 0);
  testing::set(file.node("Concat", {"longest", "ones"}, {"shape"}), "axis", 0);
  file.node("Expand", {"x", "shape"}, {"y"});
  const Graph graph = load(file);
  const std::vector<float> x{1, 2, 3, 4, 5, 6};
  const std::vector<std::int64_t> lengths{2, 4, 1};
  const Outputs outputs =
      graph.run({{"x", Tensor::view(x, {3, 2})}, {"lengths", Tensor::view(lengths, {3, 1})}});
  REQUIRE(outputs["y"].shape() == Shape{4, 3, 2});
  for (std::size_t i = 0; i < 24; ++i) CHECK(outputs["y"].data<float>()[i] == x[i % 6]);
}

TEST_CASE("imported: of sizes that are put together only those that data gives are left open") {
  OnnxFile file;
  file.input("x", {1, 2, "H", "W"})
      .input("height", {"K", 1}, TensorProto::INT64)
      .output("y")
      .integers("kept", {2}, {1, 2})
      .integers("first", {1}, {0})
      .integers("width", {1}, {5});
  testing::set(file.node("ReduceSum", {"height", "first"}, {"sum"}), "keepdims", 0);
  testing::set(file.node("Concat", {"kept", "sum", "width"}, {"sizes"}), "axis", 0);
  testing::set_word(
      testing::set_word(
          testing::set_word(file.node("Resize", {"x", "", "", "sizes"}, {"y"}), "mode", "nearest"),
          "coordinate_transformation_mode", "asymmetric"),
      "nearest_mode", "floor");
  const Graph graph = load(file);
  CHECK(graph.outputs()[0].shape == "[1, 2, size, 5]");
  const std::vector<float> x{1, 2, 3, 4};
  const std::vector<std::int64_t> height{1, 2};
  const Outputs outputs =
      graph.run({{"x", Tensor::view(x, {1, 2, 1, 2})}, {"height", Tensor::view(height, {2, 1})}});
  REQUIRE(outputs["y"].shape() == Shape{1, 2, 3, 5});
  std::vector<float> expected;
  for (const float first : {1.0F, 3.0F})
    for (int row = 0; row < 3; ++row)
      expected.insert(expected.end(), {first, first, first, first + 1, first + 1});
  CHECK(elements<float>(outputs["y"]) == expected);
}

TEST_CASE("imported: a convolution of channels that data gives, which its filters tell") {
  OnnxFile file;
  file.input("x", {"N", 1, "L"})
      .input("more", {"K", 1}, TensorProto::INT64)
      .output("y")
      .integers("none", {4}, {0, 0, 0, 0})
      .integers("first", {1}, {0})
      .integers("last", {1}, {0});
  testing::set(file.node("ReduceSum", {"more", "first"}, {"sum"}), "keepdims", 0);
  testing::set(file.node("Concat", {"none", "sum", "last"}, {"pads"}), "axis", 0);
  file.node("Pad", {"x", "pads"}, {"wide"});
  file.floats("w", {2, 3, 2}, {1, 2, 10, 20, 100, 200, 3, 4, 30, 40, 300, 400});
  file.node("Conv", {"wide", "w"}, {"y"});
  const Graph graph = load(file);
  const std::vector<float> x{1, -2, 4};
  const auto result = [&](const std::vector<std::int64_t>& more) {
    return graph.run({{"x", Tensor::view(x, {1, 1, 3})},
                      {"more", Tensor::view(more, {static_cast<std::int64_t>(more.size()), 1})}});
  };
  const Outputs outputs = result({1, 1});
  REQUIRE(outputs["y"].shape() == Shape{1, 2, 2});
  CHECK(elements<float>(outputs["y"]) == std::vector<float>{-3, 6, -5, 10});
  CHECK_THROWS_WITH_AS(result({1, 1, 1}), doctest::Contains("Conv"), Error);
}

TEST_CASE("imported: the branch that a condition takes") {
  for (const bool known : {false, true}) {
    for (const bool condition : {true, false}) {
      OnnxFile file;
      file.input("x", {"N"}).output("y").floats("w", {1}, {10}).integers("at", {2}, {1, 0});
      if (known)
        file.model.mutable_graph()->add_initializer()->CopyFrom([&] {
          TensorProto proto;
          proto.set_name("c");
          proto.set_data_type(TensorProto::BOOL);
          proto.add_int32_data(condition);
          return proto;
        }());
      else
        file.input("c", {}, TensorProto::BOOL);
      onnx::NodeProto& node = file.node("If", {"c"}, {"chosen"});
      add_branch(node, "then_branch", "Add", "w", "sum");
      add_branch(node, "else_branch", "Gather", "at", "picked");
      file.node("Relu", {"chosen"}, {"y"});
      const Graph graph = load(file);
      const std::vector<float> x{1, -20, 3};
      NamedTensors inputs{{"x", Tensor::view(x, {3})}};
      if (!known) inputs.emplace_back("c", Tensor::from({condition}, {}));
      CHECK(elements<float>(graph.run(inputs)["y"]) ==
            (condition ? std::vector<float>{11, 0, 13} : std::vector<float>{0, 1}));
    }
  }
}

TEST_CASE("imported: topk whose k follows from data, and steps up to data") {
  OnnxFile file;
  file.input("x", {"N"}).input("limits", {"K", 1}, TensorProto::INT64).output("v");
  file.model.mutable_graph()->add_output()->set_name("r");
  file.integers("zero", {}, {0}).integers("step", {}, {2}).integers("axis", {1}, {0});
  testing::set(file.node("ReduceMin", {"limits", "axis"}, {"k"}), "keepdims", 0);
  file.node("TopK", {"x", "k"}, {"v", "i"});
  file.node("Squeeze", {"k", "axis"}, {"limit"});
  file.node("Range", {"zero", "limit", "step"}, {"r"});
  const Graph graph = load(file);
  const std::vector<float> x{1, 9, 3, 7};
  const std::vector<std::int64_t> limits{4, 3, 8};
  const Outputs outputs =
      graph.run({{"x", Tensor::view(x, {4})}, {"limits", Tensor::view(limits, {3, 1})}});
  CHECK(elements<float>(outputs["v"]) == std::vector<float>{9, 7, 3});
  CHECK(elements<std::int64_t>(outputs["r"]) == std::vector<std::int64_t>{0, 2});
}
