// The extension module dyn._dyn. dyn/__init__.py has what users see.

#include <nanobind/nanobind.h>

#include "dyn/version.hpp"
#include "src/python/bindings/arrays/dtypes.hpp"
#include "src/python/bindings/arrays/tensor_object.hpp"
#include "src/python/bindings/build/builder_object.hpp"
#include "src/python/bindings/graph_object.hpp"
#include "src/python/bindings/host/async_run.hpp"
#include "src/python/bindings/host/functions.hpp"
#include "src/python/bindings/operators/operator_object.hpp"
#include "src/python/bindings/options.hpp"
#include "src/python/bindings/profile_object.hpp"

NB_MODULE(_dyn, module) {
  namespace python = dyn::python;
  namespace nb = nanobind;
  module.doc() = "dyn's C++ library.";
  nb::set_leak_warnings(false);  // what a program still has at its end is its own affair
  python::register_errors();
  python::register_port(module);
  python::register_task(module);
  python::register_tensor(module);
  python::register_builder(module);
  python::register_operator(module);
  python::register_profile(module);
  python::register_graph(module);
  python::register_session(module);
  python::register_call(module);
  module.def(
      "dtype_name",
      [](nb::handle dtype) { return python::to_python(name_of(python::to_dtype(dtype))); },
      nb::arg("dtype").none(), nb::sig("def dtype_name(dtype: object) -> str"),
      "dyn's name of a dtype of NumPy.");
  module.def(
      "numpy_dtype", [](nb::handle dtype) { return python::numpy_dtype(python::to_dtype(dtype)); },
      nb::arg("dtype").none(), nb::sig("def numpy_dtype(dtype: object) -> numpy.dtype[typing.Any]"),
      "NumPy's dtype of one of dyn's names.");
  module.def("_wait_for_runs", python::wait_for_runs, nb::sig("def _wait_for_runs() -> None"),
             "Until no thread of dyn's own has a run of run_async left.");
  module.def("option_types", python::option_types, nb::sig("def option_types() -> dict[str, str]"),
             "The names of all options, and what each takes.");
  module.attr("version") = dyn::version();
}
