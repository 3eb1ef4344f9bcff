#include "targets/ptx/emulator/memory/global_shadow.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dyn::ptx::emulation {

void GlobalShadow::begin_launch(const rkernel::DeviceLaunch& launch, std::size_t ints_bytes,
                                unsigned cell_shift, std::size_t sites) {
  shift_ = cell_shift;
  status_ = launch.status;
  ranges_.clear();
  std::size_t cells = 0;
  for (const bool written : {true, false}) {
    for (std::size_t i = 0; i < launch.operands.size(); ++i) {
      const rkernel::OperandRange& operand = launch.operands[i];
      if (operand.written != written) continue;
      ranges_.push_back({operand.begin, operand.bytes, nullptr, static_cast<int>(i)});
      if (written) cells += (operand.bytes >> shift_) + 2;
    }
  }
  cells_.reserve(cells);
  Cell* next = cells_.data();
  hints_are_safe_ = true;
  for (Range& range : ranges_) {
    if (launch.operands[static_cast<std::size_t>(range.operand)].written) {
      range.cells = next;
      next += (range.bytes >> shift_) + 2;
      continue;
    }
    for (const Range& other : ranges_) {
      if (other.cells != nullptr && other.begin < range.begin + range.bytes &&
          range.begin < other.begin + other.bytes)
        hints_are_safe_ = false;
    }
  }
  ranges_.push_back(
      {launch.pointers, launch.operands.size() * sizeof(rkernel::DeviceAddress), nullptr, -1});
  ranges_.push_back({launch.ints, ints_bytes, nullptr, -2});
  hints_.assign(sites, 0);
}

const GlobalShadow::Range* GlobalShadow::search(std::uint32_t site, std::uintptr_t address,
                                                std::uint32_t bytes) {
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    if (!ranges_[i].contains(address, bytes)) continue;
    hints_[site] = static_cast<std::uint16_t>(i);
    return &ranges_[i];
  }
  return nullptr;
}

bool GlobalShadow::sees_write(const Clocks& clocks, int thread, const Cell& cell) {
  return cell.written < clocks.launch_start() || clocks.sees(thread, cell.writer, cell.written) ||
         raced(clocks, cell.writer, " has written", cell.written);
}

bool GlobalShadow::sees_reads(const Clocks& clocks, int thread, const Cell& cell) {
  if (cell.read < clocks.launch_start()) return true;
  if (cell.read_in_other_block) {
    conflict_ = {Fault::Race, " has read", -1, true, -1, 0};
    return false;
  }
  const bool several =
      cell.several_readers && clocks.is_own(cell.read) && cell.read >= clocks.generation_start();
  if (several && !clocks.orders_finely())
    return raced(clocks, cell.reader == thread ? -1 : cell.reader, " has read", cell.read);
  // Where threads are ordered finely, only the last of several readers since the last barrier is
  // kept.
  return clocks.sees(thread, cell.reader, cell.read) ||
         raced(clocks, cell.reader, " has read", cell.read);
}

bool GlobalShadow::read_cells(const Clocks& clocks, int thread, const Range& range,
                              std::uintptr_t address, std::uint32_t bytes) {
  const std::size_t last = cell_of(range, address + bytes - 1);
  for (std::size_t i = cell_of(range, address); i <= last; ++i) {
    Cell& cell = range.cells[i];
    if (!sees_write(clocks, thread, cell)) return false;
    if (cell.read < clocks.launch_start()) {
      cell.read_in_other_block = cell.several_readers = false;
    } else if (!clocks.is_own(cell.read)) {
      // Nothing needs to be kept of an ordered reader.
      cell.read_in_other_block |= !clocks.sees(thread, cell.reader, cell.read);
      cell.several_readers = false;
    } else if (cell.read < clocks.generation_start()) {
      cell.several_readers = false;
    } else if (cell.reader != thread) {
      // A thread's own read does not hide another thread's read of this generation.
      cell.several_readers = true;
    }
    cell.read = clocks.now(thread);
    cell.reader = static_cast<std::uint16_t>(thread);
  }
  return true;
}

bool GlobalShadow::write_cells(const Clocks& clocks, int thread, const Range& range,
                               std::uintptr_t address, std::uint32_t bytes, CellState state) {
  const std::size_t last = cell_of(range, address + bytes - 1);
  for (std::size_t i = cell_of(range, address); i <= last; ++i) {
    Cell& cell = range.cells[i];
    const bool both_atomic = state == CellState::Atomic && cell.state == CellState::Atomic;
    if (!both_atomic && !sees_write(clocks, thread, cell)) return false;
    if (!sees_reads(clocks, thread, cell)) return false;
    cell = {clocks.now(thread), 0, static_cast<std::uint16_t>(thread), 0, state, false, false};
  }
  return true;
}

bool GlobalShadow::outside() {
  conflict_ = {Fault::OutOfBounds, "outside the operands", -1, false, -1, 0};
  return false;
}

bool GlobalShadow::read_only() {
  conflict_ = {Fault::OutOfBounds, "which is only read", -1, false, -1, 0};
  return false;
}

bool GlobalShadow::raced(const Clocks& clocks, int agent, const char* what, Epoch epoch) {
  const bool other = !clocks.is_own(epoch);
  conflict_ = {Fault::Race, what, agent, other, other ? clocks.block_at(epoch) : -1, 0};
  return false;
}

std::string GlobalShadow::place_of(std::uintptr_t address) const {
  const Range* nearest = nullptr;
  std::uintptr_t least = UINTPTR_MAX;
  for (const Range& range : ranges_) {
    const std::uintptr_t end = range.begin + range.bytes;
    const std::uintptr_t distance = address < range.begin ? range.begin - address
                                    : address < end       ? 0
                                                          : address - end;
    if (nearest != nullptr && distance >= least) continue;
    nearest = &range;
    least = distance;
  }
  if (nearest == nullptr) return fmt::format("{:#x}", address);
  const std::string name = nearest->operand >= 0    ? fmt::format("operand {}", nearest->operand)
                           : nearest->operand == -1 ? "the pointers"
                                                    : "the ints";
  if (address < nearest->begin)
    return fmt::format("{:#x}, {} bytes before {} ({} bytes)", address, least, name,
                       nearest->bytes);
  const std::uintptr_t offset = address - nearest->begin;
  if (offset < nearest->bytes)
    return fmt::format("byte {} of {} ({} bytes)", offset, name, nearest->bytes);
  return fmt::format("{:#x}, {} bytes after the end of {} ({} bytes)", address, least, name,
                     nearest->bytes);
}

}  // namespace dyn::ptx::emulation
