#include "src/python/bindings/texts.hpp"

#include <string>
#include <vector>

#include "src/python/bindings/arrays/tensor_object.hpp"

namespace dyn::python {
namespace {

std::string element_text(nb::handle element, const PortInfo& port) {
  if (PyUnicode_Check(element.ptr()) != 0) return to_utf8(element);
  if (PyBytes_Check(element.ptr()) != 0) {
    const auto bytes = nb::borrow<nb::bytes>(element);
    return {bytes.c_str(), bytes.size()};
  }
  user_error("input '" + port.name + "' has texts, but an element is " + described(element));
}

Shape shape_of(const nb::object& array) {
  Shape shape;
  for (const nb::handle size : array.attr("shape")) shape.push_back(nb::cast<std::int64_t>(size));
  return shape;
}

}  // namespace

Tensor encode(TextCoder& coder, const PortInfo& port, nb::handle array) {
  if (array.is_none()) user_error("input '" + port.name + "' is None, but it has texts");
  const nb::object objects =
      nb::module_::import_("numpy").attr("asarray")(array, nb::arg("dtype") = "object");
  const nb::object elements = objects.attr("ravel")().attr("tolist")();
  std::vector<std::string> texts;
  for (const nb::handle element : elements) texts.push_back(element_text(element, port));
  return coder.encode(port.name, texts, shape_of(objects));
}

nb::object decode(const TextCoder& coder, const PortInfo& port, const Tensor& tensor) {
  const std::vector<std::string> texts = coder.decode(port.name, tensor);
  nb::list elements;
  for (const std::string& text : texts) elements.append(to_python(text));
  const nb::object flat =
      nb::module_::import_("numpy").attr("array")(elements, nb::arg("dtype") = "object");
  return flat.attr("reshape")(to_python(tensor.shape()));
}

}  // namespace dyn::python
