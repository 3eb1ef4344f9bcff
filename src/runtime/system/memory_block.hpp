#pragma once
// Large memory straight from the system: zeroed, aligned to pages, with huge pages where the system
// grants them.

#include <cstddef>

namespace dyn::runtime {

class MemoryBlock {
 public:
  MemoryBlock() = default;
  /// Throws Error(device) where there is no memory. `what` is for the message: "weights".
  MemoryBlock(std::size_t bytes, const char* what);
  ~MemoryBlock();
  MemoryBlock(MemoryBlock&& other) noexcept;
  MemoryBlock& operator=(MemoryBlock&& other) noexcept;

  std::byte* data() const noexcept { return static_cast<std::byte*>(data_); }
  std::size_t size() const noexcept { return size_; }

  /// At least `bytes` long. What it holds may be lost, and the address may change; pages that were
  /// touched stay so while they keep their size, so that growing step by step does not clear twice.
  /// Throws Error(device) and changes nothing where there is no memory.
  void grow(std::size_t bytes, const char* what);

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace dyn::runtime
