#include "src/python/bindings/operators/shape_types.hpp"

#include <optional>
#include <string>
#include <utility>

#include "src/python/bindings/arrays/dtypes.hpp"

namespace dyn::python {
namespace {

/// dyn.DimExpr
struct DimObject {
  Dim dim;
  std::shared_ptr<ShapeCall> call;
};

/// dyn.TensorType. `dims`: a tuple of int and dyn.DimExpr.
struct TypeObject {
  DType dtype;
  nb::object dims;
};

const DimObject* dim_object(nb::handle object) {
  return nb::isinstance<DimObject>(object) && nb::inst_ready(object)
             ? nb::inst_ptr<DimObject>(object)
             : nullptr;
}

/// nullopt where the object is no size.
std::optional<Dim> dim_of(nb::handle object) {
  if (const DimObject* own = dim_object(object)) {
    static_cast<void>(own->call->context());
    return own->dim;
  }
  if (PyIndex_Check(object.ptr()) == 0 || PyBool_Check(object.ptr()) != 0) return std::nullopt;
  const nb::object number = nb::steal(PyNumber_Index(object.ptr()));
  if (!number.is_valid()) throw nb::python_error();
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (overflow != 0) user_error("the size " + text_of(number) + " has more than 64 bits");
  return Dim(value);
}

Dim known_dim(nb::handle object) {
  if (const auto dim = dim_of(object)) return *dim;
  user_error("a size is an int or a dyn.DimExpr, not " + described(object));
}

/// An int where the size is a constant.
nb::object object_of(const Dim& dim, const std::shared_ptr<ShapeCall>& call) {
  if (const auto constant = dim.constant()) return nb::int_(*constant);
  return nb::cast(DimObject{dim, call});
}

std::shared_ptr<ShapeCall> call_of(nb::handle a, nb::handle b) {
  for (const nb::handle own : {a, b})
    if (const DimObject* dim = dim_object(own)) return dim->call;
  return nullptr;
}

Dim sum_of(const Dim& a, const Dim& b) { return a + b; }
Dim difference_of(const Dim& a, const Dim& b) { return a - b; }
Dim product_of(const Dim& a, const Dim& b) { return a * b; }

using Combine = Dim (*)(const Dim&, const Dim&);

template <Combine combine>
nb::object combined(nb::handle a, nb::handle b) {
  return object_of(combine(known_dim(a), known_dim(b)), call_of(a, b));
}

/// For operators, which leave what is no size to the other operand.
template <Combine combine, bool swapped>
nb::object combined_or_not(nb::handle self, nb::handle other) {
  const auto dim = dim_of(other);
  if (!dim) return nb::borrow(Py_NotImplemented);
  const Dim own = known_dim(self);
  return object_of(swapped ? combine(*dim, own) : combine(own, *dim), call_of(self, other));
}

template <Combine combine>
void define_operator(nb::class_<DimObject>& own, const std::string& name) {
  const auto signature = [&](const std::string& full) {
    return "def " + full + "(self, other: int | DimExpr) -> int | DimExpr";
  };
  const std::string plain = "__" + name + "__", swapped = "__r" + name + "__";
  own.def(plain.c_str(), combined_or_not<combine, false>, nb::sig(signature(plain).c_str()));
  own.def(swapped.c_str(), combined_or_not<combine, true>, nb::sig(signature(swapped).c_str()));
}

nb::object equal(nb::handle self, nb::handle other) {
  const auto dim = dim_of(other);
  return dim ? nb::object(nb::bool_(known_dim(self) == *dim)) : nb::borrow(Py_NotImplemented);
}

std::string text_of_dim(nb::handle self) {
  const DimObject* const own = dim_object(self);
  if (own == nullptr) return "a dim";
  static_cast<void>(own->call->context());
  return own->dim.to_string();
}

void require_equal(nb::handle a, nb::handle b, nb::handle what) {
  const Dim first = known_dim(a), second = known_dim(b);
  const std::string words = text_of(what);
  if (const auto call = call_of(a, b)) return call->context().require_equal(first, second, words);
  if (!(first == second))
    user_error(words + ": " + first.to_string() + " is not " + second.to_string());
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

void register_dim_expr(nb::module_& module) {
  nb::class_<DimObject> own(
      module, "DimExpr",
      "A size that depends on a model's dims, as a shape function gets it: + - * // and % with\n"
      "others and with int, and min() and max() below. There is no order: a size has many\n"
      "values. Of use until the shape function returns.");
  define_operator<sum_of>(own, "add");
  define_operator<difference_of>(own, "sub");
  define_operator<product_of>(own, "mul");
  define_operator<dyn::floordiv>(own, "floordiv");
  define_operator<dyn::mod>(own, "mod");
  own.def_static("min", combined<dyn::min>, nb::arg("a").none(), nb::arg("b").none(),
                 nb::sig("def min(a: int | DimExpr, b: int | DimExpr) -> int | DimExpr"))
      .def_static("max", combined<dyn::max>, nb::arg("a").none(), nb::arg("b").none(),
                  nb::sig("def max(a: int | DimExpr, b: int | DimExpr) -> int | DimExpr"))
      .def("__eq__", equal, nb::arg("other").none(),
           nb::sig("def __eq__(self, other: object) -> bool"),
           "True where both are the same expression once they are simplified.")
      .def(
          "__hash__", [](nb::handle self) { return nb::hash(to_python(text_of_dim(self))); },
          nb::sig("def __hash__(self) -> int"))
      .def_prop_ro(
          "low", [](nb::handle self) { return known_dim(self).low(); },
          "A lower bound of its values.")
      .def_prop_ro(
          "high",
          [](nb::handle self) {
            const std::int64_t high = known_dim(self).high();
            return high == DimRange().high ? nb::none() : nb::object(nb::int_(high));
          },
          nb::sig("def high(self) -> int | None"), "An upper bound; None: there is none.")
      .def(
          "__str__", [](nb::handle self) { return to_python(text_of_dim(self)); },
          nb::sig("def __str__(self) -> str"))
      .def(
          "__repr__",
          [](nb::handle self) { return to_python("<dyn.DimExpr " + text_of_dim(self) + ">"); },
          nb::sig("def __repr__(self) -> str"));
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
    nb::list dims;
    for (const Dim& dim : type.dims) dims.append(object_of(dim, call));
    types.append(nb::cast(TypeObject{type.dtype, nb::tuple(dims)}));
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
  register_dim_expr(module);
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
