#pragma once
// Page-locked host memory, which the GPU copies to and from by itself.

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "targets/ptx/cuda/context.hpp"

namespace dyn::ptx::cuda {

/// Blocks are kept for reuse when their owners are gone, as locking pages takes longer than most
/// copies. Thread-safe. Owners hold the pool, and with it the context.
class PinnedMemory : public std::enable_shared_from_this<PinnedMemory> {
 public:
  /// Bytes that are kept without an owner; beyond it the blocks that lay idle longest are freed.
  static constexpr std::size_t most_idle_bytes = std::size_t{256} << 20;

  explicit PinnedMemory(std::shared_ptr<const Context> context) : context_(std::move(context)) {}
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  ~PinnedMemory() { close(); }

  /// At least so many bytes, aligned to a page, of unknown contents. nullptr where the driver
  /// refuses.
  std::shared_ptr<void> take(std::size_t bytes);
  /// Frees what is idle. From now on a block is freed with its owner.
  void close() noexcept;

 private:
  struct Block {
    void* data = nullptr;
    std::size_t bytes = 0;
  };
  Block find_idle(std::size_t bytes);
  Block make(std::size_t bytes) const;
  void give_back(Block block) noexcept;
  void free_idle() noexcept;
  void free_blocks(std::span<const Block> blocks) const noexcept;
  std::vector<Block> remove_idle_beyond(std::size_t bytes);

  const std::shared_ptr<const Context> context_;
  std::mutex mutex_;
  std::vector<Block> idle_;  ///< in the order in which they were given back
  std::size_t idle_bytes_ = 0;
  bool is_closed_ = false;
};

}  // namespace dyn::ptx::cuda
