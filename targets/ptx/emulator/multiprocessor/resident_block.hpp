#pragma once
// A block of a launch that has begun: its threads, its shared memory, and who waits in it for whom.

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "targets/ptx/emulator/counters/launch_meter.hpp"
#include "targets/ptx/emulator/memory/clocks.hpp"
#include "targets/ptx/emulator/memory/shared_shadow.hpp"
#include "targets/ptx/emulator/multiprocessor/fiber.hpp"
#include "targets/ptx/emulator/multiprocessor/lanes.hpp"
#include "targets/ptx/emulator/multiprocessor/thread_context.hpp"

namespace dyn::ptx::emulation {

class Multiprocessor;

/// The event that a thread waits for.
enum class Waiting : std::uint8_t { Nothing, Block, Named, Warp, Phase, Global, Ended };

/// An asynchronous copy: its bytes are read and written when a thread may rely on them, not before.
struct Copy {
  const char* from = nullptr;
  std::uint32_t to = 0;  ///< offset in shared memory
  std::uint32_t bytes = 0, from_bytes = 0;
  std::uint32_t site = 0;
  std::uint64_t group = 0;  ///< groups that the thread had committed before
  bool complete = false;
};

struct Thread : ThreadContext {
  Multiprocessor* home = nullptr;
  Fiber* fiber = nullptr;  ///< nullptr: has not begun, or has ended
  Waiting waiting = Waiting::Nothing;
  std::uint32_t site = 0;  ///< where it waits
  std::uint32_t awaited =
      0;  ///< the mask of lanes, the number of the named barrier, the mbarrier's offset
  const char* asked = nullptr;      ///< global memory that it has read by its last atomic operation
  std::uint64_t asked_changes = 0;  ///< AtomicPlace::changes then
  LaneOperands operands = {};       ///< its lane's part in the operation of its warp
  std::vector<Copy> copies;         ///< copies since the last time that all were complete
  std::uint64_t first_copy = 0;     ///< copies that the thread had issued before copies[0]
  std::uint64_t groups = 0;         ///< committed
};

/// Lanes of a warp that meet at one operation.
struct Rendezvous {
  std::uint32_t site = 0, mask = 0, arrived = 0;
};
struct Warp {
  std::uint32_t ended = 0;  ///< lanes
  std::vector<Rendezvous> pending;
};

struct NamedBarrier {
  int expected = 0;
  std::vector<int> arrived;
};

/// "mbarrier" in the PTX ISA.
struct Mbarrier {
  /// An arrival that follows when the copies of a thread are complete.
  struct Follows {
    int thread = 0;
    std::uint64_t copies = 0;  ///< copies that the thread had issued
    Epoch waited = 0;          ///< when the thread itself waited for some of them
  };
  std::uint32_t offset = 0;
  bool alive = false;
  std::uint32_t expected = 0, missing = 0, phase = 0;
  std::vector<Follows> following;
  Clock gathered,
      completed;  ///< what arrivals of all phases have released, and what those of complete phases
                  ///< have
  std::vector<std::uint32_t>
      doubted;  ///< by thread: the phase in which it last got an unneeded "not yet"
};

/// Its vectors are kept from block to block.
struct ResidentBlock {
  int index = 0;
  std::vector<char> shared_memory;
  char* shared = nullptr;
  std::vector<Thread> threads;
  int ended = 0;
  std::vector<std::uint64_t> runnable;  ///< one bit for each thread
  int last = 0;                         ///< the thread that runs, or ran last
  std::vector<Warp> warps;
  int at_block_barrier = 0;
  std::uint32_t block_barrier_site = 0;
  std::array<NamedBarrier, 16> named;
  std::vector<Mbarrier> mbarriers;
  Clocks clocks;
  SharedShadow shared_shadow;
  BlockMeter meter;

  bool can_go_on() const {
    return std::ranges::any_of(runnable, [](std::uint64_t word) { return word != 0; });
  }
};

}  // namespace dyn::ptx::emulation
