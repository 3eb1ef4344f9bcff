#pragma once
// The memory of one state of a session, as a run sees it.

#include <cstddef>
#include <cstdint>

#include "src/rkernel/target/device.hpp"

namespace dyn::runtime {

/// Runs of `bytes` bytes, `stride` apart, the first at `offset`.
struct Strips {
  std::size_t offset = 0, bytes = 0, stride = 0;
  std::int64_t count = 0;
};

/// A state lies in the memory of each machine that has a group which touches it. Between runs both
/// memories hold the same.
struct StateMemory {
  void* host = nullptr;          ///< nullptr: none there
  rkernel::OperandRange device;  ///< address 0: none there
  Strips changing;               ///< a run changes no more than this, alike in both memories
};

/// Calls visit(offset, bytes) for each of them.
template <class Visit>
void for_each_strip(const Strips& strips, const Visit& visit) {
  std::size_t offset = strips.offset;
  for (std::int64_t i = 0; i < strips.count; ++i, offset += strips.stride)
    visit(offset, strips.bytes);
}

}  // namespace dyn::runtime
