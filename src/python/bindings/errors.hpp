#pragma once
// dyn::Error as Python's dyn.Error.

#include <string>
#include <string_view>

#include <nanobind/nanobind.h>

#include "dyn/error.hpp"

namespace dyn::python {

namespace nb = nanobind;

/// From now on a dyn::Error that leaves C++ is an exception of dyn.errors, of the class of its
/// kind.
void register_errors();

/// Sets Python's error. `cause`: the exception that led to it, or an invalid object.
void raise_python(const Error& error, const nb::object& cause = {});

[[noreturn]] void user_error(const std::string& message);

/// UTF-8 by convention: bytes that are none become lone surrogates, as in Python's own paths.
nb::object to_python(std::string_view text);
/// The inverse. Throws Python's own error where `text` is no str.
std::string to_utf8(nb::handle text);

/// str(object)
std::string text_of(nb::handle object);

/// "a list", "an int", "a numpy.ndarray", "None": what a message calls an object.
std::string described(nb::handle object);

/// The message of a Python error, on one line.
std::string message_of(nb::python_error& error);
/// The same with its type: "KeyError: 'w'".
std::string words_of(nb::python_error& error);

}  // namespace dyn::python
