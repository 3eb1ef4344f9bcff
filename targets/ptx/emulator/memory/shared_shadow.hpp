#pragma once
// Shared memory of one block, cell by cell: its writers, its readers, and copies in flight.

#include <cstdint>

#include "targets/ptx/emulator/memory/shadow.hpp"

namespace dyn::ptx::emulation {

class SharedShadow {
 public:
  void begin_launch(int bytes, unsigned cell_shift, int threads, bool finely);
  /// Marks all memory as not written.
  void begin_block();
  void forget();

  // Checks an access of `bytes` bytes at `offset`, which lie in the memory. False: conflict() tells
  // why it is wrong.
  bool read(const Clocks& clocks, int thread, std::uint32_t offset, std::uint32_t bytes) {
    const Epoch generation = clocks.generation_start(), now = clocks.now(thread);
    const std::size_t last = (offset + bytes - 1) >> shift_;
    for (std::size_t i = offset >> shift_; i <= last; ++i) {
      Cell& cell = cells_.data()[i];
      if (cell.state != CellState::Written) return unreadable(i);
      if (cell.written >= generation && !clocks.ordered(thread, cell.writer, cell.written))
        return raced(i, cell.writer, " has written");
      cell.several_readers =
          cell.read >= generation && (cell.several_readers || cell.reader != thread);
      cell.reader = static_cast<std::uint16_t>(thread);
      cell.read = now;
      if (finely_) reads_.get()[static_cast<std::size_t>(thread) * count_ + i] = now;
    }
    return true;
  }
  bool write(const Clocks& clocks, int thread, std::uint32_t offset, std::uint32_t bytes) {
    const Epoch now = clocks.now(thread);
    const std::size_t last = (offset + bytes - 1) >> shift_;
    for (std::size_t i = offset >> shift_; i <= last; ++i) {
      if (!may_write(clocks, thread, i)) return false;
      set(i, CellState::Written, thread, now);
    }
    return true;
  }
  /// True where a thread may use these bytes for another purpose; only mbarrier operations may
  /// touch a barrier.
  bool may_replace(const Clocks& clocks, int thread, std::uint32_t offset, std::uint32_t bytes);
  /// True where a thread sees the barrier that another thread has initialised here.
  bool may_use_barrier(const Clocks& clocks, int thread, std::uint32_t offset);
  void set(std::uint32_t offset, std::uint32_t bytes, CellState state, int agent, Epoch epoch);

  const Conflict& conflict() const { return conflict_; }
  std::uint32_t offset_of(std::size_t cell) const {
    return static_cast<std::uint32_t>(cell << shift_);
  }

 private:
  bool may_write(const Clocks& clocks, int thread, std::size_t i) {
    const Cell& cell = cells_.data()[i];
    if (cell.state > CellState::Written) return unreadable(i);
    const Epoch generation = clocks.generation_start();
    if (cell.written >= generation && !clocks.ordered(thread, cell.writer, cell.written))
      return raced(i, cell.writer, " has written");
    return cell.read < generation || readers_are_ordered(clocks, thread, i);
  }
  void set(std::size_t i, CellState state, int agent, Epoch epoch) {
    Cell& cell = cells_.data()[i];
    cell.state = state;
    cell.writer = static_cast<std::uint16_t>(agent);
    cell.written = epoch;
    cell.read = 0;
    cell.several_readers = false;
  }
  bool readers_are_ordered(const Clocks& clocks, int thread, std::size_t i);
  bool unreadable(std::size_t i);
  bool raced(std::size_t i, int agent, const char* what);

  Cells cells_;
  std::size_t count_ = 0;
  unsigned shift_ = 2;
  int threads_ = 0;
  bool finely_ = false;
  struct Free {
    void operator()(Epoch* epochs) const { std::free(epochs); }
  };
  /// By thread and cell: the epoch of its last read. Kept only where threads are ordered finely;
  /// otherwise a write after any other thread's read of this generation is a race. Epochs only
  /// grow, so that those of earlier blocks and launches do no harm.
  std::unique_ptr<Epoch, Free> reads_;
  std::size_t reads_count_ = 0;
  Conflict conflict_;
};

}  // namespace dyn::ptx::emulation
