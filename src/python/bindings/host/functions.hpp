#pragma once
// Functions and objects of Python that dyn calls: a log, progress, an executor.

#include <functional>
#include <memory>
#include <string_view>

#include "dyn/options.hpp"
#include "src/python/bindings/errors.hpp"

namespace dyn::python {

/// An exception of `function(level, line)` is Python's `unraisable`.
std::function<void(LogLevel, std::string_view)> log_function(nb::object function);

/// `function(stage, done, total)`: False ends the load, and what it raises comes out of it.
std::function<bool(const LoadProgress&)> progress_function(nb::object function);

/// Over `submit(function)` of an object such as a ThreadPoolExecutor. Throws Error(user) where it
/// lacks that, or does not say how many threads it has.
std::shared_ptr<Executor> make_executor(nb::handle executor);

/// The type of what an executor runs.
void register_task(nb::module_& module);

}  // namespace dyn::python
