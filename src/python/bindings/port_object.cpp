#include "src/python/bindings/port_object.hpp"

#include <charconv>
#include <memory>
#include <string_view>

#include <nanobind/stl/string.h>

namespace dyn::python {
namespace {

nb::object dim_of(std::string_view word) {
  while (word.starts_with(' ')) word.remove_prefix(1);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error == std::errc() && end == word.data() + word.size()) return nb::int_(number);
  return to_python(word);
}

/// (1, "S", "2*S + 1"); None where the text declares no dims.
nb::object dims_of(std::string_view text) {
  if (!text.starts_with('[') || !text.ends_with(']')) return nb::none();
  text = text.substr(1, text.size() - 2);
  nb::list dims;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size() && !text.empty(); ++i) {
    const char letter = i < text.size() ? text[i] : ',';
    depth += letter == '(' ? 1 : letter == ')' ? -1 : 0;
    if (letter != ',' || (depth > 0 && i < text.size())) continue;
    dims.append(dim_of(text.substr(begin, i - begin)));
    begin = i + 1;
  }
  return nb::tuple(dims);
}

nb::object texts_of(const PortInfo& port) {
  if (port.texts == nullptr) return nb::none();
  nb::list texts;
  for (const std::string& text : *port.texts) texts.append(to_python(text));
  return texts;
}

std::string type_of(const PortInfo& port) {
  return (port.texts != nullptr ? "text" : std::string(name_of(port.dtype))) + port.shape;
}

}  // namespace

nb::object to_python(const std::vector<PortInfo>& ports) {
  nb::list list;
  for (const PortInfo& port : ports) list.append(nb::cast(port));
  return list;
}

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
          "shape", [](const PortInfo& self) { return dims_of(self.shape); },
          nb::sig("def shape(self) -> tuple[int | str, ...] | None"),
          "Sizes, and symbols or expressions as text: (1, \"S\", 768). None: no shape is known.")
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
