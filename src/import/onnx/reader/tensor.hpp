#pragma once
// Constant tensors of a model.

#include <cstdint>
#include <string>
#include <vector>

#include "dyn/dtype.hpp"
#include "onnx.pb.h"

namespace dyn::onnx {

/// A dense tensor, its elements in row-major order as the machine stores them.
struct Tensor {
  DType dtype = DType::f32;
  std::vector<std::int64_t> dims;
  std::string bytes;

  std::int64_t elements() const;
};

/// The dtype with this number in TensorProto. Throws Error(unsupported) where dyn has none, naming
/// it.
DType dtype_of(std::int32_t data_type);

/// The dtype by its name in TensorProto.
DType dtype_named(const std::string& name);

/// Reads the elements from the message, or from a file below `folder`. Elements in the message are
/// gone from it afterwards, so that no two copies exist. Throws Error(model), with the tensor's
/// name, where dims are negative or too large, bytes do not fit them, or a file is missing, too
/// short or outside of the folder.
Tensor take_tensor(TensorProto& proto, const std::string& folder);

/// Elements as numbers; integers exactly below 2^53.
std::vector<double> numbers_of(const Tensor& tensor);
/// The elements of an integer or boolean tensor.
std::vector<std::int64_t> integers_of(const Tensor& tensor);

}  // namespace dyn::onnx
