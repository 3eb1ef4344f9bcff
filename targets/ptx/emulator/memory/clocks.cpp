#include "targets/ptx/emulator/memory/clocks.hpp"

namespace dyn::ptx::emulation {
namespace {

void merge(std::span<Epoch> into, std::span<const Epoch> from) {
  for (std::size_t i = 0; i < into.size(); ++i) into[i] = std::max(into[i], from[i]);
}

constexpr Epoch last_epoch_to_begin_with = Epoch{1} << 31;

}  // namespace

bool Clocks::begin_launch(int threads, bool finely) {
  const bool anew = counter_ > last_epoch_to_begin_with;
  if (anew) counter_ = 0;
  threads_ = threads;
  finely_ = finely;
  const std::size_t agents = 2 * static_cast<std::size_t>(threads);
  own_.assign(agents, 0);
  row_generation_.assign(static_cast<std::size_t>(threads), 0);
  if (finely) rows_.resize(std::max(rows_.size(), agents * static_cast<std::size_t>(threads)));
  joined_.assign(agents, 0);
  launch_start_ = block_start_ = generation_start_ = ++counter_;
  return !anew;
}

void Clocks::release(int thread, Clock& clock) {
  if (has_row(thread)) merge(clock, row(thread));
  Epoch& own = clock[static_cast<std::size_t>(thread)];
  own = std::max(own, now(thread));
  advance(thread);
}

void Clocks::acquire(int thread, const Clock& clock) {
  if (has_row(thread)) return merge(row(thread), clock);
  std::ranges::copy(clock, row(thread).begin());
  row_generation_[static_cast<std::size_t>(thread)] = generation_start_;
}

void Clocks::join(std::span<const int> threads) {
  std::ranges::fill(joined_, 0);
  for (const int thread : threads) release(thread, joined_);
  for (const int thread : threads) acquire(thread, joined_);
}

}  // namespace dyn::ptx::emulation
