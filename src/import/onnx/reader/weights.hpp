#pragma once
// The weights of an imported model, as a safetensors file.

#include <iosfwd>
#include <string>
#include <vector>

#include "src/import/onnx/reader/constant_tensor.hpp"

namespace dyn::onnx {

/// A tensor of the file; its elements as safetensors and ONNX have them.
struct Weight {
  std::string key;
  ConstantTensor tensor;
};

/// The file without a copy of the tensors, which stay where they were read.
class Weights {
 public:
  Weights() = default;
  /// Throws Error(model) for a key that is no UTF-8.
  explicit Weights(std::vector<Weight> tensors);

  bool empty() const noexcept { return tensors_.empty(); }
  /// Bytes of the file.
  std::size_t size() const noexcept;
  void write(std::ostream& file) const;
  /// The file in memory; empty without tensors. Each tensor is released as soon as it is copied,
  /// and those whose elements nobody has read are made then, so that most are in memory once.
  std::string take_file();

 private:
  std::string header_;  ///< with its length before it
  std::vector<Weight> tensors_;
};

}  // namespace dyn::onnx
