// Nodes of operators that the program, or a plug-in, gives.

#include <doctest/doctest.h>

#include <fmt/format.h>

#include "dyn/dyn.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/unit/import/onnx/onnx_file.hpp"

using namespace dyn;
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
  try {
    Graph::load(path, options);
  } catch (const Error& error) { return error.what(); }
  return "";
}

void check_says(const std::string& error, std::initializer_list<const char*> parts) {
  INFO(error);
  for (const char* part : parts) {
    INFO(part);
    CHECK(error.find(part) != std::string::npos);
  }
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
             {"2 operator(s) are not supported", "own.scale", "own.pairs"});
}

TEST_CASE("nodes that an operator does not take name the node") {
  OnnxFile odd = calls_plugin();
  testing::set_number(*odd.model.mutable_graph()->mutable_node(0), "facto", 3);
  check_says(
      load_error(odd, with_plugin()),
      {"`own::scale` has no attribute `facto`; did you mean `factor`?", "scale 'scale_node'"});
  OnnxFile empty = calls_plugin();
  empty.model.mutable_graph()->mutable_node(0)->clear_input();
  check_says(load_error(empty, with_plugin()),
             {"own::scale takes 1 argument(s), not 0", "scale 'scale_node'"});
  OnnxFile vector = calls_plugin();
  vector.model.mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim()
      ->RemoveLast();
  check_says(load_error(vector, with_plugin()),
             {"own::pairs takes a matrix", "scale.so", "pairs 'pairs_node'"});
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
