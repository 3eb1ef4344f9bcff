#include "targets/ptx/emulator/memory/emulated_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "dyn/error.hpp"
#include "targets/ptx/emulator/memory/poison_word.hpp"

namespace dyn::ptx::emulation {
namespace {

constexpr std::size_t alignment = 256;

void* pointer_of(rkernel::DeviceAddress address) { return reinterpret_cast<void*>(address); }

}  // namespace

EmulatedMemory::~EmulatedMemory() {
  for (const auto& [address, bytes] : blocks_) std::free(pointer_of(address));
}

rkernel::DeviceAddress EmulatedMemory::allocate(std::size_t bytes, std::string_view what) {
  const std::lock_guard lock(mutex_);
  const std::size_t free_bytes = limit_bytes_ - used_bytes_;
  const std::size_t rounded =
      std::max(bytes, std::size_t{1}) > SIZE_MAX - alignment
          ? SIZE_MAX
          : (std::max(bytes, std::size_t{1}) + alignment - 1) / alignment * alignment;
  void* memory = rounded > free_bytes ? nullptr : std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) {
    throw Error(
        ErrorKind::device,
        fmt::format("the emulated GPU has no room for {}: {} bytes wanted, {} of {} bytes free",
                    what, bytes, free_bytes, limit_bytes_));
  }
  std::fill_n(static_cast<std::uint32_t*>(memory), rounded / sizeof(std::uint32_t), poison_word);
  const auto address = reinterpret_cast<rkernel::DeviceAddress>(memory);
  blocks_.emplace(address, rounded);
  used_bytes_ += rounded;
  return address;
}

void EmulatedMemory::release(rkernel::DeviceAddress address) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(address);
  if (found == blocks_.end()) return;
  used_bytes_ -= found->second;
  blocks_.erase(found);
  std::free(pointer_of(address));
}

std::size_t EmulatedMemory::bytes_from(rkernel::DeviceAddress address) const {
  const std::lock_guard lock(mutex_);
  auto after = blocks_.upper_bound(address);
  if (after == blocks_.begin()) return 0;
  const auto& [begin, bytes] = *--after;
  return address - begin < bytes ? bytes - (address - begin) : 0;
}

void EmulatedMemory::check(rkernel::DeviceAddress address, std::size_t bytes,
                           std::string_view what) const {
  if (bytes == 0 || bytes_from(address) >= bytes) return;
  throw Error(ErrorKind::device,
              fmt::format("{} of {} bytes at {:#x}: the emulated GPU has no such memory", what,
                          bytes, address));
}

}  // namespace dyn::ptx::emulation
