#pragma once
// What shape functions compute with: dyn.DimExpr and dyn.TensorType.

#include <memory>
#include <vector>

#include "dyn/operator.hpp"
#include "src/python/bindings/errors.hpp"

namespace dyn::python {

/// A shape function's call. Its dims are of use until it is over, as the model's table of dims is
/// not for several threads. Used by whoever holds the GIL.
class ShapeCall {
 public:
  explicit ShapeCall(const ShapeContext& context) : context_(&context) {}
  void end() { context_ = nullptr; }
  /// Throws Error(user) after the end.
  const ShapeContext& context() const;

 private:
  const ShapeContext* context_;
};

/// The types of the inputs: a list of dyn.TensorType.
nb::object input_types(const std::shared_ptr<ShapeCall>& call);

/// From what a shape function gives: a dyn.TensorType, or a sequence of them. Throws Error(user)
/// for others.
std::vector<TensorType> output_types(nb::handle types);

void register_shape_types(nb::module_& module);

}  // namespace dyn::python
