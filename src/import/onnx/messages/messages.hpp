#pragma once
// The messages of an ONNX file, with the members that protobuf's compiler would give them. They are
// dyn's own, decoded by the headers of protozero, so that libdyn neither needs a protobuf library
// nor meets one that its host has.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "src/import/onnx/messages/fields.hpp"
#include "src/import/onnx/messages/schema.def"

namespace dyn::onnx {

class WireReader;
class WireWriter;

template <class Derived>
class Message {
 public:
  /// Replaces it by the message that these bytes are. False, and some fields of them, where they
  /// are none, or messages are nested deeper than 100.
  bool ParseFromString(std::string_view bytes);
  std::string SerializeAsString() const;
  std::size_t ByteSizeLong() const { return SerializeAsString().size(); }
  void Clear() { self() = Derived(); }
  void CopyFrom(const Derived& other) { self() = other; }
  void Swap(Derived* other) { std::swap(self(), *other); }
  static const Derived& default_instance() {
    static const Derived none;
    return none;
  }

 protected:
  /// A class with a `oneof` hides it: clears the others of the field's `oneof`.
  void choose(int) {}
  static const std::string& no_text() {
    static const std::string none;
    return none;
  }

 private:
  Derived& self() { return static_cast<Derived&>(*this); }
};

#define DYN_ONNX_FIELDS(FIELDS)         \
 public:                                \
  bool read_field(WireReader& reader);  \
  void write(WireWriter& writer) const; \
  FIELDS(DYN_ONNX_ACCESS)

class AttributeProto;
class GraphProto;
class TypeProto;

class StringStringEntryProto : public Message<StringStringEntryProto> {
  DYN_ONNX_FIELDS(DYN_ONNX_STRING_STRING_ENTRY)
};

class OperatorSetIdProto : public Message<OperatorSetIdProto> {
  DYN_ONNX_FIELDS(DYN_ONNX_OPERATOR_SET_ID)
};

class TensorProto : public Message<TensorProto> {
 public:
#define DYN_ONNX_DATA_TYPE(name, number) name = number,
  enum DataType : std::int32_t { DYN_ONNX_DATA_TYPES(DYN_ONNX_DATA_TYPE) };
#undef DYN_ONNX_DATA_TYPE
  enum DataLocation : std::int32_t { DEFAULT = 0, EXTERNAL = 1 };
  friend bool is_known(DataLocation value) { return value == DEFAULT || value == EXTERNAL; }
  static bool DataType_IsValid(std::int32_t value);
  static const std::string& DataType_Name(DataType value);
  static bool DataType_Parse(const std::string& name, DataType* value);

  DYN_ONNX_FIELDS(DYN_ONNX_TENSOR)
};

class SparseTensorProto : public Message<SparseTensorProto> {
  DYN_ONNX_FIELDS(DYN_ONNX_SPARSE_TENSOR)
};

class TensorShapeProto : public Message<TensorShapeProto> {
 public:
  class Dimension : public Message<Dimension> {
    DYN_ONNX_FIELDS(DYN_ONNX_DIMENSION)
    void choose(int number) {
      if (number != 1 && number != 3) clear_dim_value();
      if (number != 2 && number != 3) clear_dim_param();
    }
  };

  DYN_ONNX_FIELDS(DYN_ONNX_TENSOR_SHAPE)
};

class TypeProto : public Message<TypeProto> {
 public:
  class Tensor : public Message<Tensor> {
    DYN_ONNX_FIELDS(DYN_ONNX_TENSOR_TYPE)
  };
  class Sequence : public Message<Sequence> {
    DYN_ONNX_FIELDS(DYN_ONNX_ELEMENTS_TYPE)
  };
  class Map : public Message<Map> {
    DYN_ONNX_FIELDS(DYN_ONNX_MAP_TYPE)
  };
  class Opaque : public Message<Opaque> {
    DYN_ONNX_FIELDS(DYN_ONNX_OPAQUE_TYPE)
  };

  DYN_ONNX_FIELDS(DYN_ONNX_TYPE)
  void choose(int number) {
    constexpr int denotation = 6;
    if (number == denotation) return;
    if (number != 1) clear_tensor_type();
    if (number != 4) clear_sequence_type();
    if (number != 5) clear_map_type();
    if (number != 7) clear_opaque_type();
    if (number != 8) clear_sparse_tensor_type();
    if (number != 9) clear_optional_type();
  }
};

class ValueInfoProto : public Message<ValueInfoProto> {
  DYN_ONNX_FIELDS(DYN_ONNX_VALUE_INFO)
};

class NodeProto : public Message<NodeProto> {
  DYN_ONNX_FIELDS(DYN_ONNX_NODE)
};

class GraphProto : public Message<GraphProto> {
  DYN_ONNX_FIELDS(DYN_ONNX_GRAPH)
};

class AttributeProto : public Message<AttributeProto> {
 public:
  enum AttributeType : std::int32_t {
    UNDEFINED = 0,
    FLOAT = 1,
    INT = 2,
    STRING = 3,
    TENSOR = 4,
    GRAPH = 5,
    FLOATS = 6,
    INTS = 7,
    STRINGS = 8,
    TENSORS = 9,
    GRAPHS = 10,
    SPARSE_TENSOR = 11,
    SPARSE_TENSORS = 12,
    TYPE_PROTO = 13,
    TYPE_PROTOS = 14
  };
  friend bool is_known(AttributeType value) { return value >= UNDEFINED && value <= TYPE_PROTOS; }

  DYN_ONNX_FIELDS(DYN_ONNX_ATTRIBUTE)
};

class FunctionProto : public Message<FunctionProto> {
  DYN_ONNX_FIELDS(DYN_ONNX_FUNCTION)
};

class ModelProto : public Message<ModelProto> {
  DYN_ONNX_FIELDS(DYN_ONNX_MODEL)
};

#undef DYN_ONNX_FIELDS

}  // namespace dyn::onnx
