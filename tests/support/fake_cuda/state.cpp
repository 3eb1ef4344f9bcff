#include "tests/support/fake_cuda/state.hpp"

#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>

namespace dyn::test::fake {
namespace {

void from_environment(const char* name, auto& value) {
  if (const char* text = std::getenv(name))
    value = static_cast<std::remove_reference_t<decltype(value)>>(std::strtoull(text, nullptr, 10));
}

}  // namespace

FakeCuda control_from_environment() {
  FakeCuda control;
  from_environment("FAKE_CUDA_DEVICES", control.devices);
  from_environment("FAKE_CUDA_CAPABILITY", control.capability);
  from_environment("FAKE_CUDA_DRIVER_VERSION", control.driver_version);
  from_environment("FAKE_CUDA_MEMORY_BYTES", control.memory_bytes);
  control.failing_function = std::getenv("FAKE_CUDA_FAILING_FUNCTION");
  from_environment("FAKE_CUDA_FAILING_CALL", control.failing_call);
  from_environment("FAKE_CUDA_FAILURE", control.failure);
  from_environment("FAKE_CUDA_ASYNCHRONOUS_FAILURE", control.asynchronous_failure);
  return control;
}

State& state() {
  static State& instance = *[] {
    auto* made = new State;
    made->control = control_from_environment();
    return made;
  }();
  return instance;
}

std::vector<ContextHandle>& context_stack() {
  thread_local std::vector<ContextHandle> stack;
  return stack;
}

Call::Call(const char* function, Needs needs) : function_(function), lock_(state().mutex) {
  State& s = state();
  FakeCuda& control = s.control;
  if (control.failing_function != nullptr && std::strcmp(control.failing_function, function) == 0 &&
      --control.failing_call == 0) {
    control.failing_function = nullptr;
    result_ = control.failure;
  } else if (needs != Needs::Nothing && !s.initialised) {
    result_ = misuse(Result::NotInitialized);
  } else if (needs == Needs::Context) {
    if (context_stack().empty() || context_stack().back()->retained == 0) {
      result_ = misuse(Result::InvalidContext);
    } else {
      result_ = context_stack().back()->sticky;
    }
  }
}

Result Call::misuse(Result result) const {
  ++state().control.counts.misuses;
  state().control.counts.last_misuse = function_;
  return result;
}

bool inside(const std::map<DevicePointer, std::size_t>& blocks, DevicePointer at,
            std::size_t bytes) {
  auto next = blocks.upper_bound(at);
  if (next == blocks.begin()) return false;
  const auto& [begin, size] = *std::prev(next);
  return at - begin <= size && bytes <= size - (at - begin);
}

bool page_locked(const void* at) {
  const auto& blocks = state().host_memory;
  auto next = blocks.upper_bound(at);
  if (next == blocks.begin()) return false;
  const auto& [begin, size] = *std::prev(next);
  return static_cast<const char*>(at) < static_cast<const char*>(begin) + size;
}

void run_until(StreamTag& stream, std::int64_t place) {
  while (stream.done < place) {
    const auto work = std::move(stream.queue.front());
    stream.queue.pop_front();
    ++stream.done;
    if (stream.context->sticky == Result::Success) work();
  }
}

void run_all_streams() {
  for (StreamHandle stream : state().streams) run_until(*stream, stream->end());
}

void free_all() {
  State& s = state();
  for (const auto& [address, bytes] : s.memory) std::free(reinterpret_cast<void*>(address));
  for (const auto& [address, bytes] : s.host_memory) std::free(const_cast<void*>(address));
  for (ModuleHandle module : s.modules) {
    for (FunctionHandle function : module->functions) delete function;
    delete module;
  }
  s.memory.clear();
  s.host_memory.clear();
  s.modules.clear();
  FakeCounts& counts = s.control.counts;
  for (FakeBalance* balance : {&counts.memory, &counts.host_memory, &counts.modules})
    balance->ended = balance->made;
}

}  // namespace dyn::test::fake

extern "C" {
__attribute__((visibility("default"))) dyn::test::FakeCuda* dyn_fake_cuda() {
  return &dyn::test::fake::state().control;
}
__attribute__((visibility("default"))) void dyn_fake_cuda_reset() {
  dyn::test::fake::state().control = dyn::test::fake::control_from_environment();
}
__attribute__((visibility("default"))) int dyn_fake_cuda_current_device() {
  const auto& stack = dyn::test::fake::context_stack();
  return stack.empty() ? -1 : stack.back()->device;
}
}
