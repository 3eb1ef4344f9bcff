#pragma once
// dyn::Options from keyword arguments.

#include "dyn/options.hpp"
#include "src/python/bindings/errors.hpp"

namespace dyn::python {

/// Throws Error(user) for a name that is none of an option, and for a value of another type; its
/// message names the option.
Options to_options(const nb::dict& keywords);

/// The names of all options, and what each takes.
nb::dict option_types();

}  // namespace dyn::python
