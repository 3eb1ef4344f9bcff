#include "src/python/bindings/build/value_object.hpp"

#include <string>
#include <utility>

#include "src/python/bindings/arrays/dtypes.hpp"
#include "src/python/bindings/build/node_request.hpp"

namespace dyn::python {
namespace {

/// `building` nullptr: a number.
struct ValueObject {
  Value value;
  std::shared_ptr<Building> building;
};

const ValueObject* value_object(nb::handle object) {
  return nb::isinstance<ValueObject>(object) && nb::inst_ready(object)
             ? nb::inst_ptr<ValueObject>(object)
             : nullptr;
}

/// What `ask` tells of a value.
template <class Ask>
auto told(const ValueObject& self, const Ask& ask) {
  if (self.building != nullptr) self.building->check();
  return ask(self.value);
}

std::int64_t whole_of(nb::handle number) {
  int overflow = 0;
  const long long whole = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (overflow != 0) user_error("the number " + text_of(number) + " has more than 64 bits");
  return whole;
}

/// The model of the first value that has one, or nullptr.
std::shared_ptr<Building> building_of(nb::handle objects) {
  for (const nb::handle object : objects)
    if (const ValueObject* own = value_object(object); own != nullptr && own->building != nullptr)
      return own->building;
  return nullptr;
}

/// What `make` gives in the model of the first of `objects` that is no number.
template <class Make>
nb::object made_of(nb::handle objects, const Make& make) {
  const std::shared_ptr<Building> building = building_of(objects);
  if (building == nullptr) return to_python(make(), building);  // throws: all are numbers
  return to_python(building->use([&](Builder&) { return make(); }), building);
}

using Binary = Value (*)(const Value&, const Value&);

Value sum(const Value& a, const Value& b) { return a + b; }
Value difference(const Value& a, const Value& b) { return a - b; }
Value product(const Value& a, const Value& b) { return a * b; }
Value quotient(const Value& a, const Value& b) { return a / b; }
Value matrix_product(const Value& a, const Value& b) { return dyn::op("matmul", {a, b}); }

template <Binary combine, bool swapped>
nb::object binary(nb::handle self, nb::handle other) {
  const std::optional<Value> value = value_of(other);
  if (!value) {
    if (nb::hasattr(other, "__array__"))
      user_error(
          "a dyn.Value takes no array beside it; weight(name, array) makes a dyn.Value of it");
    return nb::borrow(Py_NotImplemented);
  }
  const Value own = known_value(self);
  return made_of(nb::make_tuple(self, other),
                 [&] { return swapped ? combine(*value, own) : combine(own, *value); });
}

template <Binary combine>
void define_binary(nb::class_<ValueObject>& own, const std::string& name) {
  const auto define = [&](const std::string& full, auto* function) {
    const std::string signature = "def " + full + "(self, other: Value | float) -> Value";
    own.def(full.c_str(), function, nb::sig(signature.c_str()));
  };
  define("__" + name + "__", binary<combine, false>);
  define("__r" + name + "__", binary<combine, true>);
}

nb::object negative(nb::handle self) {
  const Value own = known_value(self);
  return made_of(nb::make_tuple(self), [&] { return -own; });
}

nb::object named(nb::handle self, nb::handle name) {
  const Value own = known_value(self);
  const std::string text = name_for("a result", name);
  if (const auto building = building_of(nb::make_tuple(self)))
    building->use([&](Builder&) { own.named(text); });
  else
    own.named(text);  // throws
  return nb::borrow(self);
}

nb::object number_with_dtype(nb::handle dtype, nb::handle value) {
  const DType own = to_dtype(dtype);
  const nb::object number = plain_number(value);
  if (!number.is_valid()) user_error("a number is an int or a float, not " + described(value));
  if (PyFloat_Check(number.ptr()) != 0)
    return to_python(Value::number(own, PyFloat_AsDouble(number.ptr())), nullptr);
  return to_python(Value::number(own, whole_of(number)), nullptr);
}

nb::object value_repr(const ValueObject& self) {
  if (self.building == nullptr) return to_python("<dyn.Value, a number>");
  try {
    self.building->check();
  } catch (const Error& error) { return to_python("<dyn.Value: " + error.message() + ">"); }
  return to_python("<dyn.Value " + self.value.name() + ": " +
                   std::string(name_of(self.value.dtype())) + to_string(self.value.dims()) + ">");
}

nb::object op_of_values(const nb::args& arguments, const nb::kwargs& keywords) {
  const NodeRequest node = op_request(arguments, keywords);
  if (const auto building = building_of(arguments)) return add_op(building, node);
  return to_python(dyn::op(node.op, node.inputs), nullptr);  // throws
}

nb::object ops_of_values(const nb::args& arguments, const nb::kwargs& keywords) {
  const NodeRequest node = ops_request(arguments, keywords);
  if (const auto building = building_of(arguments)) return add_ops(building, node);
  return to_python(dyn::ops(node.op, node.inputs), nullptr);  // throws
}

}  // namespace

nb::object to_python(const Value& value, const std::shared_ptr<Building>& building) {
  return nb::cast(ValueObject{value, building});
}

nb::object to_python(const Values& values, const std::shared_ptr<Building>& building) {
  nb::list objects;
  for (const Value& value : values) objects.append(to_python(value, building));
  return nb::tuple(objects);
}

std::optional<Value> value_of(nb::handle object) {
  if (const ValueObject* own = value_object(object))
    return told(*own, [](const Value& value) { return value; });
  const nb::object number = plain_number(object);
  if (!number.is_valid()) return std::nullopt;
  if (PyBool_Check(number.ptr()) != 0) return Value(number.is(Py_True));
  if (PyFloat_Check(number.ptr()) != 0) return Value(PyFloat_AsDouble(number.ptr()));
  return Value(whole_of(number));
}

Value known_value(nb::handle object) {
  if (std::optional<Value> value = value_of(object)) return *std::move(value);
  user_error("an input of an operator is a dyn.Value or a number, not " + described(object));
}

Values known_values(nb::handle objects, std::size_t first) {
  Values values;
  std::size_t i = 0;
  for (const nb::handle object : objects)
    if (i++ >= first) values.push_back(known_value(object));
  return values;
}

nb::object plain_number(nb::handle object) {
  if (PyFloat_Check(object.ptr()) != 0 || PyLong_Check(object.ptr()) != 0)
    return nb::borrow(object);
  const int is_numpy =
      PyObject_IsInstance(object.ptr(), nb::module_::import_("numpy").attr("generic").ptr());
  if (is_numpy < 0) throw nb::python_error();
  if (is_numpy == 0) return {};
  nb::object plain = object.attr("item")();
  if (PyFloat_Check(plain.ptr()) == 0 && PyLong_Check(plain.ptr()) == 0) return {};
  return plain;
}

std::string name_for(const char* what, nb::handle name) {
  if (PyUnicode_Check(name.ptr()) == 0)
    user_error("the name of " + std::string(what) + " is a str, not " + described(name));
  return to_utf8(name);
}

nb::object add_op(const std::shared_ptr<Building>& building, const NodeRequest& node) {
  return to_python(building->use([&](Builder& builder) {
    return builder.op(node.op, node.inputs, node.attributes, node.result);
  }),
                   building);
}

nb::object add_ops(const std::shared_ptr<Building>& building, const NodeRequest& node) {
  return to_python(building->use([&](Builder& builder) {
    return builder.ops(node.op, node.inputs, node.attributes, node.results);
  }),
                   building);
}

void register_value(nb::module_& module) {
  nb::class_<ValueObject> own(
      module, "Value",
      "A tensor of a model that is being built, or a number. + - * / and @ combine it with others\n"
      "and with numbers, which take the dtype of the tensor beside them. It keeps its builder.");
  define_binary<sum>(own, "add");
  define_binary<difference>(own, "sub");
  define_binary<product>(own, "mul");
  define_binary<quotient>(own, "truediv");
  define_binary<matrix_product>(own, "matmul");
  own.def("__neg__", negative, nb::sig("def __neg__(self) -> Value"))
      .def_static("number", number_with_dtype, nb::arg("dtype").none(), nb::arg("value").none(),
                  nb::sig("def number(dtype: object, value: float) -> Value"),
                  "A number of this dtype, whatever stands beside it.")
      .def_prop_ro(
          "dtype",
          [](const ValueObject& self) {
            return told(self, [](const Value& value) { return to_python(name_of(value.dtype())); });
          },
          nb::sig("def dtype(self) -> str"), "dyn's name: \"f32\", \"bf16\", \"i64\", ...")
      .def_prop_ro(
          "dims",
          [](const ValueObject& self) {
            return told(self,
                        [&](const Value& value) { return to_python(value.dims(), self.building); });
          },
          nb::sig("def dims(self) -> tuple[int | DimExpr, ...]"),
          "What is known so far; a later node may tell more.")
      .def_prop_ro("rank",
                   [](const ValueObject& self) {
                     return told(self, [](const Value& value) { return value.rank(); });
                   })
      .def_prop_ro(
          "name",
          [](const ValueObject& self) {
            return told(self, [](const Value& value) { return to_python(value.name()); });
          },
          nb::sig("def name(self) -> str"))
      .def("named", named, nb::arg("name").none(), nb::sig("def named(self, name: str) -> Value"),
           "Renames the result of an operator, and gives it: messages and the text call it so.")
      .def("__repr__", value_repr, nb::sig("def __repr__(self) -> str"));
  own.attr("__array_ufunc__") = nb::none();  // an array of NumPy beside it is refused
  module.def(
      "op", op_of_values, nb::arg("arguments"), nb::arg("keywords"),
      nb::sig("def op(op: str, /, *inputs: Value | float, result: str = \"\", "
              "**attributes: object) -> Value"),
      "The result of an operator, as the text calls it, in the model of its inputs. None as\n"
      "an attribute is the operator's default.");
  module.def("ops", ops_of_values, nb::arg("arguments"), nb::arg("keywords"),
             nb::sig("def ops(op: str, /, *inputs: Value | float, results: int | None = None, "
                     "**attributes: object) -> tuple[Value, ...]"),
             "The same for an operator with several results; `results` for one that has any\n"
             "number.");
}

}  // namespace dyn::python
