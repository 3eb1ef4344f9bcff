#pragma once
// dyn.DimExpr: sizes of a model that Python helps to make.

#include <memory>
#include <optional>
#include <vector>

#include "dyn/operator.hpp"
#include "src/python/bindings/errors.hpp"

namespace dyn::python {

/// Whatever gives Python dims of a model, whose table of dims is not for several threads. Used by
/// whoever holds the GIL.
class DimScope {
 public:
  DimScope() = default;
  virtual ~DimScope() = default;
  DimScope(const DimScope&) = delete;
  DimScope& operator=(const DimScope&) = delete;
  /// Throws Error(user) where its dims are of no use at present.
  virtual void check() const = 0;
  /// nullptr: no shape function is called.
  virtual const ShapeContext* shape_context() const { return nullptr; }
};

using DimScopePointer = std::shared_ptr<const DimScope>;

/// An int where the size is a constant, else a dyn.DimExpr.
nb::object to_python(const Dim& dim, const DimScopePointer& scope);
/// A tuple of these.
nb::object to_python(const Dims& dims, const DimScopePointer& scope);

/// nullopt where the object is no size.
std::optional<Dim> dim_of(nb::handle object);
/// Throws Error(user) in place of nullopt.
Dim known_dim(nb::handle object);
/// From an iterable. Throws Error(user) where it is none, or where one of it is no size; `what`
/// they are of: "the dims of 'x'".
Dims dims_of(const std::string& what, nb::handle object);
/// An int. Throws Error(user) for what is none.
std::int64_t whole_number(const std::string& what, nb::handle object);

/// That of the first dyn.DimExpr of the two, or nullptr.
DimScopePointer scope_of(nb::handle a, nb::handle b);

void register_dim_expr(nb::module_& module);

}  // namespace dyn::python
