#include "src/python/bindings/operators/operator_object.hpp"

#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/python/bindings/arrays/tensor_object.hpp"
#include "src/python/bindings/build/builder_object.hpp"
#include "src/python/bindings/build/value_object.hpp"
#include "src/python/bindings/host/shared_object.hpp"
#include "src/python/bindings/operators/attribute_kinds.hpp"
#include "src/python/bindings/operators/shape_types.hpp"

namespace dyn::python {
namespace {

using Function = std::shared_ptr<const SharedObject>;

/// The operator without its functions, which note in a load what they raise.
struct OperatorObject {
  Operator own;
  Function shape, kernel, definition;  ///< nullptr: none
  std::string attributes = {};         ///< for repr: " alpha=1.0 axis=int"
};

/// An operator's Python function and what it needs, for any thread.
struct Called {
  Function function;
  std::vector<OperatorAttribute> attributes;
  std::shared_ptr<PythonFailure> failure;

  template <class Work>
  auto with_python(const Work& work) const {
    return with_gil(*failure, ErrorKind::user, work);
  }
};

std::vector<TensorType> call_shape(const Called& called, const ShapeContext& context) {
  return called.with_python([&] {
    struct Until {
      std::shared_ptr<ShapeCall> call;
      ~Until() { call->end(); }
    } const until{std::make_shared<ShapeCall>(context)};
    return output_types(call_python(called.function->get(), input_types(until.call),
                                    attribute_values(called.attributes, context.attributes())));
  });
}

void copy_elements(const Tensor& from, Tensor& into) {
  if (from.bytes() > 0) std::memcpy(into.raw(), from.raw(), from.bytes());
}

nb::list arrays_of(const std::vector<Tensor>& tensors) {
  nb::list arrays;
  for (const Tensor& tensor : tensors) arrays.append(to_array(tensor));
  return arrays;
}

/// `result`: what the kernel returned, which may be one of its outputs, as NumPy's functions with
/// `out` return it.
void check_outputs(const nb::list& now, const std::vector<nb::object>& before, nb::handle result) {
  bool is_known = result.is_none();
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (now.size() != before.size() || !nb::handle(now[i]).is(before[i]))
      user_error("it put another array in place of output " + std::to_string(i) +
                 "; it must fill the one that is there: outputs[" + std::to_string(i) +
                 "][...] = ...");
    is_known = is_known || result.is(before[i]);
  }
  if (!is_known)
    user_error("it returned " + described(result) +
               "; it must fill its outputs: outputs[0][...] = ...");
}

/// The kernel's arrays own their memory, which may stay longer than dyn's.
void call_kernel(const Called& called, const KernelContext& context) {
  std::vector<Tensor> inputs, outputs;
  for (const Tensor& input : context.inputs())
    copy_elements(input, inputs.emplace_back(input.dtype(), input.shape()));
  for (const Tensor& output : context.outputs())
    outputs.emplace_back(output.dtype(), output.shape());
  called.with_python([&] {
    const nb::list arrays = arrays_of(outputs);
    std::vector<nb::object> before;
    for (const nb::handle array : arrays) before.push_back(nb::borrow(array));
    const nb::object result =
        call_python(called.function->get(), arrays_of(inputs), arrays,
                    attribute_values(called.attributes, context.attributes()));
    check_outputs(arrays, before, result);
  });
  for (std::size_t i = 0; i < outputs.size(); ++i) copy_elements(outputs[i], context.outputs()[i]);
}

Values results_of_definition(nb::handle given) {
  const auto add = [](Values& values, nb::handle object) {
    const std::optional<Value> value = value_of(object);
    if (!value) user_error("it gives " + described(object) + " in place of a dyn.Value");
    values.push_back(*value);
  };
  Values values;
  if (PyList_Check(given.ptr()) != 0 || PyTuple_Check(given.ptr()) != 0)
    for (const nb::handle each : given) add(values, each);
  else
    add(values, given);
  return values;
}

Values call_definition(const Called& called, const Builder& builder, const Values& inputs,
                       const NodeAttributes& attributes) {
  return called.with_python([&] {
    struct Until {
      std::shared_ptr<Building> building;
      ~Until() { building->end(); }
    } const until{std::make_shared<Building>(builder, called.failure)};
    const std::shared_ptr<Building>& building = until.building;
    nb::list values;
    for (const Value& input : inputs) values.append(to_python(input, building));
    return results_of_definition(call_python(called.function->get(), to_python(building), values,
                                             attribute_values(called.attributes, attributes)));
  });
}

Operator with_functions(const OperatorObject& object,
                        const std::shared_ptr<PythonFailure>& failure) {
  Operator full = object.own;
  if (object.shape != nullptr)
    full.shape = [called = Called{object.shape, full.attributes, failure}](
                     const ShapeContext& context) { return call_shape(called, context); };
  if (object.kernel != nullptr)
    full.kernel = [called = Called{object.kernel, full.attributes, failure}](
                      const KernelContext& context) { call_kernel(called, context); };
  if (object.definition != nullptr)
    full.definition = [called = Called{object.definition, full.attributes, failure}](
                          Builder& builder, const Values& inputs,
                          const NodeAttributes& attributes) {
      return call_definition(called, builder, inputs, attributes);
    };
  return full;
}

std::string text_for(const char* what, nb::handle value) {
  if (PyUnicode_Check(value.ptr()) == 0)
    user_error("an operator's " + std::string(what) + " is a str, not " + described(value));
  return to_utf8(value);
}

std::size_t count_for(const char* what, nb::handle value) {
  const Py_ssize_t count = PyLong_Check(value.ptr()) != 0 && PyBool_Check(value.ptr()) == 0
                               ? PyNumber_AsSsize_t(value.ptr(), nullptr)
                               : -1;
  if (count < 0)
    user_error("an operator's " + std::string(what) + " are an int of 0 and more, not " +
               to_utf8(nb::repr(value)));
  return static_cast<std::size_t>(count);
}

Function function_for(const char* what, nb::handle value) {
  if (value.is_none()) return nullptr;
  if (PyCallable_Check(value.ptr()) == 0)
    user_error("an operator's " + std::string(what) + " is a function, not " + described(value));
  return std::make_shared<const SharedObject>(nb::borrow(value));
}

void make_operator(OperatorObject* self, nb::handle domain, nb::handle name, nb::handle inputs,
                   nb::handle optional_inputs, nb::handle outputs, nb::handle attributes,
                   nb::handle shape, nb::handle kernel, nb::handle definition,
                   nb::handle expression) {
  OperatorObject made{};
  made.own.domain = text_for("domain", domain);
  made.own.name = text_for("name", name);
  if (PyUnicode_Check(inputs.ptr()) != 0)
    user_error("an operator's inputs are a list of names, not " + to_utf8(nb::repr(inputs)));
  for (const nb::handle input : inputs) made.own.inputs.push_back(text_for("input", input));
  made.own.optional_inputs = count_for("optional_inputs", optional_inputs);
  made.own.outputs = count_for("outputs", outputs);
  if (!attributes.is_none()) {
    if (PyDict_Check(attributes.ptr()) == 0)
      user_error("an operator's attributes are a dict from names to defaults, not " +
                 described(attributes));
    for (const auto& [key, value] : nb::borrow<nb::dict>(attributes)) {
      const OperatorAttribute& made_of =
          made.own.attributes.emplace_back(to_attribute(text_for("attribute", key), value));
      made.attributes +=
          " " + made_of.name + "=" +
          (made_of.required ? text_of(value.attr("__name__")) : to_utf8(nb::repr(value)));
    }
  }
  made.shape = function_for("shape", shape);
  made.kernel = function_for("kernel", kernel);
  made.definition = function_for("definition", definition);
  if (!expression.is_none()) made.own.expression = text_for("expression", expression);
  static_cast<void>(Operators({with_functions(made, nullptr)}));  // throws what is wrong with it
  new (self) OperatorObject(std::move(made));
}

nb::object operator_repr(const OperatorObject& self) {
  const Operator& own = self.own;
  std::string text = own.domain + "::" + own.name + "(";
  for (std::size_t i = 0; i < own.inputs.size(); ++i)
    text += (i == 0 ? "" : ", ") + own.inputs[i] +
            (i + own.optional_inputs >= own.inputs.size() ? "?" : "");
  text += ")" + self.attributes + ": " +
          (self.definition != nullptr ? "a definition"
           : own.expression.empty()   ? "a kernel"
                                      : own.expression);
  if (own.outputs != 1) text += ", " + std::to_string(own.outputs) + " outputs";
  return to_python("<dyn.Operator " + text + ">");
}

}  // namespace

