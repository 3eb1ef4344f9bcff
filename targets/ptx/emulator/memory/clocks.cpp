#include "targets/ptx/emulator/memory/clocks.hpp"

namespace dyn::ptx::emulation {

void Clocks::begin_launch(Timeline& timeline, int threads, Orders orders) {
  timeline_ = &timeline;
  threads_ = threads;
  orders_ = orders;
  const std::size_t agents = 2 * static_cast<std::size_t>(threads);
  own_.assign(agents, 0);
  row_generation_.assign(static_cast<std::size_t>(threads), 0);
  if (orders.finely)
    rows_.resize(std::max(rows_.size(), agents * static_cast<std::size_t>(threads)));
  joined_.assign(agents, 0);
}

void Clocks::begin_block(int block) {
  block_ = block;
  generation_start_ = timeline_->tick();
  abroad_.clear();
  if (orders_.between_blocks) abroad_.resize(static_cast<std::size_t>(threads_));
}

void Clocks::block_barrier() {
  generation_start_ = timeline_->tick();
  if (!orders_.between_blocks) return;
  Knowledge all;
  for (const Abroad& one : abroad_) merge(all, one.seen);
  for (Abroad& one : abroad_) one.seen = all;
}

void Clocks::release(int thread, Clock& clock) {
  if (has_row(thread)) {
    const std::span<const Epoch> known = row(thread);
    for (std::size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], known[i]);
  }
  Epoch& own = clock[static_cast<std::size_t>(thread)];
  own = std::max(own, now(thread));
  advance(thread);
}

void Clocks::acquire(int thread, const Clock& clock) {
  const std::span<Epoch> known = row(thread);
  if (!has_row(thread)) {
    std::ranges::copy(clock, known.begin());
    row_generation_[static_cast<std::size_t>(thread)] = generation_start_;
    return;
  }
  for (std::size_t i = 0; i < known.size(); ++i) known[i] = std::max(known[i], clock[i]);
}

void Clocks::join(std::span<const int> threads) {
  std::ranges::fill(joined_, 0);
  for (const int thread : threads) release(thread, joined_);
  for (const int thread : threads) acquire(thread, joined_);
  if (!orders_.between_blocks) return;
  Knowledge all;
  for (const int thread : threads) merge(all, abroad_[static_cast<std::size_t>(thread)].seen);
  for (const int thread : threads) abroad_[static_cast<std::size_t>(thread)].seen = all;
}

bool Clocks::sees_other(int thread, int agent, Epoch epoch) const {
  if (!orders_.between_blocks) return false;
  const Knowledge& seen = abroad_[static_cast<std::size_t>(thread)].seen;
  const auto found = seen.find(block_at(epoch));
  return found != seen.end() && found->second.has(agent, epoch);
}

void Clocks::fence(int thread) {
  Abroad& own = abroad_[static_cast<std::size_t>(thread)];
  merge(own.seen, own.read);
  own.read.clear();
  own.released = own.seen;
  SeenOfBlock& home = own.released[block_];
  home.before = std::max(home.before, generation_start_);
  home.clock.resize(2 * static_cast<std::size_t>(threads_), 0);
  release(thread, home.clock);
}

void Clocks::exchange(int thread, Knowledge& place) {
  Abroad& own = abroad_[static_cast<std::size_t>(thread)];
  merge(own.read, place);
  merge(place, own.released);
}

}  // namespace dyn::ptx::emulation
