// The fake driver's memory.

#include <cstdlib>

#include "tests/support/fake_cuda/state.hpp"

namespace dyn::test::fake {
namespace {

constexpr std::size_t alignment = 256;

std::size_t used_bytes() {
  std::size_t bytes = 0;
  for (const auto& [address, size] : state().memory) bytes += size;
  return bytes;
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
  state().devices[*address] = context_stack().back()->device;
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

Result cuMemAllocAsync(DevicePointer* address, std::size_t bytes, StreamHandle stream) {
  DYN_FAKE_CALL(Context);
  if (!state().control.memory_pools || !state().streams.contains(stream))
    return call.misuse(Result::InvalidHandle);
  ++state().control.counts.ordered_allocations;
  return cuMemAlloc(address, bytes);
}

// From now on the caller may not use it; work queued before may.
Result cuMemFreeAsync(DevicePointer address, StreamHandle stream) {
  DYN_FAKE_CALL(Context);
  if (!state().control.memory_pools || !state().streams.contains(stream))
    return call.misuse(Result::InvalidHandle);
  const auto found = state().memory.find(address);
  if (found == state().memory.end()) return call.misuse(Result::InvalidValue);
  state().released.insert(*found);
  state().memory.erase(found);
  stream->queue.push_back([address] {
    state().released.erase(address);
    std::free(reinterpret_cast<void*>(address));
  });
  ++state().control.counts.memory.ended;
  return Result::Success;
}

Result cuPointerGetAttribute(void* value, PointerAttribute attribute, DevicePointer address) {
  DYN_FAKE_CALL(Context);
  const auto next = state().memory.upper_bound(address);
  if (next == state().memory.begin() || !inside(state().memory, address, 1))
    return Result::InvalidValue;
  const auto& [begin, bytes] = *std::prev(next);
  switch (attribute) {
    case PointerAttribute::MemoryType:
      *static_cast<unsigned*>(value) = memory_of_device;
      return Result::Success;
    case PointerAttribute::DeviceOrdinal:
      *static_cast<int*>(value) = state().devices.at(begin);
      return Result::Success;
    case PointerAttribute::RangeStart:
      *static_cast<DevicePointer*>(value) = begin;
      return Result::Success;
    case PointerAttribute::RangeSize:
      *static_cast<std::size_t*>(value) = bytes;
      return Result::Success;
  }
  return call.misuse(Result::InvalidValue);
}

Result cuMemHostAlloc(void** memory, std::size_t bytes, unsigned int) {
  DYN_FAKE_CALL(Context);
  if (bytes > state().control.host_memory_bytes) return Result::OutOfMemory;
  *memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
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

}  // namespace dyn::test::fake
