#include "src/python/bindings/build/builder_object.hpp"

#include <string>
#include <utility>
#include <vector>

#include "src/python/bindings/arrays/dtypes.hpp"
#include "src/python/bindings/build/value_object.hpp"
#include "src/python/bindings/bytes.hpp"
#include "src/python/bindings/load.hpp"
#include "src/python/bindings/operators/operator_object.hpp"
#include "src/python/bindings/options.hpp"

namespace dyn::python {
namespace {

struct BuilderObject {
  std::shared_ptr<Building> building;
  std::string name;  ///< empty: an operator's definition builds
};

void make_builder(BuilderObject* self, nb::handle name, nb::handle operators) {
  const std::string own = name_for("a model", name);
  auto failure = std::make_shared<PythonFailure>();
  const Operators known = to_operators("operators", operators, failure);
  new (self)
      BuilderObject{std::make_shared<Building>(Builder(own, known), std::move(failure)), own};
}

/// The value that `make` gives.
template <class Make>
nb::object value_made(const BuilderObject& self, const Make& make) {
  return to_python(self.building->use(make), self.building);
}

nb::object dim(const BuilderObject& self, nb::handle name, nb::handle low, nb::handle high,
               nb::handle multiple, nb::handle hint) {
  DimRange range;
  range.low = whole_number("a dim's low", low);
  if (!high.is_none()) range.high = whole_number("a dim's high", high);
  range.multiple = whole_number("a dim's multiple", multiple);
  if (!hint.is_none()) range.hint = whole_number("a dim's hint", hint);
  const std::string own = name.is_none() ? "" : name_for("a dim", name);
  const bool is_free = name.is_none();
  if (is_free && (range.low != 0 || !high.is_none() || range.multiple != 1 || range.hint))
    user_error("a dim without a name has no range");
  const Dim made = self.building->use(
      [&](Builder& builder) { return is_free ? builder.dim() : builder.dim(own, range); });
  return to_python(made, self.building);
}

Shape shape_for(const std::string& weight, nb::handle sizes) {
  const std::string what = "the sizes of the weight '" + weight + "'";
  Shape shape;
  for (const Dim& size : dims_of(what, sizes)) {
    if (!size.constant()) user_error(what + " are numbers, not " + size.to_string());
    shape.push_back(*size.constant());
  }
  return shape;
}

nb::object input(const BuilderObject& self, nb::handle name, nb::handle dtype, nb::handle dims) {
  const std::string own = name_for("an input", name);
  const DType elements = to_dtype(dtype);
  const Dims sizes = dims_of("the dims of '" + own + "'", dims);
  return value_made(self, [&](Builder& builder) { return builder.input(own, elements, sizes); });
}

nb::object state(const BuilderObject& self, nb::handle name, nb::handle dtype, nb::handle dims) {
  const std::string own = name_for("a state", name);
  const DType elements = to_dtype(dtype);
  const Dims sizes = dims_of("the dims of '" + own + "'", dims);
  return value_made(self, [&](Builder& builder) { return builder.state(own, elements, sizes); });
}

nb::object weight(const BuilderObject& self, nb::handle name, nb::handle elements) {
  const std::string own = name_for("a weight", name);
  Given lent = given(elements, {"the weight", own}, Layout::copy, DType::f32);
  const nb::object made =
      value_made(self, [&](Builder& builder) { return builder.weight(own, lent.tensor); });
  if (lent.loan != nullptr) self.building->keep(std::move(lent.loan));
  return made;
}

nb::object weight_of_a_file(const BuilderObject& self, nb::handle name, nb::handle dtype,
                            nb::handle shape) {
  const std::string own = name_for("a weight", name);
  const DType elements = to_dtype(dtype);
  const Shape sizes = shape_for(own, shape);
  return value_made(self, [&](Builder& builder) { return builder.weight(own, elements, sizes); });
}

nb::object splat(const BuilderObject& self, nb::handle name, nb::handle dtype, nb::handle shape,
                 double element) {
  const std::string own = name_for("a weight", name);
  const DType elements = to_dtype(dtype);
  const Shape sizes = shape_for(own, shape);
  return value_made(self,
                    [&](Builder& builder) { return builder.splat(own, elements, sizes, element); });
}

nb::object random(const BuilderObject& self, nb::handle name, nb::handle dtype, nb::handle shape,
                  nb::handle seed) {
  const std::string own = name_for("a weight", name);
  const DType elements = to_dtype(dtype);
  const Shape sizes = shape_for(own, shape);
  const std::int64_t number = whole_number("a seed", seed);
  if (number < 0) user_error("a seed is 0 or more, not " + std::to_string(number));
  return value_made(self, [&](Builder& builder) {
    return builder.random(own, elements, sizes, static_cast<std::uint64_t>(number));
  });
}

void weight_file(const BuilderObject& self, nb::handle path) {
  const auto own = path_of(path);
  if (!own) user_error("a file of weights is a path, not " + described(path));
  self.building->use([&](Builder& builder) { builder.weight_file(*own); });
}

nb::object op(const BuilderObject& self, const nb::args& arguments, const nb::kwargs& keywords) {
  return add_op(self.building, op_request(arguments, keywords));
}

nb::object ops(const BuilderObject& self, const nb::args& arguments, const nb::kwargs& keywords) {
  return add_ops(self.building, ops_request(arguments, keywords));
}

void output(const BuilderObject& self, nb::handle name, nb::handle value) {
  const std::string own = name_for("an output", name);
  const Value made = known_value(value);
  self.building->use([&](Builder& builder) { builder.output(own, made); });
}

nb::object text(const BuilderObject& self) {
  return to_python(self.building->use([](Builder& builder) { return builder.to_text(); }));
}

nb::bytes weights(const BuilderObject& self) {
  const std::string file = self.building->use(
      [&](Builder& builder) { return without_gil(nullptr, [&] { return builder.weights(); }); });
  return nb::bytes(file.data(), file.size());
}

GraphObject load_built(const BuilderObject& self, nb::handle weight_directory,
                       const nb::kwargs& keywords) {
  if (keywords.contains("operators"))
    user_error("a dyn.Builder gets its operators when it is made, not when it is loaded");
  const auto directory = path_of(weight_directory);
  if (!directory) user_error("a folder is a path, not " + described(weight_directory));
  const LoadOptions options = to_options(keywords, self.building->failure());
  return self.building->use([&](Builder& builder) {
    return loaded("the builder " + self.name, options,
                  [&] { return builder.load(options, *directory); });
  });
}

nb::object builder_repr(const BuilderObject& self) {
  try {
    self.building->check();
  } catch (const Error& error) { return to_python("<dyn.Builder: " + error.message() + ">"); }
  return to_python(self.name.empty() ? "<dyn.Builder of an operator's definition>"
                                     : "<dyn.Builder " + self.name + ">");
}

void define_weights(nb::class_<BuilderObject>& own) {
  own.def(
         "weight", weight, nb::arg("name").none(), nb::arg("elements").none(),
         nb::sig("def weight(self, name: str, elements: object) -> Value"),
         "A weight with these elements: an array of NumPy, a tensor of torch, ... Dense memory is\n"
         "kept, not copied, and must stay as it is until the last load. Lists become f32.")
      .def("weight", weight_of_a_file, nb::arg("name").none(), nb::arg("dtype").none(),
           nb::arg("shape").none(),
           nb::sig("def weight(self, name: str, dtype: object, shape: "
                   "collections.abc.Iterable[int]) -> Value"),
           "A weight of the files of weight_file(); its name is its key there.")
      .def("weight_file", weight_file, nb::arg("path").none(),
           nb::sig("def weight_file(self, path: str | os.PathLike[str]) -> None"),
           "A safetensors file that loads read.")
      .def("splat", splat, nb::arg("name").none(), nb::arg("dtype").none(), nb::arg("shape").none(),
           nb::arg("element"),
           nb::sig("def splat(self, name: str, dtype: object, shape: "
                   "collections.abc.Iterable[int], element: float) -> Value"),
           "A weight with one element everywhere.")
      .def("random", random, nb::arg("name").none(), nb::arg("dtype").none(),
           nb::arg("shape").none(), nb::arg("seed").none(),
           nb::sig("def random(self, name: str, dtype: object, shape: "
                   "collections.abc.Iterable[int], seed: int) -> Value"),
           "A weight with seeded normal elements.");
}

void define_whole_model(nb::class_<BuilderObject>& own) {
  own.def("to_text", text, nb::sig("def to_text(self) -> str"),
          "The model as Graph.from_text() reads it.")
      .def("weights", weights, nb::sig("def weights(self) -> bytes"),
           "The safetensors file of the weights that were given with their elements:\n"
           "Graph.from_memory(b.to_text(), {\"weights.safetensors\": b.weights()}) is load().")
      .def("load", load_built, nb::arg("weight_directory") = ".", nb::arg("options"),
           nb::sig("def load(self, weight_directory: str | os.PathLike[str] = \".\", **options: "
                   "object) -> Graph"),
           "The model, loaded with these options; its operators are the builder's.");
}

}  // namespace

nb::object to_python(const std::shared_ptr<Building>& building) {
  return nb::cast(BuilderObject{building, ""});
}

void register_builder(nb::module_& module) {
  register_dim_expr(module);
  register_value(module);
  nb::class_<BuilderObject> own(
      module, "Builder",
      "Makes one model, operator by operator. Each is checked as it is added: what is wrong is\n"
      "raised by the call that is wrong. to_text(), weights() and load() end the building. For\n"
      "one thread at a time.");
  own.def("__init__", make_builder, nb::arg("name").none() = "graph",
          nb::arg("operators") = nb::tuple(),
          nb::sig("def __init__(self, name: str = \"graph\", operators: "
                  "collections.abc.Sequence[Operator] = ()) -> None"),
          "operators: the program's, which op() knows besides dyn's.")
      .def("dim", dim, nb::arg("name") = nb::none(), nb::arg("low") = 0,
           nb::arg("high") = nb::none(), nb::kw_only(), nb::arg("multiple") = 1,
           nb::arg("hint") = nb::none(),
           nb::sig("def dim(self, name: str | None = None, low: int = 0, high: int | None = None, "
                   "*, multiple: int = 1, hint: int | None = None) -> DimExpr"),
           "A dim, which inputs bind at each run: from low to high, a multiple of `multiple`,\n"
           "usually `hint`. Without a name it has no range.")
      .def("input", input, nb::arg("name").none(), nb::arg("dtype").none(), nb::arg("dims").none(),
           nb::sig("def input(self, name: str, dtype: object, dims: "
                   "collections.abc.Iterable[int | DimExpr]) -> Value"))
      .def("state", state, nb::arg("name").none(), nb::arg("dtype").none(), nb::arg("dims").none(),
           nb::sig("def state(self, name: str, dtype: object, dims: "
                   "collections.abc.Iterable[int | DimExpr]) -> Value"),
           "A buffer that a Session keeps from run to run; `append` alone takes it.")
      .def("op", op, nb::arg("arguments"), nb::arg("keywords"),
           nb::sig("def op(self, op: str, /, *inputs: Value | float, result: str = \"\", "
                   "**attributes: object) -> Value"),
           "The result of an operator, as the text calls it, or of one of the program's; `result`\n"
           "names it. None as an attribute is the operator's default.")
      .def("ops", ops, nb::arg("arguments"), nb::arg("keywords"),
           nb::sig("def ops(self, op: str, /, *inputs: Value | float, results: int | None = None, "
                   "**attributes: object) -> tuple[Value, ...]"),
           "The same for an operator with several results; `results` for one that has any\n"
           "number.")
      .def("output", output, nb::arg("name").none(), nb::arg("value").none(),
           nb::sig("def output(self, name: str, value: Value | float) -> None"),
           "Outputs come in the order of these calls.")
      .def("__repr__", builder_repr, nb::sig("def __repr__(self) -> str"));
  define_weights(own);
  define_whole_model(own);
}

}  // namespace dyn::python
