// Bytes and messages of ONNX: what protobuf's encoding allows, and what is refused.

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "src/import/onnx/messages/model_stream.hpp"
#include "tests/unit/import/onnx/onnx_file.hpp"

namespace dyn::testing {
namespace {

using onnx::ModelProto;
using onnx::TensorProto;

enum WireType : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, group = 3, fixed32 = 5 };

std::string number(std::uint64_t value) {
  std::string text;
  for (; value >= 128; value /= 128) text += static_cast<char>(value % 128 + 128);
  return text + static_cast<char>(value);
}

std::string tag(int field, WireType type) {
  return number(static_cast<std::uint64_t>(field) * 8 + type);
}

std::string field(int number_of_field, std::string_view content) {
  return tag(number_of_field, bytes) + number(content.size()) + std::string(content);
}

template <class M>
M parsed(const std::string& text) {
  M message;
  REQUIRE(message.ParseFromString(text));
  return message;
}

/// The model, as it is read from a file.
ModelProto streamed(const std::string& text) {
  return onnx::read_model(text.size(), [&](std::uint64_t offset, std::span<char> into) {
    REQUIRE(offset + into.size() <= text.size());
    std::memcpy(into.data(), text.data() + offset, into.size());
  });
}

bool is_streamed(const std::string& text) {
  try {
    streamed(text);
    return true;
  } catch (const onnx::NotAModel& error) {
    CHECK(error.offset() <= text.size());
    return false;
  }
}

/// A model with every kind of field.
OnnxFile some_model() {
  OnnxFile file;
  file.input("x", {"N", 3}).output("y").floats("w", {2}, {1, -2}).integers("i", {2}, {7, -8});
  onnx::NodeProto& node = file.node("If", {"x", "w"}, {"y"});
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name("then_branch");
  attribute.set_type(onnx::AttributeProto::GRAPH);
  attribute.mutable_g()->add_node()->set_op_type("Relu");
  onnx::AttributeProto& list = *node.add_attribute();
  list.set_f(0.5F);
  list.add_floats(1.5F), list.add_ints(-3), list.add_strings(std::string("\0s", 2));
  TensorProto& tensor = *list.mutable_t();
  tensor.add_double_data(-0.25), tensor.add_int32_data(-1), tensor.add_uint64_data(~0ULL);
  file.function("f", {"a"}, {"b"});
  return file;
}

TEST_CASE("messages: what is written reads back, from memory and from a file") {
  const std::string text = some_model().model.SerializeAsString();
  const ModelProto model = parsed<ModelProto>(text);
  CHECK(model.SerializeAsString() == text);
  CHECK(streamed(text).SerializeAsString() == text);
  const TensorProto& tensor = model.graph().node(0).attribute(1).t();
  CHECK(tensor.int32_data(0) == -1);
  CHECK(tensor.uint64_data(0) == ~0ULL);
  CHECK(tensor.double_data(0) == -0.25);
  CHECK(model.graph().node(0).attribute(1).strings(0) == std::string("\0s", 2));
  CHECK(model.graph().input(0).type().tensor_type().shape().dim(0).dim_param() == "N");
}

TEST_CASE("messages: a tensor that is larger than a block of the file") {
  OnnxFile file;
  std::vector<float> elements(700'000);
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<float>(i);
  file.integers("before", {1}, {1}).floats("w", {700'000}, elements).output("w");
  const std::string text = file.model.SerializeAsString();
  CHECK(streamed(text).SerializeAsString() == text);
}

TEST_CASE("messages: numbers come one by one or packed") {
  const std::string packed = field(1, number(3) + number(~0ULL));
  const std::string single = tag(1, varint) + number(300);
  const TensorProto tensor = parsed<TensorProto>(packed + single);
  REQUIRE(tensor.dims_size() == 3);
  CHECK(tensor.dims(0) == 3);
  CHECK(tensor.dims(1) == -1);
  CHECK(tensor.dims(2) == 300);
  const std::string half = {0, 0, 0, 0x3f};
  const auto floats = parsed<onnx::AttributeProto>(field(7, half + half) + tag(7, fixed32) + half);
  REQUIRE(floats.floats_size() == 3);
  CHECK(floats.floats(2) == 0.5F);
  // An i32 has its lowest bits: writers take 5 bytes or 10 for a negative one.
  CHECK(parsed<TensorProto>(field(5, number(0xffffffffU) + number(~0ULL))).int32_data(0) == -1);
}

TEST_CASE("messages: fields of other numbers, wire types and enumerations are passed over") {
  const std::string known = tag(2, varint) + number(TensorProto::INT8);
  for (const std::string& other :
       {tag(99, varint) + number(1), tag(99, fixed32) + "1234", tag(99, fixed64) + "12345678",
        field(99, "text"), tag(8, varint) + number(5), field(2, "text"),
        tag(9, fixed32) + "1234"}) {
    const TensorProto tensor = parsed<TensorProto>(other + known + other);
    CHECK(tensor.data_type() == TensorProto::INT8);
    CHECK_FALSE(tensor.has_name());
    CHECK_FALSE(tensor.has_raw_data());
  }
  CHECK_FALSE(parsed<TensorProto>(tag(14, varint) + number(2)).has_data_location());
  CHECK(parsed<TensorProto>(tag(14, varint) + number(1)).data_location() == TensorProto::EXTERNAL);
}

TEST_CASE("messages: a message that comes twice is one, of a oneof the last counts") {
  const auto info = parsed<onnx::ValueInfoProto>(field(2, field(1, tag(1, varint) + number(7))) +
                                                 field(2, field(1, field(2, field(1, "")))));
  CHECK(info.type().tensor_type().elem_type() == 7);
  CHECK(info.type().tensor_type().shape().dim_size() == 1);
  const auto dim = parsed<onnx::TensorShapeProto::Dimension>(tag(1, varint) + number(7) +
                                                             field(2, "N") + field(3, "batch"));
  CHECK_FALSE(dim.has_dim_value());
  CHECK(dim.dim_param() == "N");
  const auto type = parsed<onnx::TypeProto>(field(1, "") + field(4, "") + field(6, "note"));
  CHECK_FALSE(type.has_tensor_type());
  CHECK(type.has_sequence_type());
}

TEST_CASE("messages: a model that is cut anywhere is one of fewer fields, or refused") {
  const std::string text = some_model().model.SerializeAsString();
  int whole = 0;
  for (std::size_t length = 0; length < text.size(); ++length) {
    CAPTURE(length);
    const std::string cut = text.substr(0, length);
    ModelProto model;
    const bool is_message = model.ParseFromString(cut);
    CHECK(is_streamed(cut) == is_message);
    whole += static_cast<int>(is_message);
  }
  CHECK(whole < 10);  // where a field of the model ends
}

TEST_CASE("messages: what is no message is refused") {
  const auto nested = [](int depth) {
    // Graphs in attributes of nodes: three messages a level.
    std::string text;
    for (int i = 0; i < depth; ++i) text = field(1, field(5, field(6, text)));
    return field(7, text);
  };
  ModelProto model;
  CHECK(model.ParseFromString(nested(32)));
  CHECK(is_streamed(nested(32)));
  CHECK_FALSE(model.ParseFromString(nested(33)));
  CHECK_FALSE(is_streamed(nested(33)));
  const std::string graph = tag(7, bytes);
  for (const std::string& broken :
       {graph, graph + number(5), graph + number(1ULL << 32U) + "1234",
        field(7, tag(1, bytes) + number(1ULL << 32U)), graph + number(~0ULL), tag(0, varint) + "1",
        field(7, tag(0, varint) + "1"), tag(99, group) + tag(99, WireType{4}), tag(1, varint),
        tag(1, varint) + std::string(11, '\xff'), tag(99, WireType{7}), std::string(20, '\xff'),
        field(7, field(5, field(4, "123"))), field(7, field(5, field(7, "\xff")))}) {
    CAPTURE(broken);
    CHECK_FALSE(model.ParseFromString(broken));
    CHECK_FALSE(is_streamed(broken));
  }
}

}  // namespace
}  // namespace dyn::testing
