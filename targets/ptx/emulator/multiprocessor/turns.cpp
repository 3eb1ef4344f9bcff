// Threads run in turn: each runs until it waits, then the next one in their order that can go on.
// So every run is the same.

#include <algorithm>
#include <bit>

#include "targets/ptx/emulator/multiprocessor/multiprocessor.hpp"

namespace dyn::ptx::emulation {

// A fiber runs one thread after another, provided that they end without waiting.
void Multiprocessor::serve(void* self) {
  auto& home = *static_cast<Multiprocessor*>(self);
  for (;;) {
    Thread& thread = *home.starting_;
    thread.fiber = home.running_;
    home.kernel_->entry(&thread);
    home.end(thread);
    home.go_on(false);
  }
}

void Multiprocessor::transfer(Fiber& to) {
  Fiber& from = *running_;
  running_ = &to;
  Fiber::switch_to(from, to);
}

Fiber& Multiprocessor::idle_fiber() {
  Fiber* fiber = idle_.back();
  idle_.pop_back();
  return *fiber;
}

void Multiprocessor::make_fibers(std::size_t idle) {
  while (idle_.size() < idle) {
    fibers_.push_back(std::make_unique<Fiber>(fiber_stack_bytes));
    fibers_.back()->restart(serve, this);
    idle_.push_back(fibers_.back().get());
  }
}

void Multiprocessor::abandon_fibers() {
  idle_.clear();
  for (const auto& fiber : fibers_) {
    fiber->restart(serve, this);
    idle_.push_back(fiber.get());
  }
  for (const auto& place : places_) std::ranges::fill(place->runnable, 0);
}

void Multiprocessor::wait(Thread& thread, Waiting what, std::uint32_t site, std::uint32_t awaited) {
  thread.waiting = what;
  thread.site = site;
  thread.awaited = awaited;
  go_on(true);
}

void Multiprocessor::wake(ResidentBlock& block, Thread& thread) {
  thread.waiting = Waiting::Nothing;
  block.runnable[static_cast<std::size_t>(thread.thread / 64)] |= std::uint64_t{1}
                                                                  << (thread.thread % 64);
}

void Multiprocessor::end(Thread& thread) {
  forget_complete_copies(thread);
  for (std::size_t i = 0; i < thread.copies.size(); ++i) {
    if (thread.copies[i].complete || is_followed(thread, i)) continue;
    note(Fault::Unfinished, thread, thread.copies[i].site,
         "the thread ends without having waited for its copy to byte {} of shared memory",
         thread.copies[i].to);
    stop();
  }
  thread.waiting = Waiting::Ended;
  thread.fiber = nullptr;
  ++here_->ended;
  warp_of(thread).ended |= lane_bit(thread);
}

// Takes the next thread out of those that can run; wake() puts it back.
Thread* Multiprocessor::next_thread() {
  const std::size_t words = here_->runnable.size(),
                    first = static_cast<std::size_t>(here_->last / 64);
  for (std::size_t i = 0; i <= words; ++i) {
    std::uint64_t& word = here_->runnable[(first + i) % words];
    std::uint64_t bits = word;
    if (i == 0) bits &= ~std::uint64_t{0} << (here_->last % 64);
    if (bits == 0) continue;
    const int bit = std::countr_zero(bits);
    word &= ~(std::uint64_t{1} << bit);
    here_->last = static_cast<int>((first + i) % words * 64) + bit;
    return &here_->threads[static_cast<std::size_t>(here_->last)];
  }
  return nullptr;
}

// Called on a fiber whose thread waits, or (`blocked` false) has ended. Returns when that thread
// can go on, or when starting_ is to begin here.
void Multiprocessor::go_on(bool blocked) {
  Thread* next = next_thread();
  while (next == nullptr && settle()) next = next_thread();
  if (next == nullptr) {
    if (!blocked) idle_.push_back(running_);
    return transfer(host_);
  }
  if (next->fiber == running_) return;
  if (next->fiber == nullptr) {
    starting_ = next;
    if (blocked) transfer(idle_fiber());
    return;
  }
  if (!blocked) idle_.push_back(running_);
  transfer(*next->fiber);
}

}  // namespace dyn::ptx::emulation
