#pragma once
// The emulator's reports of a launch: faults and counts.

#include <cstdint>
#include <string>

namespace dyn::ptx {

/// Actions of a kernel that fail or are undefined on a GPU.
enum class Fault : unsigned char {
  OutOfBounds,  ///< an access outside the operands' buffers or shared memory, or a write to an
                ///< operand that is read
  Misaligned,
  Uninitialised,  ///< shared memory or a register that nobody has written
  BeforeWait,     ///< shared memory that an asynchronous copy has not reached yet
  Race,           ///< two threads, at least one write, no barrier in between
  Divergence,     ///< a warp-collective operation that lanes of its mask do not reach together
  Deadlock,       ///< every thread waits
  Barrier,     ///< a barrier used against its rules: mbarrier not initialised, too many arrivals, a
               ///< wrong count
  Unfinished,  ///< asynchronous copies that the kernel did not wait for
  BadLaunch    ///< more threads or shared memory than the machine has, or other than the kernel was
               ///< made for
};
const char* name_of(Fault fault) noexcept;

struct FaultReport {
  Fault fault = Fault::OutOfBounds;
  std::string kernel;  ///< its group's name
  std::int64_t block = 0;
  int thread = 0;
  std::string instruction;  ///< the device IR's line
  std::string
      text;  ///< what happened, with addresses, sizes, and the other thread where there is one
};
std::string to_string(const FaultReport& report);

/// Counts of one launch: coverage for tests and `explain`.
struct EmulatorCounts {
  std::int64_t launches = 0, blocks = 0, barriers = 0, async_copies = 0, mmas = 0, loads = 0,
               stores = 0;
};

}  // namespace dyn::ptx
