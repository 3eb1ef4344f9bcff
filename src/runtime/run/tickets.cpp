#include "src/runtime/run/tickets.hpp"

#include <algorithm>
#include <thread>

#include "src/runtime/system/spin.hpp"

namespace dyn::runtime {

void TicketQueue::work(const Stage& stage, int thread, std::uint64_t chunk) {
  const std::int64_t first = static_cast<std::int64_t>(chunk) * stage.grain;
  const std::int64_t count = std::min(stage.grain, stage.tickets - first);
  stage.run_tickets(first, count,
                    stage.scratch + static_cast<std::size_t>(thread) * stage.scratch_stride);
}

bool TicketQueue::take_from(Share& share, int thread) {
  std::uint64_t word = share.word.load(std::memory_order_relaxed);
  do {
    if (left_of(word) == 0 || thread >= threads_of(word)) return false;
  } while (!share.word.compare_exchange_weak(word, word + 1, std::memory_order_acquire,
                                             std::memory_order_relaxed));
  work(share.stage, thread, first_of(word));
  return true;
}

bool TicketQueue::take(int thread) {
  const auto own = static_cast<std::size_t>(thread);
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    if (take_from(shares_[(own + i) % shares_.size()], thread)) return true;
  }
  return false;
}

bool TicketQueue::has_work(int thread) const noexcept {
  return std::ranges::any_of(shares_, [&](const Share& share) {
    const std::uint64_t word = share.word.load(std::memory_order_relaxed);
    return left_of(word) != 0 && thread < threads_of(word);
  });
}

bool TicketQueue::run(const Stage& stage, int threads, const Traffic& traffic) {
  Stage shared = stage;
  shared.grain = std::max(
      {stage.grain, std::int64_t{1}, stage.tickets / static_cast<std::int64_t>(most_chunks) + 1});
  const auto chunks = static_cast<std::uint64_t>((stage.tickets - 1) / shared.grain + 1);
  const std::uint64_t parts =
      std::min({static_cast<std::uint64_t>(threads), chunks, std::uint64_t{shares_.size()}});
  // Helpers hear of it first. The caller's first chunk is its own before anybody sees its share: it
  // need not wait until the line is its own again.
  for (std::uint64_t part = parts; part-- > 0;) {
    Share& share = shares_[part];
    share.stage = shared;
    share.word.store(
        make_word(threads, part == 0 ? 1 : chunks * part / parts, chunks * (part + 1) / parts),
        std::memory_order_release);
  }
  work(shared, 0, 0);
  std::uint32_t own = 1;
  while (take(0)) ++own;
  if (own == chunks) return false;
  expected_ += static_cast<std::uint32_t>(chunks) - own;
  wait_for(expected_, traffic);
  return true;
}

void TicketQueue::wait_for(std::uint32_t helped, const Traffic& traffic) const {
  const auto done = [&] { return helped_.load(std::memory_order_acquire) == helped; };
  // In a crowd the helper may wait for this very processor.
  while (!done() && (traffic.crowded() || !spin_until(done))) std::this_thread::yield();
}

}  // namespace dyn::runtime
