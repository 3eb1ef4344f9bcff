#pragma once
// Models that tests make in C.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "dyn/tensor.hpp"
#include "tests/unit/c/handles.hpp"

namespace dyn::testing {

/// A tensor of C over the memory of one of C++.
inline CTensor shared(const Tensor& tensor) {
  CTensor view;
  succeeds(dyn_tensor_view_const(static_cast<dyn_dtype>(tensor.dtype()), tensor.raw(),
                                 tensor.shape().size(), tensor.shape().data(), Into(view)));
  return view;
}

/// Of one shape, with the same bits.
inline void check_equal(const dyn_tensor* tensor, const Tensor& expected) {
  size_t rank = 0, bytes = 0;
  const int64_t* sizes = nullptr;
  const void* data = nullptr;
  succeeds(dyn_tensor_shape(tensor, &rank, &sizes));
  CHECK(Shape(sizes, sizes + rank) == expected.shape());
  succeeds(dyn_tensor_bytes(tensor, &bytes));
  REQUIRE(bytes == expected.bytes());
  succeeds(dyn_tensor_data(tensor, static_cast<dyn_dtype>(expected.dtype()), &data));
  CHECK(std::memcmp(data, expected.raw(), bytes) == 0);
}

/// Attributes of nodes.
namespace with {

inline dyn_attribute integer(const char* name, int64_t value) {
  dyn_attribute attribute{};
  attribute.name = name;
  attribute.kind = DYN_ATTRIBUTE_INTEGER;
  attribute.integer = value;
  return attribute;
}
inline dyn_attribute number(const char* name, double value) {
  dyn_attribute attribute{};
  attribute.name = name;
  attribute.kind = DYN_ATTRIBUTE_NUMBER;
  attribute.number = value;
  return attribute;
}
inline dyn_attribute boolean(const char* name, bool value) {
  dyn_attribute attribute{};
  attribute.name = name;
  attribute.kind = DYN_ATTRIBUTE_BOOLEAN;
  attribute.boolean = value;
  return attribute;
}
/// A word, a size or sizes.
inline dyn_attribute text(const char* name, dyn_attribute_kind kind, const char* value) {
  dyn_attribute attribute{};
  attribute.name = name;
  attribute.kind = kind;
  attribute.text = value;
  return attribute;
}
inline dyn_attribute sizes(const char* name, const char* value) {
  return text(name, DYN_ATTRIBUTE_SIZES, value);
}
inline dyn_attribute integers(const char* name, const std::vector<int64_t>& values) {
  dyn_attribute attribute{};
  attribute.name = name;
  attribute.kind = DYN_ATTRIBUTE_INTEGERS;
  attribute.count = values.size();
  attribute.integers = values.data();
  return attribute;
}

}  // namespace with

/// The one text of a handle, which may hold 0 bytes.
inline std::string only_text(const dyn_texts* texts) {
  size_t count = 0, length = 0;
  const char* bytes = nullptr;
  succeeds(dyn_texts_count(texts, &count));
  CHECK(count == 1);
  succeeds(dyn_texts_get(texts, 0, &bytes, &length));
  return {bytes, length};
}

/// A builder whose functions all succeed.
class CModel {
 public:
  explicit CModel(const char* name = "net", const dyn_options* options = nullptr) {
    succeeds(dyn_builder_create(name, options, Into(builder_)));
  }

  dyn_builder* get() const { return builder_.get(); }
  void release() { builder_.reset(); }
  void dim(const char* name, int64_t low, int64_t high) {
    succeeds(dyn_builder_dim(get(), name, low, high));
  }
  dyn_value* input(const char* name, const char* shape, dyn_dtype dtype = DYN_F32) {
    dyn_value* value = nullptr;
    succeeds(dyn_builder_input(get(), name, dtype, shape, &value));
    return value;
  }
  dyn_value* weight(const char* name, const Tensor& elements) {
    dyn_value* value = nullptr;
    succeeds(dyn_builder_weight(get(), name, shared(elements).get(), &value));
    return value;
  }
  dyn_value* number(double from, dyn_dtype dtype = DYN_NO_DTYPE) {
    dyn_value* value = nullptr;
    succeeds(dyn_builder_number(get(), dtype, from, &value));
    return value;
  }
  dyn_value* op(const char* name, const std::vector<dyn_value*>& inputs,
                const std::vector<dyn_attribute>& attributes = {}, const char* result = nullptr) {
    dyn_value* value = nullptr;
    succeeds(dyn_builder_op(get(), name, inputs.size(), inputs.data(), attributes.size(),
                            attributes.data(), result, &value));
    return value;
  }
  std::vector<dyn_value*> ops(const char* name, const std::vector<dyn_value*>& inputs,
                              const std::vector<dyn_attribute>& attributes, std::size_t count) {
    std::vector<dyn_value*> values(count);
    succeeds(dyn_builder_ops(get(), name, inputs.size(), inputs.data(), attributes.size(),
                             attributes.data(), count, values.data()));
    return values;
  }
  void output(const char* name, dyn_value* value) {
    succeeds(dyn_builder_output(get(), name, value));
  }
  std::string to_text() {
    CTexts text;
    succeeds(dyn_builder_to_text(get(), Into(text)));
    return only_text(text.get());
  }
  std::string weights() {
    CTexts file;
    succeeds(dyn_builder_weights(get(), Into(file)));
    return only_text(file.get());
  }
  CGraph load(const dyn_options* options, const char* weight_directory = nullptr) {
    CGraph graph;
    succeeds(dyn_builder_load(get(), options, weight_directory, Into(graph)));
    return graph;
  }

 private:
  CBuilder builder_;
};

}  // namespace dyn::testing
