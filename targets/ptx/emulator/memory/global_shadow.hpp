#pragma once
// Global memory as one launch may touch it: its operands, the tables of its arguments, and the
// threads that touch memory which it writes.

#include <cstdint>
#include <string>
#include <vector>

#include "src/rkernel/target/device.hpp"
#include "targets/ptx/emulator/memory/shadow.hpp"

namespace dyn::ptx::emulation {

class GlobalShadow {
 public:
  /// `ints_bytes`: bytes from the ints to the end of their memory.
  void begin_launch(const rkernel::DeviceLaunch& launch, std::size_t ints_bytes,
                    unsigned cell_shift, std::size_t sites);
  void forget() { cells_.forget(); }

  // Checks an access of `bytes` bytes at `address` by an instruction. False: conflict() tells why
  // it is wrong.
  bool read(const Clocks& clocks, int thread, std::uint32_t site, std::uintptr_t address,
            std::uint32_t bytes) {
    const Range* range = find(site, address, bytes);
    if (range == nullptr) return outside();
    return range->cells == nullptr || read_cells(clocks, thread, *range, address, bytes);
  }
  /// `state`: Written, or Atomic for an atomic operation, which is ordered with others on the same
  /// bytes.
  bool write(const Clocks& clocks, int thread, std::uint32_t site, std::uintptr_t address,
             std::uint32_t bytes, CellState state = CellState::Written) {
    const Range* range = find(site, address, bytes);
    if (range == nullptr) return outside();
    return range->cells == nullptr ? read_only()
                                   : write_cells(clocks, thread, *range, address, bytes, state);
  }
  bool is_status(std::uintptr_t address, std::uint32_t bytes) const {
    return address == status_ && bytes == sizeof(std::int32_t);
  }

  const Conflict& conflict() const { return conflict_; }
  /// "operand 2, 8 bytes after its end (256 bytes at 0x...)".
  std::string place_of(std::uintptr_t address) const;

 private:
  struct Range {
    std::uintptr_t begin = 0;
    std::size_t bytes = 0;
    Cell* cells = nullptr;  ///< nullptr: read only
    int operand = -1;       ///< -1: the pointers, -2: the ints
    bool contains(std::uintptr_t address, std::uint32_t size) const {
      return address - begin < bytes && bytes - (address - begin) >= size;
    }
  };
  /// An instruction mostly touches the range that it touched last.
  const Range* find(std::uint32_t site, std::uintptr_t address, std::uint32_t bytes) {
    const Range& last = ranges_[hints_[site]];
    return last.contains(address, bytes) && hints_are_safe_ ? &last : search(site, address, bytes);
  }
  const Range* search(std::uint32_t site, std::uintptr_t address, std::uint32_t bytes);
  std::size_t cell_of(const Range& range, std::uintptr_t address) const {
    return (address >> shift_) - (range.begin >> shift_);
  }
  bool read_cells(const Clocks& clocks, int thread, const Range& range, std::uintptr_t address,
                  std::uint32_t bytes);
  bool write_cells(const Clocks& clocks, int thread, const Range& range, std::uintptr_t address,
                   std::uint32_t bytes, CellState state);
  bool sees_write(const Clocks& clocks, int thread, const Cell& cell);
  bool sees_reads(const Clocks& clocks, int thread, const Cell& cell);
  bool outside();
  bool read_only();
  bool raced(const Clocks& clocks, int agent, const char* what, Epoch epoch);

  std::vector<Range>
      ranges_;  ///< written ranges first: memory that is read and written counts as written
  std::vector<std::uint16_t> hints_;
  bool hints_are_safe_ = true;  ///< no memory is in a range that is written and in one that is not
  Cells cells_;
  unsigned shift_ = 2;
  std::uintptr_t status_ = 0;
  Conflict conflict_;
};

}  // namespace dyn::ptx::emulation
