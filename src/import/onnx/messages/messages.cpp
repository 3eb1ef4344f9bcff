#include "src/import/onnx/messages/messages.hpp"

#include <algorithm>
#include <array>

#include "src/import/onnx/messages/wire.hpp"

namespace dyn::onnx {
namespace {

struct DataTypeName {
  TensorProto::DataType value;
  std::string name;
};

const auto& data_type_names() {
#define DYN_ONNX_DATA_TYPE(name, number) DataTypeName{TensorProto::name, #name},
  static const std::array names{DYN_ONNX_DATA_TYPES(DYN_ONNX_DATA_TYPE)};
#undef DYN_ONNX_DATA_TYPE
  return names;
}

}  // namespace

bool TensorProto::DataType_IsValid(std::int32_t value) {
  return std::ranges::any_of(data_type_names(),
                             [&](const DataTypeName& each) { return each.value == value; });
}

const std::string& TensorProto::DataType_Name(DataType value) {
  const auto found = std::ranges::find(data_type_names(), value, &DataTypeName::value);
  return found == data_type_names().end() ? no_text() : found->name;
}

bool TensorProto::DataType_Parse(const std::string& name, DataType* value) {
  const auto found = std::ranges::find(data_type_names(), name, &DataTypeName::name);
  if (found == data_type_names().end()) return false;
  *value = found->value;
  return true;
}

template <class Derived>
bool Message<Derived>::ParseFromString(std::string_view bytes) {
  Clear();
  try {
    WireReader(bytes, 1).read_message(self());
  } catch (const WireError&) { return false; }
  return true;
}

template <class Derived>
std::string Message<Derived>::SerializeAsString() const {
  std::string bytes;
  WireWriter writer(bytes);
  static_cast<const Derived&>(*this).write(writer);
  return bytes;
}

#define DYN_ONNX_READ(kind, type, name, number) \
  case number:                                  \
    if (reader.read(name##_)) choose(number);   \
    return true;
#define DYN_ONNX_WRITE(kind, type, name, number) writer.write(number, name##_);
#define DYN_ONNX_MESSAGE(Type, FIELDS)                                  \
  bool Type::read_field(WireReader& reader) {                           \
    switch (reader.number()) {                                          \
      FIELDS(DYN_ONNX_READ)                                             \
      default: reader.skip(); return false;                             \
    }                                                                   \
  }                                                                     \
  void Type::write(WireWriter& writer) const { FIELDS(DYN_ONNX_WRITE) } \
  template class Message<Type>;

DYN_ONNX_MESSAGE(StringStringEntryProto, DYN_ONNX_STRING_STRING_ENTRY)
DYN_ONNX_MESSAGE(OperatorSetIdProto, DYN_ONNX_OPERATOR_SET_ID)
DYN_ONNX_MESSAGE(TensorProto, DYN_ONNX_TENSOR)
DYN_ONNX_MESSAGE(SparseTensorProto, DYN_ONNX_SPARSE_TENSOR)
DYN_ONNX_MESSAGE(TensorShapeProto::Dimension, DYN_ONNX_DIMENSION)
DYN_ONNX_MESSAGE(TensorShapeProto, DYN_ONNX_TENSOR_SHAPE)
DYN_ONNX_MESSAGE(TypeProto::Tensor, DYN_ONNX_TENSOR_TYPE)
DYN_ONNX_MESSAGE(TypeProto::Sequence, DYN_ONNX_ELEMENTS_TYPE)
DYN_ONNX_MESSAGE(TypeProto::Map, DYN_ONNX_MAP_TYPE)
DYN_ONNX_MESSAGE(TypeProto::Opaque, DYN_ONNX_OPAQUE_TYPE)
DYN_ONNX_MESSAGE(TypeProto, DYN_ONNX_TYPE)
DYN_ONNX_MESSAGE(ValueInfoProto, DYN_ONNX_VALUE_INFO)
DYN_ONNX_MESSAGE(NodeProto, DYN_ONNX_NODE)
DYN_ONNX_MESSAGE(GraphProto, DYN_ONNX_GRAPH)
DYN_ONNX_MESSAGE(AttributeProto, DYN_ONNX_ATTRIBUTE)
DYN_ONNX_MESSAGE(FunctionProto, DYN_ONNX_FUNCTION)
DYN_ONNX_MESSAGE(ModelProto, DYN_ONNX_MODEL)

}  // namespace dyn::onnx
