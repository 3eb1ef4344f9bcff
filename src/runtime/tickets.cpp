#include "src/runtime/tickets.hpp"

#include <algorithm>
#include <thread>

#include "src/runtime/spin.hpp"

namespace dyn::runtime {
namespace {

constexpr int left_bits = 32;
constexpr std::int64_t max_chunks = std::int64_t{1} << 30;

constexpr std::uint64_t make_word(int threads, std::uint32_t left) {
  return (static_cast<std::uint64_t>(threads) << left_bits) | left;
}
constexpr std::uint32_t left_of(std::uint64_t word) { return static_cast<std::uint32_t>(word); }
constexpr int threads_of(std::uint64_t word) { return static_cast<int>(word >> left_bits); }

}  // namespace

bool TicketBoard::take(int participant) {
  std::uint64_t word = word_.load(std::memory_order_relaxed);
  do {
    if (left_of(word) == 0 || participant >= threads_of(word)) return false;
  } while (!word_.compare_exchange_weak(word, word - 1, std::memory_order_acquire, std::memory_order_relaxed));
  const Stage& stage = stage_;
  const std::int64_t first = static_cast<std::int64_t>(chunks_ - left_of(word)) * stage.grain;
  const std::int64_t count = std::min(stage.grain, stage.tickets - first);
  stage.function(stage.args, first, count, stage.scratch + static_cast<std::size_t>(participant) * stage.scratch_stride);
  return true;
}

void TicketBoard::run(const Stage& stage, int threads) {
  stage_ = stage;
  stage_.grain = std::max({stage.grain, std::int64_t{1}, stage.tickets / max_chunks + 1});
  chunks_ = static_cast<std::uint32_t>((stage.tickets - 1) / stage_.grain + 1);
  helped_.store(0, std::memory_order_relaxed);
  word_.store(make_word(threads, chunks_), std::memory_order_release);
  std::uint32_t own = 0;
  while (take(0)) ++own;
  wait_for_helpers(chunks_ - own);
}

void TicketBoard::wait_for_helpers(std::uint32_t chunks) const {
  const auto done = [&] { return helped_.load(std::memory_order_acquire) == chunks; };
  while (!done() && !spin_until(done)) std::this_thread::yield();
}

bool TicketBoard::help(int helper) {
  bool any = false;
  while (take(helper + 1)) {
    helped_.fetch_add(1, std::memory_order_release);
    any = true;
  }
  return any;
}

}  // namespace dyn::runtime
