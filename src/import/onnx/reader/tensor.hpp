#pragma once
// Constant tensors of a model.

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "dyn/dtype.hpp"
#include "graph/ir/codes.hpp"
#include "graph/ir/scalars.hpp"
#include "src/import/onnx/messages/messages.hpp"
#include "src/import/onnx/reader/constant_tensor.hpp"
#include "src/import/onnx/reader/model_files.hpp"

namespace dyn::onnx {

/// The dtype with this number in TensorProto. Throws Error(unsupported) where dyn has none, naming
/// it.
DType dtype_of(std::int32_t data_type);

/// The dtype by its name in TensorProto.
DType dtype_named(const std::string& name);

/// Reads the elements from the message, or from another file. Elements in the message are gone from
/// it afterwards, so that no two copies exist. Throws Error(model), with the tensor's name, where
/// dims are negative or too large, bytes do not fit them, or as ModelFiles does.
Tensor take_tensor(TensorProto& proto, ModelFiles& files);

/// The dtype, dims and place of a tensor's elements in another file; tensors of one place are
/// equal. Nothing where the message has the elements.
std::optional<std::string> external_place(const TensorProto& proto);

/// Calls visit(index, element) for each element, a bool as i8, a float's code as the number. False,
/// and no call, for 16-bit floats.
template <class Visit>
bool for_each_element(const Tensor& tensor, const Visit& visit) {
  if (is_code(tensor.dtype) && graph::is_narrow_float(tensor.dtype)) {
    for (std::size_t i = 0; i < tensor.bytes.size(); ++i)
      visit(i, graph::float_of_code(tensor.dtype, static_cast<unsigned char>(tensor.bytes[i])));
    return true;
  }
  return graph::with_element_type(tensor.dtype, [&](auto zero) {
    using T = std::conditional_t<std::is_same_v<decltype(zero), bool>, std::int8_t, decltype(zero)>;
    const auto count = static_cast<std::size_t>(tensor.elements());
    for (std::size_t i = 0; i < count; ++i) {
      T element;
      std::memcpy(&element, tensor.bytes.data() + i * sizeof element, sizeof element);
      visit(i, element);
    }
  });
}

/// Elements as numbers; integers exactly below 2^53.
std::vector<double> numbers_of(const Tensor& tensor);
/// The elements of an integer or boolean tensor.
std::vector<std::int64_t> integers_of(const Tensor& tensor);

}  // namespace dyn::onnx
