// The description of an ONNX file's graph, beside the file's own messages.

#include <doctest/doctest.h>

#include <limits>

#include "dyn/dyn.hpp"
#include "tests/unit/import/onnx/onnx_file.hpp"
#include "tests/unit/import/onnx/values.hpp"

using namespace dyn;
using testing::OnnxFile;
using Kind = DimInfo::Kind;

namespace {

constexpr std::int64_t unbounded = std::numeric_limits<std::int64_t>::max();

Graph from_bytes(const OnnxFile& file) {
  return Graph::from_memory(file.model.SerializeAsString(), {}, testing::uncached());
}

void check_dim(const DimInfo& dim, Kind kind, const std::string& text, std::int64_t low,
               std::int64_t high, std::int64_t divisor) {
  CAPTURE(text);
  CHECK(dim.kind == kind);
  CHECK(dim.text == text);
  CHECK(dim.low == low);
  CHECK(dim.high == high);
  CHECK(dim.divisor == divisor);
  CHECK_FALSE(dim.hint.has_value());
  CHECK_FALSE(dim.computed);
}

}  // namespace

TEST_CASE("metadata of an ONNX model is what its messages hold") {
  OnnxFile file(17);
  onnx::ModelProto& model = file.model;
  file.input("x", {"N", 4}).output("y");
  file.node("Relu", {"x"}, {"y"});
  model.set_producer_name("pytorch");
  model.set_producer_version("2.9.1");
  model.set_domain("org.example");
  model.set_model_version(7);
  model.set_doc_string("Says\nwhat it is for.");
  model.mutable_graph()->set_name("main graph/1");
  model.mutable_graph()->set_doc_string("One operator");
  auto& other = *model.add_opset_import();
  other.set_domain("ai.onnx.ml");
  other.set_version(3);
  for (const char* key : {"author", "license", ""}) {
    auto& entry = *model.add_metadata_props();
    entry.set_key(key);
    entry.set_value(std::string(key) + "\xff value");
  }
  const ModelMetadata metadata = from_bytes(file).metadata();
  CHECK(metadata.format == "onnx");
  CHECK(metadata.source == "<memory>");
  CHECK(metadata.graph == model.graph().name());
  CHECK(metadata.producer == model.producer_name());
  CHECK(metadata.producer_version == model.producer_version());
  CHECK(metadata.domain == model.domain());
  CHECK(metadata.version == model.model_version());
  CHECK(metadata.ir_version == model.ir_version());
  CHECK(metadata.description == model.doc_string());
  CHECK(metadata.graph_description == model.graph().doc_string());
  CHECK(metadata.opsets == std::map<std::string, std::int64_t>{{"", 17}, {"ai.onnx.ml", 3}});
  REQUIRE(metadata.properties.size() == 3);
  for (const auto& entry : model.metadata_props())
    CHECK(metadata.properties.at(entry.key()) == entry.value());
}

TEST_CASE("a model that says nothing about itself has empty metadata") {
  OnnxFile file;
  file.model.clear_ir_version();
  file.input("x", {"N"}).output("y");
  file.node("Relu", {"x"}, {"y"});
  const ModelMetadata metadata = from_bytes(file).metadata();
  CHECK(metadata.producer.empty());
  CHECK(metadata.version == 0);
  CHECK(metadata.ir_version == 0);
  CHECK(metadata.properties.empty());
  const ModelMetadata text =
      Graph::from_text(
          "dyn 1\ngraph twice(x: f32[2]) -> (y: f32[2]) {\n  y = x + x\n  return y\n}\n",
          testing::uncached())
          .metadata();
  CHECK(text.format == "dyn");
  CHECK(text.graph == "twice");
  CHECK(text.source == "<text>");
  CHECK(text.opsets.empty());
}

TEST_CASE("dims of ports are those of the file, and what follows from them") {
  OnnxFile file;
  file.input("x", {"batch", 3, "length"}).output("y");
  testing::set(file.node("Concat", {"x", "x"}, {"y"}), "axis", 2);
  const Graph graph = from_bytes(file);
  const std::vector<PortInfo> inputs = graph.inputs(), outputs = graph.outputs();
  REQUIRE(inputs.size() == 1);
  REQUIRE(inputs[0].dims.size() == 3);
  const auto& declared = file.model.graph().input(0).type().tensor_type().shape();
  check_dim(inputs[0].dims[0], Kind::named, declared.dim(0).dim_param(), 0, unbounded, 1);
  check_dim(inputs[0].dims[1], Kind::constant, "3", declared.dim(1).dim_value(), 3, 3);
  check_dim(inputs[0].dims[2], Kind::named, declared.dim(2).dim_param(), 0, unbounded, 1);
  REQUIRE(outputs[0].dims.size() == 3);
  check_dim(outputs[0].dims[2], Kind::expression, "length * 2", 0, unbounded, 2);
  CHECK(outputs[0].shape == "[batch, 3, length * 2]");
  const std::vector<DimInfo> dims = graph.dims();
  REQUIRE(dims.size() == 2);
  CHECK(dims[0].text == "batch");
  CHECK(dims[1].text == "length");
  CHECK(graph.states().empty());
}

TEST_CASE("a model whose structure is not known describes what its file declares") {
  OnnxFile file;
  file.input("x", {"A", 2}).input("axes", {"K"}, onnx::TensorProto::INT64).output("y");
  file.node("ReduceSum", {"x", "axes"}, {"y"});
  file.model.set_producer_name("a tool");
  auto& shape =
      *file.model.mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type();
  shape.set_elem_type(onnx::TensorProto::FLOAT);
  shape.mutable_shape()->add_dim();
  shape.mutable_shape()->add_dim()->set_dim_param("R");
  const Graph graph = from_bytes(file);
  CHECK(graph.metadata().producer == "a tool");
  REQUIRE(graph.inputs()[0].dims.size() == 2);
  check_dim(graph.inputs()[0].dims[0], Kind::named, "A", 0, unbounded, 1);
  check_dim(graph.inputs()[0].dims[1], Kind::constant, "2", 2, 2, 2);
  REQUIRE(graph.outputs()[0].dims.size() == 2);
  check_dim(graph.outputs()[0].dims[0], Kind::open, "_", 0, unbounded, 1);
  check_dim(graph.outputs()[0].dims[1], Kind::named, "R", 0, unbounded, 1);
  REQUIRE(graph.dims().size() == 2);
  CHECK(graph.dims()[0].text == "A");
  CHECK(graph.dims()[1].text == "K");
  CHECK_THROWS_WITH_AS(graph.kernels(), doctest::Contains("axes decide the structure"), Error);
}
