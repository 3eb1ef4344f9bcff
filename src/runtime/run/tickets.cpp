#include "src/runtime/run/tickets.hpp"

#include <algorithm>
#include <thread>

#include "src/runtime/system/spin.hpp"

namespace dyn::runtime {
namespace {

constexpr std::int64_t max_chunks = std::int64_t{1} << 30;

}  // namespace

void TicketQueue::work(int thread, std::uint32_t left) const {
  const std::int64_t first = static_cast<std::int64_t>(chunks_ - left) * stage_.grain;
  const std::int64_t count = std::min(stage_.grain, stage_.tickets - first);
  stage_.function(stage_.args, first, count,
                  stage_.scratch + static_cast<std::size_t>(thread) * stage_.scratch_stride);
}

bool TicketQueue::take(int thread) {
  std::uint64_t word = word_.load(std::memory_order_relaxed);
  do {
    if (left_of(word) == 0 || thread >= threads_of(word)) return false;
  } while (!word_.compare_exchange_weak(word, word - 1, std::memory_order_acquire,
                                        std::memory_order_relaxed));
  work(thread, left_of(word));
  return true;
}

bool TicketQueue::run(const Stage& stage, int threads, const Traffic& traffic) {
  stage_ = stage;
  stage_.grain = std::max({stage.grain, std::int64_t{1}, stage.tickets / max_chunks + 1});
  chunks_ = static_cast<std::uint32_t>((stage.tickets - 1) / stage_.grain + 1);
  // The first chunk is the caller's before anybody sees the stage: it need not wait until the line
  // is its own again.
  word_.store(make_word(threads, chunks_ - 1), std::memory_order_release);
  work(0, chunks_);
  std::uint32_t own = 1;
  while (take(0)) ++own;
  if (own == chunks_) return false;
  expected_ += chunks_ - own;
  wait_for(expected_, traffic);
  return true;
}

void TicketQueue::wait_for(std::uint32_t helped, const Traffic& traffic) const {
  const auto done = [&] { return helped_.load(std::memory_order_acquire) == helped; };
  // In a crowd the helper may wait for this very processor.
  while (!done() && (traffic.crowded() || !spin_until(done))) std::this_thread::yield();
}

}  // namespace dyn::runtime
