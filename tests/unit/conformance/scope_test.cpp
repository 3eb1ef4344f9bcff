// What is out of scope, and that nothing else is.

#include <doctest/doctest.h>

#include "tests/conformance/scope.hpp"

using namespace dyn;
using conformance::out_of_scope;

namespace {

using Types = onnx::TensorProto;

onnx::TypeProto& add_input(onnx::GraphProto& graph, const std::string& name) {
  onnx::ValueInfoProto& input = *graph.add_input();
  input.set_name(name);
  return *input.mutable_type();
}

/// y = op(x), in f32.
onnx::ModelProto model_of(const std::string& op, const std::string& domain = "",
                          int data_type = Types::FLOAT) {
  onnx::ModelProto model;
  add_input(*model.mutable_graph(), "x").mutable_tensor_type()->set_elem_type(data_type);
  onnx::NodeProto& node = *model.mutable_graph()->add_node();
  node.set_op_type(op);
  node.set_domain(domain);
  node.add_input("x");
  return model;
}

std::string reason_of(const onnx::ModelProto& model) {
  return out_of_scope(model, {}).value_or("");
}

}  // namespace

TEST_CASE("dtypes that are out of scope, and all others") {
  for (const char* op : {"StringNormalizer", "StringConcat", "StringSplit", "RegexFullMatch"})
    CHECK(reason_of(model_of(op, "", Types::STRING)) == "strings");
  for (const int type : {Types::FLOAT, Types::DOUBLE, Types::FLOAT16, Types::BFLOAT16, Types::INT8,
                         Types::INT16, Types::INT32, Types::INT64, Types::UINT8, Types::UINT16,
                         Types::UINT32, Types::UINT64, Types::STRING, Types::BOOL, Types::COMPLEX64,
                         Types::COMPLEX128, Types::FLOAT8E4M3FN, Types::INT4}) {
    CHECK(reason_of(model_of("Abs", "", type)).empty());
  }
}

TEST_CASE("types and operators that are out of scope") {
  onnx::ModelProto types = model_of("Abs");
  onnx::TypeProto& type = add_input(*types.mutable_graph(), "y");
  type.mutable_sequence_type();
  CHECK(reason_of(types) == "sequences");
  type.mutable_optional_type();
  CHECK(reason_of(types) == "optional types");
  type.mutable_map_type();
  CHECK(reason_of(types) == "maps");
  type.mutable_sparse_tensor_type();
  CHECK(reason_of(types).empty());
  CHECK(reason_of(model_of("RandomUniformLike")) == "random generators");
  CHECK(reason_of(model_of("ImageDecoder")) == "image decoding");
  CHECK(reason_of(model_of("Adam", "ai.onnx.preview.training")) == "training operators");
  CHECK(reason_of(model_of("Binarizer", "ai.onnx.ml")).empty());
  CHECK(reason_of(model_of("Binarizer", "local")).empty());
  CHECK(reason_of(model_of("SoftmaxCrossEntropyLoss")).empty());
}

TEST_CASE("sequences and optional values are in scope where the model's ports are tensors") {
  CHECK(reason_of(model_of("SplitToSequence")).empty());
  CHECK(reason_of(model_of("OptionalHasElement")).empty());
  onnx::ModelProto loop = model_of("Loop");
  onnx::AttributeProto& body = *loop.mutable_graph()->mutable_node(0)->add_attribute();
  body.set_name("body");
  *body.mutable_g() = model_of("SequenceInsert").graph();
  add_input(*body.mutable_g(), "list").mutable_sequence_type();
  CHECK(reason_of(loop).empty());
  *body.mutable_g() = model_of("StringConcat").graph();
  CHECK(reason_of(loop) == "strings");
}

TEST_CASE("bodies of control flow and functions count") {
  onnx::ModelProto loop = model_of("Loop");
  onnx::AttributeProto& body = *loop.mutable_graph()->mutable_node(0)->add_attribute();
  body.set_name("body");
  *body.mutable_g() = model_of("Bernoulli").graph();
  CHECK(reason_of(loop) == "random generators");
  onnx::ModelProto calling = model_of("Local", "local");
  calling.add_functions()->add_node()->set_op_type("RandomNormal");
  CHECK(reason_of(calling) == "random generators");
}

TEST_CASE("a Dropout is a random generator where it trains, and drops something") {
  onnx::ModelProto model = model_of("Dropout");
  CHECK(reason_of(model).empty());
  onnx::NodeProto& node = *model.mutable_graph()->mutable_node(0);
  node.add_input("ratio");
  node.add_input("trains");
  CHECK(reason_of(model) == "random generators");
  onnx::TensorProto ratio, trains;
  ratio.set_data_type(Types::FLOAT);
  ratio.add_float_data(0);
  trains.set_data_type(Types::BOOL);
  trains.add_int32_data(1);
  CHECK_FALSE(out_of_scope(model, {{"ratio", ratio}, {"trains", trains}}).has_value());
  ratio.set_float_data(0, 0.5F);
  CHECK(out_of_scope(model, {{"ratio", ratio}, {"trains", trains}}).has_value());
  trains.set_int32_data(0, 0);
  CHECK_FALSE(out_of_scope(model, {{"ratio", ratio}, {"trains", trains}}).has_value());
}
