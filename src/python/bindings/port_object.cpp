#include "src/python/bindings/port_object.hpp"

#include <memory>

#include "src/python/bindings/info_objects.hpp"

namespace dyn::python {
namespace {

/// (1, "S", "2*S + 1"); None where the rank is not known.
nb::object port_shape(const PortInfo& port) {
  if (port.shape == "_") return nb::none();
  nb::list shape;
  for (const DimInfo& dim : port.dims)
    shape.append(dim.kind == DimInfo::Kind::constant ? nb::object(nb::int_(dim.low))
                                                     : to_python(dim.text));
  return nb::tuple(shape);
}

nb::object texts_of(const PortInfo& port) {
  return port.texts == nullptr ? nb::none() : to_list(*port.texts);
}

std::string type_of(const PortInfo& port) {
  return (port.texts != nullptr ? "text" : std::string(name_of(port.dtype))) + port.shape;
}

}  // namespace

std::string summary(const std::vector<PortInfo>& ports) {
  std::string text;
  for (const PortInfo& port : ports)
    text += (text.empty() ? "" : ", ") + port.name + ": " + type_of(port);
  return text;
}

void register_port(nb::module_& module) {
  nb::class_<PortInfo>(module, "Port", "An input or output, as the model declares it.")
      .def_prop_ro(
          "name", [](const PortInfo& self) { return to_python(self.name); },
          nb::sig("def name(self) -> str"))
      .def_prop_ro(
          "dtype", [](const PortInfo& self) { return to_python(name_of(self.dtype)); },
          nb::sig("def dtype(self) -> str"),
          "\"f32\", \"i64\", ...; \"i64\" also where the elements are texts.")
      .def_prop_ro(
          "shape", [](const PortInfo& self) { return port_shape(self); },
          nb::sig("def shape(self) -> tuple[int | str, ...] | None"),
          "Sizes, and symbols or expressions as text: (1, \"S\", 768). None: no shape is known.")
      .def_prop_ro(
          "dims",
          [](const PortInfo& self) {
            return self.shape == "_" ? nb::none() : nb::object(nb::tuple(to_list(self.dims)));
          },
          nb::sig("def dims(self) -> tuple[Dim, ...] | None"),
          "One for each size of the shape, with its bounds.")
      .def_prop_ro("texts", texts_of, nb::sig("def texts(self) -> list[str] | None"),
                   "Where the elements are texts: those that the model knows, each once.")
      .def(
          "__repr__",
          [](const PortInfo& self) {
            return to_python("<dyn.Port " + self.name + ": " + type_of(self) + ">");
          },
          nb::sig("def __repr__(self) -> str"));
}

}  // namespace dyn::python
