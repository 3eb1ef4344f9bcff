#include "src/python/bindings/errors.hpp"

#include <exception>

namespace dyn::python {

void raise_python(const Error& error, const nb::object& cause) {
  nb::list where;
  for (const std::string& place : error.where()) where.append(to_python(place));
  const nb::object type =
      nb::module_::import_("dyn.errors").attr("class_of_kind")(to_python(name_of(error.kind())));
  const nb::object value = type(to_python(error.message()), where);
  if (cause.is_valid()) PyException_SetCause(value.ptr(), nb::borrow(cause).release().ptr());
  PyErr_SetObject(type.ptr(), value.ptr());
}

namespace {

void translate(const std::exception_ptr& thrown, void* /*payload*/) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    try {
      raise_python(error);
    } catch (nb::python_error& other) { other.restore(); }
  }
}

}  // namespace

void register_errors() { nb::register_exception_translator(translate); }

void user_error(const std::string& message) { throw Error(ErrorKind::user, message); }

nb::object to_python(std::string_view text) {
  PyObject* decoded =
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape");
  if (decoded == nullptr) throw nb::python_error();
  return nb::steal(decoded);
}

std::string to_utf8(nb::handle text) {
  Py_ssize_t size = 0;
  if (const char* bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size); bytes != nullptr)
    return {bytes, static_cast<std::size_t>(size)};
  if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) throw nb::python_error();
  PyErr_Clear();  // lone surrogates
  PyObject* encoded = PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogateescape");
  if (encoded == nullptr) throw nb::python_error();
  const nb::bytes bytes = nb::steal<nb::bytes>(encoded);
  return {bytes.c_str(), bytes.size()};
}

std::string text_of(nb::handle object) {
  PyObject* const text = PyObject_Str(object.ptr());
  if (text == nullptr) throw nb::python_error();
  return to_utf8(nb::steal(text));
}

std::string described(nb::handle object) {
  if (object.is_none()) return "None";
  const nb::handle type = object.type();
  const std::string module = text_of(type.attr("__module__"));
  std::string name = text_of(type.attr("__qualname__"));
  if (module != "builtins") name = module + "." + name;
  constexpr std::string_view vowels = "aeiouAEIOU";
  return (vowels.find(name.front()) == std::string_view::npos ? "a " : "an ") + name;
}

std::string message_of(nb::python_error& error) {
  std::string text = text_of(error.value());
  for (char& letter : text)
    if (letter == '\n') letter = ' ';
  return text.empty() ? described(error.value()) : text;
}

std::string words_of(nb::python_error& error) {
  return text_of(error.type().attr("__name__")) + ": " + message_of(error);
}

}  // namespace dyn::python
