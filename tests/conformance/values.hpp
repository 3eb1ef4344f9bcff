#pragma once
// Tensors of the suite's files, read without dyn's importer, and their comparison with what dyn
// computed.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dyn/tensor.hpp"
#include "src/import/onnx/messages/messages.hpp"

namespace dyn::conformance {

/// Elements in row-major order, as memory holds them.
class Values {
 public:
  /// Throws Error(model) where the message has no tensor that dims and dtype describe.
  explicit Values(const onnx::TensorProto& proto);
  /// A tensor of the graph's: numpy has no bfloat16, so the suite's data call the bits of one u16.
  Values(const onnx::TensorProto& proto, const onnx::ValueInfoProto& declared);
  /// f32 numbers 0, 1/n, 2/n, ..., as the suite feeds models that come without inputs.
  static Values ramp(Shape dims);

  const std::string& dtype() const {
    return dtype_;
  }  ///< by dyn's names, for dtypes that dyn lacks as well: "f64", "u16", "c64", "text"
  const Shape& dims() const { return dims_; }
  std::size_t size() const { return bytes_.size() / element_bytes_; }
  bool are_texts() const { return dtype_ == "text"; }
  /// The elements where they are texts; they have no bytes then.
  const std::vector<std::string>& texts() const { return texts_; }
  /// Exact for integers of 64 bits too. Throws Error(unsupported) for complex numbers.
  long double operator[](std::size_t index) const;
  /// A view, valid as long as this. Throws Error(unsupported) where dyn has no such dtype.
  Tensor view() const;
  /// The same dtype and shape with other memory.
  Values with(const void* data) const;

 private:
  Values() = default;
  std::string dtype_;
  std::size_t element_bytes_ = 1;
  Shape dims_;
  std::string bytes_;
  std::vector<std::string> texts_;
};

/// Describes what is wrong with `actual`, or nothing. Dtype and shape must be equal, NaN and
/// infinities must stand at the same places, and every other number may differ by at most atol +
/// rtol * |expected|, as in the suite's own runner; booleans must be equal.
std::optional<std::string> difference(const Values& expected, const Tensor& actual, double rtol,
                                      double atol);
/// The same for texts, which must be equal.
std::optional<std::string> difference(const Values& expected,
                                      const std::vector<std::string>& actual, const Shape& shape);

}  // namespace dyn::conformance
