#include "targets/ptx/cuda/pinned.hpp"

#include <algorithm>
#include <utility>

namespace dyn::ptx::cuda {
namespace {

constexpr std::size_t page_bytes = 4096;

}  // namespace

std::shared_ptr<void> PinnedMemory::take(std::size_t bytes) {
  const std::size_t wanted =
      std::max<std::size_t>(1, bytes / page_bytes + (bytes % page_bytes != 0)) * page_bytes;
  Block block = find_idle(wanted);
  if (block.data == nullptr) block = make(wanted);
  if (block.data == nullptr) {
    // Pages that lie idle may be those that are missing.
    free_idle();
    block = make(wanted);
  }
  if (block.data == nullptr) return nullptr;
  return {block.data, [pool = shared_from_this(), size = block.bytes](void* data) {
            pool->give_back({data, size});
          }};
}

/// The smallest that is large enough, but none of which most would lie waste.
PinnedMemory::Block PinnedMemory::find_idle(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  auto best = idle_.end();
  for (auto block = idle_.begin(); block != idle_.end(); ++block) {
    if (block->bytes < bytes || block->bytes / 2 > bytes) continue;
    if (best == idle_.end() || block->bytes < best->bytes) best = block;
  }
  if (best == idle_.end()) return {};
  const Block found = *best;
  idle_.erase(best);
  idle_bytes_ -= found.bytes;
  return found;
}

/// A refusal of the driver is no error: a failure of an earlier kernel is told where it is waited
/// for.
PinnedMemory::Block PinnedMemory::make(std::size_t bytes) const {
  const Context::Scope scope(*context_, std::nothrow);
  void* data = nullptr;
  if (!scope.active() || context_->driver().cuMemHostAlloc(&data, bytes, 0) != Result::Success)
    return {};
  return {data, bytes};
}

void PinnedMemory::give_back(Block block) noexcept {
  std::vector<Block> surplus;
  bool is_kept = false;
  try {
    const std::lock_guard lock(mutex_);
    if (!is_closed_) {
      idle_.push_back(block);
      is_kept = true;
      idle_bytes_ += block.bytes;
      surplus = remove_idle_beyond(most_idle_bytes);
    }
  } catch (const std::bad_alloc&) {  // what is too much stays until the next one comes back
  }
  if (!is_kept) free_blocks({&block, 1});
  free_blocks(surplus);
}

std::vector<PinnedMemory::Block> PinnedMemory::remove_idle_beyond(std::size_t bytes) {
  std::size_t count = 0;
  for (std::size_t left = idle_bytes_; left > bytes; ++count) left -= idle_[count].bytes;
  const auto end = idle_.begin() + static_cast<std::ptrdiff_t>(count);
  std::vector<Block> removed(idle_.begin(), end);
  for (const Block& block : removed) idle_bytes_ -= block.bytes;
  idle_.erase(idle_.begin(), end);
  return removed;
}

void PinnedMemory::free_idle() noexcept {
  std::vector<Block> blocks;
  {
    const std::lock_guard lock(mutex_);
    blocks.swap(idle_);
    idle_bytes_ = 0;
  }
  free_blocks(blocks);
}

void PinnedMemory::close() noexcept {
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
  }
  free_idle();
}

void PinnedMemory::free_blocks(std::span<const Block> blocks) const noexcept {
  if (blocks.empty()) return;
  const Context::Scope scope(*context_, std::nothrow);
  if (!scope.active()) return;
  for (const Block& block : blocks) context_->driver().cuMemFreeHost(block.data);
}

}  // namespace dyn::ptx::cuda
