// Calls and sessions.

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "src/c/objects.hpp"

using dyn::Call;
using dyn::Session;
using dyn::c::CallHandle;
using dyn::c::gives;
using dyn::c::GraphHandle;
using dyn::c::guarded;
using dyn::c::makes;
using dyn::c::required_text;
using dyn::c::SessionHandle;
using dyn::c::TensorHandle;
using dyn::c::Used;

extern "C" {

dyn_status* dyn_call_create(const dyn_graph* graph, dyn_call** call) noexcept {
  return makes<CallHandle>(call, "call", [&] { return Call(*Used<GraphHandle>(graph)); });
}

dyn_status* dyn_call_create_in_session(const dyn_session* session, dyn_call** call) noexcept {
  return makes<CallHandle>(call, "call", [&] {
    const Used<SessionHandle> used(session);
    return Call(std::as_const(*used));
  });
}

dyn_status* dyn_call_set_input(dyn_call* call, size_t index, const dyn_tensor* tensor) noexcept {
  return guarded([&] {
    const Used<CallHandle> used(call);
    used->set_input(index, *Used<TensorHandle>(tensor));
  });
}

dyn_status* dyn_call_set_output(dyn_call* call, size_t index, dyn_tensor* tensor) noexcept {
  return guarded([&] {
    const Used<CallHandle> used(call);
    used->set_output(index, *Used<TensorHandle>(tensor));
  });
}

dyn_status* dyn_call_input_index(const dyn_call* call, const char* name, size_t* index) noexcept {
  return gives(index, "index",
               [&] { return Used<CallHandle>(call)->input_index(required_text(name, "name")); });
}

dyn_status* dyn_call_output_index(const dyn_call* call, const char* name, size_t* index) noexcept {
  return gives(index, "index",
               [&] { return Used<CallHandle>(call)->output_index(required_text(name, "name")); });
}

dyn_status* dyn_call_set_output_device(dyn_call* call, size_t index,
                                       const dyn_device* device) noexcept {
  return guarded([&] {
    const Used<CallHandle> used(call);
    used->set_output(index, Used<dyn::c::DeviceHandle>(device)->device);
  });
}

dyn_status* dyn_call_set_stream(dyn_call* call, const dyn_stream* stream) noexcept {
  return guarded([&] {
    const Used<CallHandle> used(call);
    used->set_stream(*Used<dyn::c::StreamHandle>(stream));
  });
}

dyn_status* dyn_call_run(dyn_call* call) noexcept {
  return guarded([&] { Used<CallHandle>(call)->run(); });
}

dyn_status* dyn_call_run_with(dyn_call* call, const dyn_run_options* options) noexcept {
  return guarded([&] {
    const dyn::RunOptions ends = dyn::c::run_options_of(options);
    Used<CallHandle>(call)->run(ends);
  });
}

dyn_status* dyn_call_wait(dyn_call* call) noexcept {
  return guarded([&] { Used<CallHandle>(call)->wait(); });
}

dyn_status* dyn_call_output(const dyn_call* call, size_t index, dyn_tensor** tensor) noexcept {
  return makes<TensorHandle>(tensor, "tensor",
                             [&] { return Used<CallHandle>(call)->output(index); });
}

void dyn_call_release(dyn_call* call) noexcept { dyn::c::release_handle(CallHandle::kind, call); }

dyn_status* dyn_session_create(const dyn_graph* graph, size_t dim_count, const dyn_named_size* dims,
                               dyn_session** session) noexcept {
  return makes<SessionHandle>(session, "session", [&] {
    std::map<std::string, std::int64_t> sizes;
    for (const dyn_named_size& dim : dyn::c::required_array(dims, dim_count, "dims"))
      sizes[std::string(required_text(dim.name, "dims[].name"))] = dim.size;
    return Session(*Used<GraphHandle>(graph), sizes);
  });
}

dyn_status* dyn_session_run(dyn_session* session, size_t input_count,
                            const dyn_named_tensor* inputs, size_t output_count,
                            dyn_tensor** outputs) noexcept {
  return dyn_session_run_with(session, input_count, inputs, output_count, outputs, nullptr);
}

dyn_status* dyn_session_run_with(dyn_session* session, size_t input_count,
                                 const dyn_named_tensor* inputs, size_t output_count,
                                 dyn_tensor** outputs, const dyn_run_options* options) noexcept {
  return guarded([&] {
    dyn::c::clear_outputs(output_count, outputs);
    const dyn::RunOptions ends = dyn::c::run_options_of(options);
    const Used<SessionHandle> used(session);
    dyn::c::give_outputs(used->run(dyn::c::named_tensors(input_count, inputs), ends), output_count,
                         outputs);
  });
}

dyn_status* dyn_session_length(const dyn_session* session, int64_t* length) noexcept {
  return gives(length, "length", [&] { return Used<SessionHandle>(session)->length(); });
}

dyn_status* dyn_session_truncate(dyn_session* session, int64_t length) noexcept {
  return guarded([&] { Used<SessionHandle>(session)->truncate(length); });
}

dyn_status* dyn_session_reset(dyn_session* session) noexcept {
  return guarded([&] { Used<SessionHandle>(session)->reset(); });
}

dyn_status* dyn_session_bytes(const dyn_session* session, size_t* bytes) noexcept {
  return gives(bytes, "bytes", [&] { return Used<SessionHandle>(session)->bytes(); });
}

void dyn_session_release(dyn_session* session) noexcept {
  dyn::c::release_handle(SessionHandle::kind, session);
}

}  // extern "C"
