#pragma once
// One launch, as the hardware counts what it did: instructions of warps, passes over shared
// memory's banks, sectors of global memory.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace dyn::ptx {

/// Kinds of instructions, by the unit that executes them.
enum class InstructionClass : std::uint8_t {
  Mma,           ///< of tensor cores, 16 x 8 x 16 elements of 16 bits
  MmaTf32,       ///< 16 x 8 x 8
  MmaBytes,      ///< 16 x 8 x 32 integers of 8 bits
  Fma,           ///< fused multiply-adds of f32
  Float,         ///< other f32 arithmetic
  Special,       ///< divisions, roots, exponentials
  Integer,       ///< addresses and indices; two or more for 64 bits
  LongDivision,  ///< of 64-bit integers by what is no constant: a call of dozens of instructions
  Conversion,
  MatrixLoad,  ///< ldmatrix
  SharedLoad,
  SharedStore,
  GlobalLoad,
  GlobalStore,
  AsyncCopy,
  Shuffle,
  Synchronisation,  ///< barriers, and waits and arrivals of every kind
  Branch,
  End
};
inline constexpr std::size_t instruction_classes = static_cast<std::size_t>(InstructionClass::End);

/// Instructions by class, each once for a warp.
struct InstructionCounts {
  std::array<std::int64_t, instruction_classes> by_class = {};

  std::int64_t& operator[](InstructionClass kind) {
    return by_class[static_cast<std::size_t>(kind)];
  }
  std::int64_t operator[](InstructionClass kind) const {
    return by_class[static_cast<std::size_t>(kind)];
  }
  std::int64_t all() const;
  /// Adds `other` `times` times.
  void add(const InstructionCounts& other, std::int64_t times);
};

/// Accesses of warps to one memory. A request is one instruction of one warp. `units`: passes over
/// the 32 banks of shared memory (wavefronts), or sectors of 32 bytes of global memory. `least`: of
/// shared memory the passes without a conflict of banks, one for each 128 bytes that the lanes ask
/// for; of global memory as many sectors as the bytes of each request fill.
struct Traffic {
  std::int64_t requests = 0, units = 0, least = 0;
  void add(const Traffic& other);
  /// 1: none is wasted.
  double excess() const;
};

/// One operand's part in a launch.
struct OperandCounters {
  Traffic traffic;
  std::int64_t touched = 0;  ///< sectors of its buffer that were accessed at least once
  std::int64_t bytes = 0;    ///< of its buffer
  bool written = false;
};

/// All of one launch. Instructions are those of the device IR: exact for multiplications, memory
/// and synchronisation; integer arithmetic before a compiler has simplified it.
struct KernelCounters {
  std::string kernel;  ///< its group's name
  std::int64_t blocks = 0;
  int threads = 0, shared_bytes = 0;  ///< of a block
  int live_words = 0;  ///< the most 32-bit words of values that one thread holds at once: registers
  InstructionCounts all;
  InstructionCounts main_loop;  ///< of the loop that multiplies; none in a kernel without one
  InstructionCounts innermost;  ///< of loops that contain no other
  Traffic shared, main_loop_shared;
  Traffic tables;  ///< sectors of the launch's numbers and addresses, and of its status
  std::vector<OperandCounters> operands;  ///< in the problem's order

  /// Sectors of all operands: what passes between L2 and the multiprocessors.
  std::int64_t sectors() const;
  /// Sectors that memory has to give or take once.
  std::int64_t touched_sectors() const;
};

}  // namespace dyn::ptx
