// cp.async: the bytes are read and written at the latest moment that the PTX ISA allows.

#include <algorithm>
#include <cstring>

#include "targets/ptx/emulator/multiprocessor/multiprocessor.hpp"

namespace dyn::ptx::emulation {

void Multiprocessor::copy(Thread& thread, std::uint32_t site, const char* to, const char* from,
                          std::uint32_t bytes, std::uint32_t from_bytes) {
  ++counts_.async_copies;
  const auto misaligned = [&](const char* address) {
    return reinterpret_cast<std::uintptr_t>(address) % bytes != 0;
  };
  if (misaligned(to)) fail_alignment(thread, site, "copies to", to, bytes);
  if (misaligned(from)) fail_alignment(thread, site, "copies from", from, bytes);
  if (!in_shared(to, bytes)) fail_outside(thread, site, "copies to", to, bytes);
  if (from_bytes > bytes) {
    note(Fault::OutOfBounds, thread, site, "copies {} bytes, of which {} come from global memory",
         bytes, from_bytes);
    stop();
  }
  if (from_bytes > 0 && !global_shadow_.read(here_->clocks, thread.thread, site,
                                             reinterpret_cast<std::uintptr_t>(from), from_bytes))
    fail_global(thread, site, "copies", from, from_bytes);
  const std::uint32_t offset = shared_offset(to);
  if (!here_->shared_shadow.may_replace(here_->clocks, thread.thread, offset, bytes))
    fail_shared(thread, site, "copies to", offset, bytes);
  here_->shared_shadow.set(offset, bytes, CellState::InFlight, thread.thread,
                           here_->clocks.now(thread.thread));
  if (meter_) meter_->shared(thread.thread, site, offset, bytes);
  if (from_bytes > 0) meter_global(thread, site, from, from_bytes);
  thread.copies.push_back({from, offset, bytes, from_bytes, site, thread.groups, false});
}

void Multiprocessor::complete(Thread& thread, Copy& copy, int agent, Epoch epoch) {
  char* to = thread.shared + copy.to;
  if (copy.from_bytes > 0) std::memcpy(to, copy.from, copy.from_bytes);
  std::memset(to + copy.from_bytes, 0, copy.bytes - copy.from_bytes);
  here_->shared_shadow.set(copy.to, copy.bytes, CellState::Written, agent, epoch);
  copy.complete = true;
}

void Multiprocessor::forget_complete_copies(Thread& thread) {
  if (!std::ranges::all_of(thread.copies, &Copy::complete)) return;
  thread.first_copy += thread.copies.size();
  thread.copies.clear();
}

void Multiprocessor::commit_copies(Thread& thread) { ++thread.groups; }

// The bytes count from now on as if the thread had written them itself.
void Multiprocessor::wait_for_copies(Thread& thread, std::uint32_t groups_left) {
  const Epoch now = here_->clocks.now(thread.thread);
  for (Copy& copy : thread.copies) {
    if (!copy.complete && copy.group + groups_left < thread.groups)
      complete(thread, copy, thread.thread, now);
  }
  forget_complete_copies(thread);
  for (Mbarrier& barrier : here_->mbarriers) {
    for (Mbarrier::Follows& follows : barrier.following) {
      if (follows.thread == thread.thread) follows.waited = now;
    }
  }
}

void Multiprocessor::arrive_after_copies(Thread& thread, std::uint32_t site, const char* address) {
  Mbarrier& barrier = mbarrier_at(thread, site, address);
  expect_arrival(thread, site, barrier);
  forget_complete_copies(thread);
  if (thread.copies.empty()) {
    here_->clocks.release(thread.thread, barrier.gathered);
    return arrived(barrier);
  }
  barrier.following.push_back({thread.thread, thread.first_copy + thread.copies.size(), 0});
}

/// True where completion of this copy arrives at an mbarrier.
bool Multiprocessor::is_followed(const Thread& thread, std::size_t copy) const {
  return std::ranges::any_of(here_->mbarriers, [&](const Mbarrier& barrier) {
    return std::ranges::any_of(barrier.following, [&](const Mbarrier::Follows& follows) {
      return follows.thread == thread.thread && thread.first_copy + copy < follows.copies;
    });
  });
}

// Called where no thread can go on. Finds a phase that a thread waits for and that lacks nothing
// but arrivals that follow copies, and completes its copies now: threads that wait for it see them,
// but nothing else of what the copying threads did. Returns false where there is no such phase.
bool Multiprocessor::settle() {
  const auto ready = [&](const Mbarrier& barrier) {
    if (barrier.following.empty() || barrier.missing != barrier.following.size()) return false;
    return std::any_of(
        here_->threads.begin(), here_->threads.begin() + thread_count_, [&](const Thread& thread) {
          return thread.waiting == Waiting::Phase && thread.awaited == barrier.offset;
        });
  };
  const auto found = std::ranges::find_if(here_->mbarriers, ready);
  if (found == here_->mbarriers.end()) return false;
  for (const Mbarrier::Follows& follows : found->following) {
    Thread& thread = here_->threads[static_cast<std::size_t>(follows.thread)];
    const int agent = here_->clocks.copies_of(follows.thread);
    const Epoch epoch = here_->clocks.advance(agent);
    for (std::size_t i = 0; i < thread.copies.size() && thread.first_copy + i < follows.copies;
         ++i) {
      if (!thread.copies[i].complete) complete(thread, thread.copies[i], agent, epoch);
    }
    forget_complete_copies(thread);
    Epoch& own = found->gathered[static_cast<std::size_t>(follows.thread)];
    own = std::max(own, follows.waited);
    found->gathered[static_cast<std::size_t>(agent)] = epoch;
  }
  const std::size_t count = found->following.size();
  found->following.clear();
  for (std::size_t i = 0; i < count; ++i) arrived(*found);
  return true;
}

}  // namespace dyn::ptx::emulation
