// The fake driver's memory and modules.

#include <cstdlib>
#include <cstring>
#include <regex>

#include "tests/support/fake_cuda/state.hpp"

namespace dyn::test::fake {
namespace {

constexpr std::size_t alignment = 256;

std::size_t used_bytes() {
  std::size_t bytes = 0;
  for (const auto& [address, size] : state().memory) bytes += size;
  return bytes;
}

// What JIT options say, by name.
void* option(unsigned int count, const JitOption* names, void* const* values, JitOption wanted) {
  for (unsigned int i = 0; i < count; ++i) {
    if (names[i] == wanted) return values[i];
  }
  return nullptr;
}

}  // namespace

Result cuMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes) {
  DYN_FAKE_CALL(Context);
  *total_bytes = state().control.memory_bytes;
  *free_bytes = *total_bytes - used_bytes();
  return Result::Success;
}

Result cuMemAlloc(DevicePointer* address, std::size_t bytes) {
  DYN_FAKE_CALL(Context);
  if (bytes == 0) return call.misuse(Result::InvalidValue);
  if (bytes > state().control.memory_bytes - used_bytes()) return Result::OutOfMemory;
  void* memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  *address = reinterpret_cast<DevicePointer>(memory);
  state().memory.emplace(*address, bytes);
  ++state().control.counts.memory.made;
  return Result::Success;
}

Result cuMemFree(DevicePointer address) {
  DYN_FAKE_CALL(Context);
  run_all_streams();
  if (state().memory.erase(address) == 0) return call.misuse(Result::InvalidValue);
  std::free(reinterpret_cast<void*>(address));
  ++state().control.counts.memory.ended;
  return Result::Success;
}

Result cuMemHostAlloc(void** memory, std::size_t bytes, unsigned int) {
  DYN_FAKE_CALL(Context);
  *memory = std::malloc(bytes);
  state().host_memory.emplace(*memory, bytes);
  ++state().control.counts.host_memory.made;
  return Result::Success;
}

Result cuMemFreeHost(void* memory) {
  DYN_FAKE_CALL(Context);
  run_all_streams();
  if (state().host_memory.erase(memory) == 0) return call.misuse(Result::InvalidValue);
  std::free(memory);
  ++state().control.counts.host_memory.ended;
  return Result::Success;
}

Result cuModuleLoadDataEx(ModuleHandle* module, const void* image, unsigned int options,
                          JitOption* names, void** values) {
  const Call call(__func__, Call::Needs::Context);
  if (call.result() != Result::Success) {
    if (const char* log = state().control.compiler_log) {
      char* buffer = static_cast<char*>(option(options, names, values, JitOption::ErrorLogBuffer));
      const auto capacity = reinterpret_cast<std::size_t>(
          option(options, names, values, JitOption::ErrorLogBufferSizeBytes));
      if (buffer != nullptr) std::strncpy(buffer, log, capacity);
    }
    return call.result();
  }
  const std::string ptx = static_cast<const char*>(image);
  auto made = std::make_unique<ModuleTag>();
  const std::regex entry(R"(\.entry\s+(\w+))");
  for (auto match = std::sregex_iterator(ptx.begin(), ptx.end(), entry);
       match != std::sregex_iterator(); ++match)
    made->symbols.insert((*match)[1]);
  if (made->symbols.empty()) return Result::InvalidPtx;
  *module = made.release();
  state().modules.insert(*module);
  ++state().control.counts.modules.made;
  return Result::Success;
}

Result cuModuleUnload(ModuleHandle module) {
  DYN_FAKE_CALL(Context);
  run_all_streams();
  if (state().modules.erase(module) == 0) return call.misuse(Result::InvalidHandle);
  for (FunctionHandle function : module->functions) delete function;
  delete module;
  ++state().control.counts.modules.ended;
  return Result::Success;
}

Result cuModuleGetFunction(FunctionHandle* function, ModuleHandle module, const char* name) {
  DYN_FAKE_CALL(Context);
  if (!state().modules.contains(module)) return call.misuse(Result::InvalidHandle);
  if (!module->symbols.contains(name)) return Result::NotFound;
  *function = new FunctionTag{name};
  module->functions.push_back(*function);
  return Result::Success;
}

Result cuFuncSetAttribute(FunctionHandle function, FunctionAttribute, int value) {
  DYN_FAKE_CALL(Context);
  int most = 0;
  cuDeviceGetAttribute(&most, Attribute::MaxSharedMemoryPerBlockOptin, 0);
  if (value > most) return Result::InvalidValue;
  function->dynamic_shared_bytes = value;
  state().control.counts.opted_in_shared_bytes = value;
  return Result::Success;
}

}  // namespace dyn::test::fake
