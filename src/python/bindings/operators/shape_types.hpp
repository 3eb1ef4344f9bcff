#pragma once
// What shape functions compute with, beside dyn.DimExpr: dyn.TensorType.

#include <memory>
#include <vector>

#include "src/python/bindings/build/dim_expr.hpp"

namespace dyn::python {

/// A shape function's call. Its dims are of use until it is over.
class ShapeCall final : public DimScope {
 public:
  explicit ShapeCall(const ShapeContext& context) : context_(&context) {}
  void end() { context_ = nullptr; }
  /// Throws Error(user) after the end.
  const ShapeContext& context() const;
  void check() const override { static_cast<void>(context()); }
  const ShapeContext* shape_context() const override { return &context(); }

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
