#include "src/python/bindings/operators/shape_types.hpp"

#include <string>
#include <utility>

#include "src/python/bindings/arrays/dtypes.hpp"

namespace dyn::python {
namespace {

/// dyn.TensorType. `dims`: a tuple of int and dyn.DimExpr.
struct TypeObject {
  DType dtype;
  nb::object dims;
};

void require_equal(nb::handle a, nb::handle b, nb::handle what) {
  const Dim first = known_dim(a), second = known_dim(b);
  const std::string words = text_of(what);
  const DimScopePointer scope = scope_of(a, b);
  const ShapeContext* const context = scope == nullptr ? nullptr : scope->shape_context();
  if (context != nullptr) return context->require_equal(first, second, words);
  if (first == second) return;
  if (scope == nullptr)
    user_error(words + ": " + first.to_string() + " is not " + second.to_string());
  user_error(words + ": shape functions alone state conditions; a dyn.Builder's operators do it");
}

void make_type(TypeObject* self, nb::handle dtype, nb::handle dims) {
  const DType own = to_dtype(dtype);
  nb::list sizes;
  for (const nb::handle size : dims) {
    const Dim dim = known_dim(size);
    const auto constant = dim.constant();
    sizes.append(constant ? nb::object(nb::int_(*constant)) : nb::borrow(size));
  }
  new (self) TypeObject{own, nb::tuple(sizes)};
}

nb::object type_repr(const TypeObject& self) {
  std::string dims;
  for (const nb::handle size : self.dims) dims += (dims.empty() ? "" : ", ") + text_of(size);
  return to_python("<dyn.TensorType " + std::string(name_of(self.dtype)) + "[" + dims + "]>");
}

}  // namespace

const ShapeContext& ShapeCall::context() const {
  if (context_ == nullptr)
    user_error("a dyn.DimExpr is of use until the shape function that got it returns");
  return *context_;
}

nb::object input_types(const std::shared_ptr<ShapeCall>& call) {
  nb::list types;
  for (const TensorType& type : call->context().inputs()) {
    types.append(nb::cast(TypeObject{type.dtype, to_python(type.dims, call)}));
  }
  return types;
}

std::vector<TensorType> output_types(nb::handle types) {
  const auto add = [](std::vector<TensorType>& into, nb::handle object) {
    if (!nb::isinstance<TypeObject>(object) || !nb::inst_ready(object))
      user_error("it gives " + described(object) + " in place of a dyn.TensorType");
    const TypeObject& type = *nb::inst_ptr<TypeObject>(object);
    TensorType& own = into.emplace_back(TensorType{type.dtype, {}});
    for (const nb::handle size : type.dims) own.dims.push_back(known_dim(size));
  };
  std::vector<TensorType> own;
  if (PyList_Check(types.ptr()) != 0 || PyTuple_Check(types.ptr()) != 0)
    for (const nb::handle type : types) add(own, type);
  else
    add(own, types);
  return own;
}

void register_shape_types(nb::module_& module) {
  nb::class_<TypeObject>(module, "TensorType", "A tensor as shape functions see it.")
      .def("__init__", make_type, nb::arg("dtype").none(), nb::arg("dims"),
           nb::sig("def __init__(self, dtype: object, dims: collections.abc.Iterable[int | "
                   "DimExpr]) -> None"),
           "dtype: \"f32\", \"bf16\", numpy.int64.")
      .def_prop_ro(
          "dtype", [](const TypeObject& self) { return to_python(name_of(self.dtype)); },
          nb::sig("def dtype(self) -> str"), "dyn's name: \"f32\", \"bf16\", \"i64\", ...")
      .def_prop_ro(
          "dims", [](const TypeObject& self) { return self.dims; },
          nb::sig("def dims(self) -> tuple[int | DimExpr, ...]"))
      .def("__repr__", type_repr, nb::sig("def __repr__(self) -> str"));
  module.def("require_equal", require_equal, nb::arg("a").none(), nb::arg("b").none(),
             nb::arg("what"),
             nb::sig("def require_equal(a: int | DimExpr, b: int | DimExpr, what: str) -> None"),
             "For shape functions: a condition on sizes, which is decided now where that can be,\n"
             "else when sizes are known. `what` has the two: \"rows of x and y\".");
}

}  // namespace dyn::python
