// Barriers in shared memory ("mbarrier" in the PTX ISA).

#include <algorithm>

#include "targets/ptx/emulator/multiprocessor/multiprocessor.hpp"

namespace dyn::ptx::emulation {
namespace {

constexpr std::uint32_t mbarrier_bytes = 8;
constexpr std::uint32_t most_arrivals = (1u << 20) - 1;

}  // namespace

std::uint32_t Multiprocessor::mbarrier_offset(Thread& thread, std::uint32_t site,
                                              const char* address) {
  if (!in_shared(address, mbarrier_bytes))
    fail_outside(thread, site, "uses an mbarrier of", address, mbarrier_bytes);
  const std::uint32_t offset = shared_offset(address);
  if (offset % mbarrier_bytes != 0)
    fail_alignment(thread, site, "uses an mbarrier", address, mbarrier_bytes);
  return offset;
}

Mbarrier& Multiprocessor::mbarrier_at(Thread& thread, std::uint32_t site, const char* address) {
  const std::uint32_t offset = mbarrier_offset(thread, site, address);
  for (Mbarrier& barrier : here_->mbarriers) {
    if (!barrier.alive || barrier.offset != offset) continue;
    if (!here_->shared_shadow.may_use_barrier(here_->clocks, thread.thread, offset))
      fail_shared(thread, site, "uses the mbarrier in", offset, mbarrier_bytes);
    return barrier;
  }
  note(Fault::Barrier, thread, site, "no mbarrier has been initialised at byte {} of shared memory",
       offset);
  stop();
}

void Multiprocessor::barrier_init(Thread& thread, std::uint32_t site, const char* address,
                                  std::uint32_t expected) {
  const std::uint32_t offset = mbarrier_offset(thread, site, address);
  if (expected == 0 || expected > most_arrivals) {
    note(Fault::Barrier, thread, site, "an mbarrier expects 1 to {} arrivals, not {}",
         most_arrivals, expected);
    stop();
  }
  if (!here_->shared_shadow.may_replace(here_->clocks, thread.thread, offset, mbarrier_bytes))
    fail_shared(thread, site, "initialises an mbarrier in", offset, mbarrier_bytes);
  here_->shared_shadow.set(offset, mbarrier_bytes, CellState::Barrier, thread.thread,
                           here_->clocks.now(thread.thread));
  auto free = std::ranges::find(here_->mbarriers, false, &Mbarrier::alive);
  if (free == here_->mbarriers.end()) free = here_->mbarriers.emplace(here_->mbarriers.end());
  free->offset = offset;
  free->alive = true;
  free->expected = free->missing = expected;
  free->phase = 0;
  free->following.clear();
  free->gathered = free->completed = here_->clocks.make_clock();
  free->doubted.assign(static_cast<std::size_t>(thread_count_), 0);
}

/// Every arrival belongs to the current phase; arrivals that follow copies are counted when they
/// are announced.
void Multiprocessor::expect_arrival(Thread& thread, std::uint32_t site, const Mbarrier& barrier) {
  if (barrier.missing > barrier.following.size()) return;
  note(
      Fault::Barrier, thread, site,
      "arrives at the mbarrier at byte {} of shared memory, which has its {} arrivals for phase {}",
      barrier.offset, barrier.expected, barrier.phase);
  stop();
}

void Multiprocessor::arrived(Mbarrier& barrier) {
  if (--barrier.missing > 0) return;
  barrier.missing = barrier.expected;
  ++barrier.phase;
  ++counts_.barriers;
  barrier.completed = barrier.gathered;
  for (int i = 0; i < thread_count_; ++i) {
    Thread& thread = here_->threads[static_cast<std::size_t>(i)];
    if (thread.waiting == Waiting::Phase && thread.awaited == barrier.offset) wake(thread);
  }
}

std::uint64_t Multiprocessor::barrier_arrive(Thread& thread, std::uint32_t site,
                                             const char* address) {
  Mbarrier& barrier = mbarrier_at(thread, site, address);
  expect_arrival(thread, site, barrier);
  const std::uint64_t state = barrier.phase;
  here_->clocks.release(thread.thread, barrier.gathered);
  arrived(barrier);
  return state;
}

// A thread that gets the answer "not yet" may only ask again. It gets this answer when the true one
// has changed meanwhile. Where the phase is complete, but nothing has told the thread so before, a
// GPU whose other threads are slower may say "not yet" too: the emulator says it once, so that a
// kernel which does not ask again goes on without having seen what the others did.
bool Multiprocessor::barrier_test_wait(Thread& thread, std::uint32_t site, const char* address,
                                       std::uint32_t parity) {
  Mbarrier& barrier = mbarrier_at(thread, site, address);
  if (parity > 1) {
    note(Fault::Barrier, thread, site, "the parity of a phase is 0 or 1, not {}", parity);
    stop();
  }
  if (barrier.phase % 2 != parity) {
    std::uint32_t& doubted = barrier.doubted[static_cast<std::size_t>(thread.thread)];
    if (doubted != barrier.phase && !here_->clocks.has_seen(thread.thread, barrier.completed)) {
      doubted = barrier.phase;
      return false;
    }
    here_->clocks.acquire(thread.thread, barrier.completed);
    return true;
  }
  wait(thread, Waiting::Phase, site, barrier.offset);
  return false;
}

void Multiprocessor::barrier_invalidate(Thread& thread, std::uint32_t site, const char* address) {
  Mbarrier& barrier = mbarrier_at(thread, site, address);
  const auto waits = [&](const Thread& other) {
    return other.waiting == Waiting::Phase && other.awaited == barrier.offset;
  };
  if (!barrier.following.empty() ||
      std::any_of(here_->threads.begin(), here_->threads.begin() + thread_count_, waits)) {
    note(Fault::Barrier, thread, site, "the mbarrier at byte {} of shared memory is in use",
         barrier.offset);
    stop();
  }
  barrier.alive = false;
  here_->shared_shadow.set(barrier.offset, mbarrier_bytes, CellState::Unwritten, thread.thread,
                           here_->clocks.now(thread.thread));
}

}  // namespace dyn::ptx::emulation
