// Nodes of operators that the program, or a plug-in, gives.

#include <doctest/doctest.h>

#include <fmt/format.h>

#include "dyn/dyn.hpp"
#include "tests/support/error_text.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/unit/import/onnx/onnx_file.hpp"

using namespace dyn;
using testing::check_says;
using testing::error_text;
using testing::OnnxFile;

namespace {

Options uncached() {
  Options options;
  options.cache_dir = "none";
  return options;
}

/// y = Relu(pairs(scale(x))) with the operators of tests/plugins/scale.c.
OnnxFile calls_plugin() {
  OnnxFile file;
  file.input("x", {"N", 4}).output("y");
  onnx::NodeProto& scale = file.node("scale", {"x"}, {"scaled"});
  scale.set_domain("own");
  scale.set_name("scale_node");
  testing::set_number(scale, "factor", 3);
  onnx::NodeProto& pairs = file.node("pairs", {"scaled"}, {"paired"});
  pairs.set_domain("own");
  pairs.set_name("pairs_node");
  file.node("Relu", {"paired"}, {"y"});
  onnx::OperatorSetIdProto& set = *file.model.add_opset_import();
  set.set_domain("own");
  set.set_version(1);
  return file;
}

Options with_plugin() {
  Options options;
  options.cache_dir = "none";
  options.plugins = {DYN_BINARY_DIR "/tests/plugins/scale.so"};
  return options;
}

std::string load_error(const OnnxFile& file, const Options& options) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.string() + "/model.onnx";
  file.save(path);
  return error_text([&] { Graph::load(path, options); });
}

}  // namespace

TEST_CASE("an operator of a plug-in in an ONNX file runs at two sizes") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.string() + "/model.onnx";
  calls_plugin().save(path);
  const Graph graph = Graph::load(path, with_plugin());
  for (const std::int64_t rows : {1, 4}) {
    Tensor x(DType::f32, {rows, 4});
    float next = -2;
    for (float& each : x.mutable_data<float>()) each = next++;
    const Outputs outputs = graph.run({{"x", x}});
    REQUIRE(outputs["y"].shape() == Shape{rows, 2});
    for (std::size_t i = 0; i < static_cast<std::size_t>(2 * rows); ++i)
      CHECK(outputs["y"].data<float>()[i] == std::max(0.0F, 3 * (4 * static_cast<float>(i) - 3)));
  }
}

TEST_CASE("without the plug-in the operators are refused by name") {
  check_says(load_error(calls_plugin(), uncached()),
             {"2 operator(s) are not supported", "own.scale", "own.pairs: 1 node(s), the first is",
              "pairs_node", "dyn::Options::plugins", "dynrun --plugin FILE"});
}

TEST_CASE("nodes that an operator does not take name the node") {
  OnnxFile odd = calls_plugin();
  testing::set_number(*odd.model.mutable_graph()->mutable_node(0), "facto", 3);
  check_says(
      load_error(odd, with_plugin()),
      {"`own::scale` has no attribute `facto`; did you mean `factor`?", "scale \"scale_node\""});
  OnnxFile empty = calls_plugin();
  empty.model.mutable_graph()->mutable_node(0)->clear_input();
  check_says(load_error(empty, with_plugin()),
             {"own::scale takes 1 argument(s), not 0", "scale \"scale_node\""});
  OnnxFile vector = calls_plugin();
  vector.model.mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim()
      ->RemoveLast();
  check_says(load_error(vector, with_plugin()),
             {"own::pairs takes a matrix", "scale.so", "pairs \"pairs_node\""});
}

TEST_CASE("attributes of every kind reach a kernel, and those of another kind are refused") {
  const auto file = [](bool is_odd) {
    OnnxFile made;
    made.input("x", {2}).output("y");
    onnx::NodeProto& node = made.node("weigh", {"x"}, {"y"});
    node.set_domain("own");
    node.set_name("weigh_node");
    testing::set_number(node, "factor", 0.5);
    testing::set(node, "count", -3);
    testing::set(node, "twice", 1);
    testing::set_word(node, "mode", "sum");
    if (is_odd)
      testing::set_number(node, "list", 7);
    else
      testing::set_list(node, "list", {4, -5});
    return made;
  };
  Options options = uncached();
  options.operators = Operators{{.domain = "own",
                                 .name = "weigh",
                                 .inputs = {"x"},
                                 .attributes = {{"factor", 1.0},
                                                {"count", 1},
                                                {"twice", false},
                                                {"mode", "mean"},
                                                {"list", std::vector<std::int64_t>{}}},
                                 .shape = [](const ShapeContext& node) { return node.inputs(); },
                                 .kernel =
                                     [](const KernelContext& node) {
                                       const NodeAttributes& all = node.attributes();
                                       const std::vector<std::int64_t> list = all.integers("list");
                                       const bool is_right =
                                           all.number("factor") == 0.5 &&
                                           all.integer("count") == -3 && all.boolean("twice") &&
                                           all.word("mode") == "sum" &&
                                           list == std::vector<std::int64_t>{4, -5};
                                       for (float& each : node.outputs()[0].mutable_data<float>())
                                         each = is_right ? 1 : 0;
                                     }}};
  const testing::TemporaryFolder folder;
  const std::string path = folder.string() + "/model.onnx";
  file(false).save(path);
  const Graph graph = Graph::load(path, options);
  CHECK(graph.run({{"x", Tensor(DType::f32, {2})}})["y"].data<float>()[1] == 1);
  check_says(load_error(file(true), options),
             {"its attribute list must be a list of integers", "weigh_node"});
}

TEST_CASE("the program's operator takes precedence, also over one of dyn's") {
  OnnxFile file;
  file.input("x", {"N"}).output("y");
  file.node("Relu", {"x"}, {"y"});
  const testing::TemporaryFolder folder;
  const std::string path = folder.string() + "/model.onnx";
  file.save(path);
  Options options;
  options.cache_dir = "none";
  options.operators =
      Operators{{.domain = "ai.onnx", .name = "Relu", .inputs = {"x"}, .expression = "x * 100.0"}};
  const Tensor x = Tensor::from<float>({-1, 2}, {2});
  CHECK(Graph::load(path, options).run({{"x", x}})["y"].data<float>()[0] == -100);
  CHECK(Graph::load(path, uncached()).run({{"x", x}})["y"].data<float>()[0] == 0);
}
