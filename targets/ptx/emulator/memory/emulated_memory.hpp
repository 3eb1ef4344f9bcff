#pragma once
// Device memory in host memory, with a limit, and with a register of allocations.

#include <cstddef>
#include <map>
#include <mutex>
#include <string_view>

#include "src/rkernel/target/device.hpp"

namespace dyn::ptx::emulation {

/// Thread-safe.
class EmulatedMemory {
 public:
  explicit EmulatedMemory(std::size_t limit_bytes) : limit_bytes_(limit_bytes) {}
  ~EmulatedMemory();
  rkernel::DeviceAddress allocate(std::size_t bytes, std::string_view what);
  void release(rkernel::DeviceAddress address) noexcept;
  /// Counts the bytes that follow an address in its allocation; 0 where it lies in none.
  std::size_t bytes_from(rkernel::DeviceAddress address) const;
  /// Throws Error(device) where the bytes do not lie in one allocation.
  void check(rkernel::DeviceAddress address, std::size_t bytes, std::string_view what) const;

 private:
  mutable std::mutex mutex_;
  std::map<rkernel::DeviceAddress, std::size_t> blocks_;  ///< bytes by address
  const std::size_t limit_bytes_;
  std::size_t used_bytes_ = 0;
};

}  // namespace dyn::ptx::emulation
