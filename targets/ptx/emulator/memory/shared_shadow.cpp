#include "targets/ptx/emulator/memory/shared_shadow.hpp"

#include <cstring>

namespace dyn::ptx::emulation {

void SharedShadow::begin_launch(int bytes, unsigned cell_shift, int threads, bool finely) {
  shift_ = cell_shift;
  threads_ = threads;
  count_ = (static_cast<std::size_t>(bytes) + (std::size_t{1} << cell_shift) - 1) >> cell_shift;
  cells_.reserve(count_);
  finely_ = finely;
  const std::size_t reads = count_ * static_cast<std::size_t>(threads);
  if (!finely || reads <= reads_count_) return;
  reads_count_ = 0;
  reads_.reset();
  reads_.reset(static_cast<Epoch*>(std::calloc(reads, sizeof(Epoch))));
  if (reads_ == nullptr) throw std::bad_alloc();
  reads_count_ = reads;
}

void SharedShadow::begin_block() {
  if (count_ > 0) std::memset(cells_.data(), 0, count_ * sizeof(Cell));
}

void SharedShadow::forget() {
  cells_.forget();
  reads_.reset();
  reads_count_ = 0;
}

void SharedShadow::set(std::uint32_t offset, std::uint32_t bytes, CellState state, int agent,
                       Epoch epoch) {
  const std::size_t last = (offset + bytes - 1) >> shift_;
  for (std::size_t i = offset >> shift_; i <= last; ++i) set(i, state, agent, epoch);
}

bool SharedShadow::may_replace(const Clocks& clocks, int thread, std::uint32_t offset,
                               std::uint32_t bytes) {
  const std::size_t last = (offset + bytes - 1) >> shift_;
  for (std::size_t i = offset >> shift_; i <= last; ++i) {
    if (!may_write(clocks, thread, i)) return false;
  }
  return true;
}

bool SharedShadow::may_use_barrier(const Clocks& clocks, int thread, std::uint32_t offset) {
  const std::size_t i = offset >> shift_;
  const Cell& cell = cells_.data()[i];
  return clocks.ordered(thread, cell.writer, cell.written) ||
         raced(i, cell.writer, " has initialised");
}

bool SharedShadow::readers_are_ordered(const Clocks& clocks, int thread, std::size_t i) {
  const Cell& cell = cells_.data()[i];
  if (!cell.several_readers)
    return clocks.ordered(thread, cell.reader, cell.read) || raced(i, cell.reader, " has read");
  if (!finely_) return raced(i, cell.reader == thread ? -1 : cell.reader, " has read");
  for (int other = 0; other < threads_; ++other) {
    const Epoch read = reads_.get()[static_cast<std::size_t>(other) * count_ + i];
    if (!clocks.ordered(thread, other, read)) return raced(i, other, " has read");
  }
  return true;
}

bool SharedShadow::unreadable(std::size_t i) {
  const Cell& cell = cells_.data()[i];
  switch (cell.state) {
    case CellState::InFlight:
      conflict_ = {Fault::BeforeWait, " is copying to it", cell.writer, false, -1, i};
      break;
    case CellState::Barrier:
      conflict_ = {Fault::Barrier, "is part of an mbarrier", -1, false, -1, i};
      break;
    default: conflict_ = {Fault::Uninitialised, "nobody has written", -1, false, -1, i}; break;
  }
  return false;
}

bool SharedShadow::raced(std::size_t i, int agent, const char* what) {
  conflict_ = {Fault::Race, what, agent, false, -1, i};
  return false;
}

}  // namespace dyn::ptx::emulation
