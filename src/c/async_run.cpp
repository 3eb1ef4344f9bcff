// Runs beside their callers, and what ends them.

#include <cstddef>
#include <cstdint>
#include <exception>
#include <utility>
#include <vector>

#include "src/c/objects.hpp"

using dyn::c::AsyncRunHandle;
using dyn::c::CancellationHandle;
using dyn::c::gives;
using dyn::c::GraphHandle;
using dyn::c::guarded;
using dyn::c::makes;
using dyn::c::Used;

namespace {

dyn_status* status_of(const std::exception_ptr& failure) noexcept {
  return guarded([&] { std::rethrow_exception(failure); });
}

/// Calls `done` once: with the outputs, or with why there are none, handles for them included.
void hand_over(dyn_done_function done, void* context, const dyn::Outputs& outputs,
               const std::exception_ptr& failure) {
  if (failure) return done(context, status_of(failure), 0, nullptr);
  std::vector<dyn_tensor*> handles;
  if (dyn_status* const status = guarded([&] {
        handles.resize(outputs.size());
        dyn::c::give_outputs(outputs, handles.size(), handles.data());
      }))
    return done(context, status, 0, nullptr);
  done(context, nullptr, handles.size(), handles.data());
}

}  // namespace

extern "C" {

dyn_status* dyn_cancellation_create(dyn_cancellation** cancellation) noexcept {
  return makes<CancellationHandle>(cancellation, "cancellation",
                                   [] { return dyn::Cancellation(); });
}

dyn_status* dyn_cancellation_cancel(const dyn_cancellation* cancellation) noexcept {
  return guarded([&] { Used<CancellationHandle>(cancellation)->cancel(); });
}

dyn_status* dyn_cancellation_is_cancelled(const dyn_cancellation* cancellation,
                                          bool* is_cancelled) noexcept {
  return gives(is_cancelled, "is_cancelled",
               [&] { return Used<CancellationHandle>(cancellation)->cancelled(); });
}

void dyn_cancellation_release(dyn_cancellation* cancellation) noexcept {
  dyn::c::release_handle(CancellationHandle::kind, cancellation);
}

dyn_status* dyn_graph_run_async(const dyn_graph* graph, size_t input_count,
                                const dyn_named_tensor* inputs, const dyn_run_options* options,
                                dyn_async_run** run) noexcept {
  return makes<AsyncRunHandle>(run, "run", [&] {
    return Used<GraphHandle>(graph)->run_async(dyn::c::named_tensors(input_count, inputs),
                                               dyn::c::run_options_of(options));
  });
}

dyn_status* dyn_graph_run_async_then(const dyn_graph* graph, size_t input_count,
                                     const dyn_named_tensor* inputs, const dyn_run_options* options,
                                     dyn_done_function done, void* context) noexcept {
  return guarded([&] {
    dyn::c::check_function(done, "done");
    Used<GraphHandle>(graph)->run_async(
        dyn::c::named_tensors(input_count, inputs), dyn::c::run_options_of(options),
        [done, context](const dyn::Outputs& outputs, const std::exception_ptr& failure) {
          hand_over(done, context, outputs, failure);
        });
  });
}

dyn_status* dyn_async_run_is_over(const dyn_async_run* run, bool* is_over) noexcept {
  return gives(is_over, "is_over", [&] { return Used<AsyncRunHandle>(run)->is_over(); });
}

dyn_status* dyn_async_run_wait(const dyn_async_run* run, int64_t timeout_ns,
                               bool* is_over) noexcept {
  return gives(is_over, "is_over", [&] {
    return Used<AsyncRunHandle>(run)->wait_until(dyn::c::time_after(timeout_ns));
  });
}

dyn_status* dyn_async_run_cancel(const dyn_async_run* run) noexcept {
  return guarded([&] { Used<AsyncRunHandle>(run)->cancel(); });
}

dyn_status* dyn_async_run_get(dyn_async_run* run, size_t output_count,
                              dyn_tensor** outputs) noexcept {
  return guarded([&] {
    dyn::c::clear_outputs(output_count, outputs);
    dyn::c::give_outputs(Used<AsyncRunHandle>(run)->get(), output_count, outputs);
  });
}

void dyn_async_run_release(dyn_async_run* run) noexcept {
  dyn::c::release_handle(AsyncRunHandle::kind, run);
}

}  // extern "C"