Operators to_operators(const char* name, nb::handle operators,
                       const std::shared_ptr<PythonFailure>& failure) {
  const auto refuse = [&](nb::handle value) {
    user_error("the option '" + std::string(name) + "' takes a list of dyn.Operator, not " +
               to_utf8(nb::repr(value)));
  };
  if (PyList_Check(operators.ptr()) == 0 && PyTuple_Check(operators.ptr()) == 0) refuse(operators);
  std::vector<Operator> full;
  for (const nb::handle each : operators) {
    if (!nb::isinstance<OperatorObject>(each)) refuse(each);
    if (!nb::inst_ready(each)) user_error("this dyn.Operator was never initialised");
    full.push_back(with_functions(*nb::inst_ptr<OperatorObject>(each), failure));
  }
  return Operators(full);
}

void register_operator(nb::module_& module) {
  register_shape_types(module);
  nb::class_<OperatorObject>(
      module, "Operator",
      "An operator of the program, for the option `operators` of a load. The text calls it\n"
      "domain::name; in an ONNX file both are the node's.")
      .def("__init__", make_operator, nb::arg("domain").none(), nb::arg("name").none(),
           nb::arg("inputs") = nb::tuple(), nb::arg("optional_inputs") = 0, nb::arg("outputs") = 1,
           nb::kw_only(), nb::arg("attributes") = nb::none(), nb::arg("shape") = nb::none(),
           nb::arg("kernel") = nb::none(), nb::arg("definition") = nb::none(),
           nb::arg("expression") = nb::none(),
           nb::sig("def __init__(self, domain: str, name: str, inputs: "
                   "collections.abc.Sequence[str] = (), optional_inputs: int = 0, outputs: int = "
                   "1, *, attributes: dict[str, object] | None = None, shape: "
                   "collections.abc.Callable[[list[TensorType], dict[str, typing.Any]], "
                   "TensorType | collections.abc.Sequence[TensorType]] | None = None, kernel: "
                   "collections.abc.Callable[[list[typing.Any], list[typing.Any], dict[str, "
                   "typing.Any]], object] | None = None, definition: "
                   "collections.abc.Callable[[Builder, list[Value], dict[str, typing.Any]], Value "
                   "| float | collections.abc.Sequence[Value | float]] | None = None, expression: "
                   "str | None = None) -> None"),
           "attributes: defaults by name, which say the kind (1.0, 1, True, \"mean\", [1, 2]);\n"
           "float, int, bool, str and list are kinds without a default, which nodes must have.\n"
           "\n"
           "expression: one element of the result from one of each input, as the text writes it:\n"
           "\"x * sigmoid(alpha * x)\". dyn fuses and compiles it.\n"
           "\n"
           "definition(builder, inputs, attributes) adds dyn's operators, and others of the\n"
           "program, to the model, and gives the results: a Value, or a list of them. dyn fuses\n"
           "and compiles these too. What it gets and makes is of use until it returns.\n"
           "\n"
           "kernel(inputs, outputs, attributes) fills the arrays of `outputs`, which have the\n"
           "types that shape(inputs, attributes) gave: a TensorType for each output, made from\n"
           "those of the inputs. All arrays are the kernel's own. The functions may be called\n"
           "from any thread, any number of times; results depend on what they get alone. An\n"
           "exception is the cause of the error of the load or run, which names the node.")
      .def("__repr__", operator_repr, nb::sig("def __repr__(self) -> str"));
}

}  // namespace dyn::python
