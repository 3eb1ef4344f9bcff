// Blocks of a launch. One runs at a time; it stops where it ends, or where all of its threads wait.

#include <algorithm>
#include <cstring>

#include "targets/ptx/emulator/memory/poison_word.hpp"
#include "targets/ptx/emulator/multiprocessor/multiprocessor.hpp"

namespace dyn::ptx::emulation {
namespace {

/// So often all blocks that wait for others may ask again, where nothing has changed: a kernel may
/// read a value twice without waiting for it to change.
constexpr int most_idle_rounds = 100;

bool waits_for_others(const Thread& thread) { return thread.waiting == Waiting::Global; }

}  // namespace

// Blocks that can go on do so before others begin, so that few are there at once.
void Multiprocessor::run_blocks(const rkernel::DeviceLaunch& launch,
                                std::span<const std::int32_t> blocks, std::size_t most_resident) {
  std::size_t begun = 0;
  idle_rounds_ = 0;
  while (!report_) {
    if (ResidentBlock* woken = take_woken()) {
      run_here(*woken);
    } else if (begun < blocks.size() && waiting_.size() < most_resident) {
      ResidentBlock& place = free_place(launch);
      begin_block(place, blocks[begun++]);
      run_here(place);
    } else if (waiting_.empty()) {
      return;
    } else if (!ask_again()) {
      return note_blocks_stuck(blocks.size() - begun, most_resident);
    }
  }
}

ResidentBlock& Multiprocessor::free_place(const rkernel::DeviceLaunch& launch) {
  if (!free_.empty()) {
    ResidentBlock* place = free_.back();
    free_.pop_back();
    return *place;
  }
  if (prepared_ == places_.size()) places_.push_back(std::make_unique<ResidentBlock>());
  ResidentBlock& place = *places_[prepared_++];
  prepare(place, launch);
  return place;
}

ResidentBlock* Multiprocessor::take_woken() {
  const auto found = std::ranges::find_if(waiting_, &ResidentBlock::can_go_on);
  if (found == waiting_.end()) return nullptr;
  ResidentBlock* woken = *found;
  waiting_.erase(found);
  return woken;
}

/// Called where no block can go on. False: they have asked often enough.
bool Multiprocessor::ask_again() {
  if (++idle_rounds_ > most_idle_rounds) return false;
  for (ResidentBlock* block : waiting_) {
    for (int i = 0; i < thread_count_; ++i) {
      Thread& thread = block->threads[static_cast<std::size_t>(i)];
      if (waits_for_others(thread)) wake(*block, thread);
    }
  }
  return true;
}

void Multiprocessor::begin_block(ResidentBlock& place, std::int32_t block) {
  ++counts_.blocks;
  idle_rounds_ = 0;
  place.index = block;
  if (meter_) meter_->begin_block(place.meter);
  timeline_.enter(block);
  place.clocks.begin_block(block);
  place.shared_shadow.begin_block();
  for (std::size_t i = 0; i < shared_bytes_; i += sizeof(poison_word))
    std::memcpy(place.shared + i, &poison_word, sizeof(poison_word));
  place.at_block_barrier = place.ended = place.last = 0;
  for (Warp& warp : place.warps) {
    warp.ended = 0;
    warp.pending.clear();
  }
  for (NamedBarrier& barrier : place.named) barrier.arrived.clear();
  for (Mbarrier& barrier : place.mbarriers) {
    barrier.alive = false;
    barrier.following.clear();
  }
  for (int i = 0; i < thread_count_; ++i) {
    Thread& thread = place.threads[static_cast<std::size_t>(i)];
    thread.block = block;
    thread.executions = meter_ ? meter_->executions_of(i) : uncounted_.data();
    thread.fiber = nullptr;
    thread.asked = nullptr;
    thread.copies.clear();
    thread.first_copy = thread.groups = 0;
    wake(place, thread);
  }
}

/// Runs a block of which a thread can go on, until none can.
void Multiprocessor::run_here(ResidentBlock& block) {
  here_ = &block;
  timeline_.enter(block.index);
  if (meter_) meter_->enter(block.meter);
  make_fibers(kernel_->waits ? static_cast<std::size_t>(thread_count_) : 1);
  Thread* first = next_thread();
  if (first->fiber == nullptr) {
    starting_ = first;
    transfer(idle_fiber());
  } else {
    transfer(*first->fiber);
  }
  const auto begin = block.threads.begin(), end = begin + thread_count_;
  if (report_) return;
  if (block.ended == thread_count_)
    end_block();
  else if (std::any_of(begin, end, waits_for_others))
    waiting_.push_back(&block);
  else
    note_stuck();
}

void Multiprocessor::end_block() {
  idle_rounds_ = 0;
  for (const Mbarrier& barrier : here_->mbarriers) {
    if (report_ || barrier.following.empty()) continue;
    const Thread& thread =
        here_->threads[static_cast<std::size_t>(barrier.following.front().thread)];
    note(Fault::Unfinished, thread, thread.copies.front().site,
         "the block ends, and nobody has waited for the copy, which the mbarrier at byte {} of "
         "shared memory was to follow",
         barrier.offset);
  }
  if (meter_) meter_->end_block();
  free_.push_back(here_);
}

}  // namespace dyn::ptx::emulation
