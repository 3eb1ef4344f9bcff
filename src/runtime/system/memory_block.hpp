#pragma once
// Large memory straight from the system: zeroed, aligned to pages, with huge pages where the system
// grants them. Or from the host's allocator.

#include <cstddef>
#include <memory>

#include "dyn/allocator.hpp"

namespace dyn::runtime {

/// At a multiple of 64, of any contents; the last owner gives it back. Throws Error(device) where
/// the allocator has no memory, Error(user) where it gives another address. `what` is for the
/// message: "weights".
std::shared_ptr<void> allocated(std::shared_ptr<Allocator> allocator, std::size_t bytes,
                                const char* what);

class MemoryBlock {
 public:
  MemoryBlock() = default;
  /// Empty; it grows by this allocator's memory, as allocated() does. nullptr: the system's.
  explicit MemoryBlock(std::shared_ptr<Allocator> allocator) : allocator_(std::move(allocator)) {}
  /// Throws Error(device) where there is no memory. `what` is for the message: "weights".
  MemoryBlock(std::size_t bytes, const char* what);
  ~MemoryBlock();
  MemoryBlock(MemoryBlock&& other) noexcept;
  MemoryBlock& operator=(MemoryBlock&& other) noexcept;

  std::byte* data() const noexcept { return static_cast<std::byte*>(data_); }
  std::size_t size() const noexcept { return size_; }

  /// Empty again, with the same allocator.
  void release() noexcept;

  /// At least `bytes` long. Zeroed where it was empty. What it holds may be lost, and the address
  /// may change; pages that were touched stay so while they keep their size, so that growing step
  /// by step does not clear twice. Throws Error(device) and changes nothing where there is no
  /// memory.
  void grow(std::size_t bytes, const char* what);

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
  std::shared_ptr<Allocator> allocator_;
  std::shared_ptr<void> allocated_;  ///< where there is an allocator
};

}  // namespace dyn::runtime
