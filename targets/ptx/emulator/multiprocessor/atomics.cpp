// Atomic operations on global memory, by which blocks of a launch meet.

#include <cstring>

#include "targets/ptx/emulator/multiprocessor/multiprocessor.hpp"

namespace dyn::ptx::emulation {

// A thread that adds 0 where it has read before, and where nothing has changed since, waits for
// another one to change it.
std::uint32_t Multiprocessor::atomic_add(Thread& thread, std::uint32_t site, char* address,
                                         std::uint32_t value) {
  constexpr std::uint32_t bytes = sizeof(value);
  constexpr const char* verb = "adds atomically to";
  if (reinterpret_cast<std::uintptr_t>(address) % bytes != 0)
    fail_alignment(thread, site, verb, address, bytes);
  const auto check = [&] {
    if (!global_shadow_.write(here_->clocks, thread.thread, site,
                              reinterpret_cast<std::uintptr_t>(address), bytes, CellState::Atomic))
      fail_global(thread, site, verb, address, bytes);
  };
  check();
  AtomicPlace& place = atomic_places_[address];
  if (value == 0 && thread.asked == address && thread.asked_changes == place.changes) {
    wait(thread, Waiting::Global, site, 0);
    check();
  }
  ++counts_.loads;
  ++counts_.stores;
  meter_global(thread, site, address, bytes);
  here_->clocks.exchange(thread.thread, place.released);
  std::uint32_t before = 0;
  std::memcpy(&before, address, bytes);
  const std::uint32_t after = before + value;
  std::memcpy(address, &after, bytes);
  if (value != 0) {
    ++place.changes;
    wake_who_asked(address);
  }
  thread.asked = address;
  thread.asked_changes = place.changes;
  return before;
}

void Multiprocessor::wake_who_asked(const char* address) {
  idle_rounds_ = 0;
  const auto wake_in = [&](ResidentBlock& block) {
    for (int i = 0; i < thread_count_; ++i) {
      Thread& thread = block.threads[static_cast<std::size_t>(i)];
      if (thread.waiting == Waiting::Global && thread.asked == address) wake(block, thread);
    }
  };
  wake_in(*here_);
  for (ResidentBlock* block : waiting_) wake_in(*block);
}

}  // namespace dyn::ptx::emulation
