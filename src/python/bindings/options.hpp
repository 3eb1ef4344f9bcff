#pragma once
// dyn::Options from keyword arguments.

#include <memory>

#include "dyn/options.hpp"
#include "src/python/bindings/host/failure.hpp"

namespace dyn::python {

/// The options of one load, and what Python's objects of this load have raised.
struct LoadOptions : Options {
  std::shared_ptr<PythonFailure> failure;
};

/// Throws Error(user) for a name that is none of an option, and for a value of another type; its
/// message names the option.
/// `failure`: what the options' objects note their exceptions in.
LoadOptions to_options(const nb::dict& keywords,
                       std::shared_ptr<PythonFailure> failure = std::make_shared<PythonFailure>());

/// The names of all options, and what each takes.
nb::dict option_types();

}  // namespace dyn::python
