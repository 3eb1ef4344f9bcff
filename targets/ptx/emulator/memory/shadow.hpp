#pragma once
// The emulator's state of memory that threads share, in cells of 1, 2 or 4 bytes.

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

#include "targets/ptx/emulator/memory/clocks.hpp"
#include "targets/ptx/emulator/memory/report.hpp"

namespace dyn::ptx::emulation {

enum class CellState : std::uint8_t {
  Unwritten,
  Written,
  InFlight,  ///< an asynchronous copy of `writer` is in flight
  Barrier,   ///< memory of an mbarrier
  Atomic     ///< an atomic operation was the last to write; global memory only
};

/// Epochs of earlier launches (global memory) or blocks (shared memory) mean nothing.
struct Cell {
  Epoch written, read;  ///< epochs of the last write, and of the last read after it; 0: none
  std::uint16_t writer, reader;
  CellState state;
  bool several_readers;      ///< since the last barrier
  bool read_in_other_block;  ///< global memory only
};

/// Cells, all zero at first; they are kept and grow, but are never initialised again.
class Cells {
 public:
  /// Makes room for at least so many cells; existing cells may be lost.
  void reserve(std::size_t count) {
    if (count <= count_) return;
    memory_.reset();
    memory_.reset(static_cast<Cell*>(
        std::calloc(count, sizeof(Cell))));  // pages that nothing touches cost nothing
    count_ = memory_ == nullptr ? 0 : count;
    if (memory_ == nullptr) throw std::bad_alloc();
  }
  Cell* data() { return memory_.get(); }
  void forget() {
    memory_.reset();
    count_ = 0;
  }

 private:
  struct Free {
    void operator()(Cell* cells) const { std::free(cells); }
  };
  std::unique_ptr<Cell, Free> memory_;
  std::size_t count_ = 0;
};

/// Describes why an access is wrong.
struct Conflict {
  Fault fault = Fault::Race;
  const char* what = "";  ///< "thread 3 has written"
  int agent = -1;         ///< the other thread, -1: none
  bool other_block = false;
  int block = -1;  ///< the other block, -1: one of several
  std::size_t cell = 0;
};

}  // namespace dyn::ptx::emulation
