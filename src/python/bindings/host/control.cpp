#include "src/python/bindings/host/control.hpp"

#include <chrono>
#include <cmath>
#include <string>

namespace dyn::python {
namespace {

using Clock = std::chrono::steady_clock;

Clock::time_point deadline_after(nb::handle timeout) {
  const double seconds = PyFloat_AsDouble(timeout.ptr());
  const bool is_number = seconds != -1 || PyErr_Occurred() == nullptr;
  if (!is_number) PyErr_Clear();
  if (!is_number || !(seconds >= 0))
    user_error("a timeout is a number of seconds, 0 and more, or None, not " +
               to_utf8(nb::repr(timeout)));
  const Clock::time_point now = Clock::now();
  const std::chrono::duration<double> given(seconds), room = Clock::time_point::max() - now;
  if (given >= room) return Clock::time_point::max();
  return now + std::chrono::duration_cast<Clock::duration>(given);
}

}  // namespace

RunOptions to_run_options(nb::handle timeout, nb::handle cancellation) {
  RunOptions options;
  if (!timeout.is_none()) options.deadline = deadline_after(timeout);
  if (cancellation.is_none()) return options;
  if (!nb::isinstance<Cancellation>(cancellation) || !nb::inst_ready(cancellation))
    user_error("a run is ended by a dyn.Cancellation, not by " + described(cancellation));
  options.cancellation = *nb::inst_ptr<Cancellation>(cancellation);
  return options;
}

void register_cancellation(nb::module_& module) {
  nb::class_<Cancellation>(
      module, "Cancellation",
      "Ends the runs that it was given to: they raise CancelledError, soon and in their own\n"
      "threads. Any number of threads may use one, and give it to several runs. Once cancelled it\n"
      "stays so.")
      .def(nb::init<>())
      .def("cancel", &Cancellation::cancel, "Waits for nothing.")
      .def_prop_ro("cancelled", &Cancellation::cancelled)
      .def("__repr__", [](const Cancellation& self) {
        return self.cancelled() ? "<dyn.Cancellation, cancelled>" : "<dyn.Cancellation>";
      });
}

}  // namespace dyn::python
