#pragma once
// Counts one launch as it runs: which lanes access what together, and how often blocks of code run.

#include <array>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "src/choice/gpu/gpu.hpp"
#include "src/rkernel/target/device.hpp"
#include "targets/ptx/emulator/counters/kernel_counters.hpp"
#include "targets/ptx/emulator/multiprocessor/emulated_kernel.hpp"

namespace dyn::ptx::emulation {

/// Passes over the banks of shared memory for one request: 32 banks of 4 bytes; lanes that want the
/// same word share it; 8 (16) bytes a lane are taken for half (a quarter of) a warp at a time.
/// `offsets`: of the lanes that take part, in their order in the warp; `bytes`: of each.
Traffic wavefronts(std::span<const std::uint64_t> offsets, std::uint32_t bytes);
/// Sectors of 32 bytes of global memory.
Traffic sectors(std::span<const std::uint64_t> addresses, std::uint32_t bytes);

/// A block that has begun and not ended.
struct BlockMeter {
  struct Request {
    std::uint32_t lanes = 0;  ///< that have come
    std::uint32_t bytes = 0;
    std::array<std::uint64_t, choice::warp_lanes> addresses = {};
  };
  /// The n-th execution of a place; the two halves of a copy are places apart.
  struct Place {
    std::uint32_t warp, site, instance;
    bool shared;
    bool operator==(const Place&) const = default;
  };
  struct PlaceHash {
    std::size_t operator()(const Place& place) const noexcept {
      return ((std::size_t{place.warp} * 0x9e3779b97f4a7c15u + place.site) * 0x9e3779b97f4a7c15u +
              place.instance) *
                 2 +
             (place.shared ? 1 : 0);
    }
  };
  std::vector<std::uint32_t> executions;  ///< of each block of code, by thread
  std::vector<std::uint32_t> instances;   ///< of shared and global accesses by site, by thread
  std::unordered_map<Place, Request, PlaceHash> pending;
};

/// A thread's n-th access at one place of the code belongs to the same request as its neighbours'
/// n-th one there. Not thread-safe.
class LaunchMeter {
 public:
  void begin(const EmulatedKernel& kernel, const rkernel::DeviceLaunch& launch);
  void begin_block(BlockMeter& block);
  /// Counts are those of this block from now on.
  void enter(BlockMeter& block) { block_ = &block; }
  void end_block();
  KernelCounters take();

  /// Where a thread counts the executions of each block of code.
  std::uint32_t* executions_of(int thread) {
    return block_->executions.data() + static_cast<std::size_t>(thread) * kernel_->blocks.size();
  }
  /// `address`: in shared memory the offset.
  void shared(int thread, std::uint32_t site, std::uint64_t offset, std::uint32_t bytes) {
    access(thread, site, offset, bytes, true);
  }
  void global(int thread, std::uint32_t site, std::uint64_t address, std::uint32_t bytes) {
    access(thread, site, address, bytes, false);
  }
  /// Rows of 16 bytes of 8 x 8 matrices, by all lanes at once.
  void matrices(std::uint32_t site, std::span<const std::uint64_t> offsets) {
    count_shared(site, wavefronts(offsets, 16));
  }

 private:
  void access(int thread, std::uint32_t site, std::uint64_t address, std::uint32_t bytes,
              bool shared);
  void count(const BlockMeter::Place& place, const BlockMeter::Request& request);
  void count_shared(std::uint32_t site, const Traffic& traffic);
  void count_global(std::span<const std::uint64_t> addresses, std::uint32_t bytes);
  std::uint32_t all_lanes_of(std::uint32_t warp) const;

  const EmulatedKernel* kernel_ = nullptr;
  KernelCounters counters_;
  std::vector<rkernel::OperandRange> operands_;
  std::vector<std::vector<bool>> touched_;  ///< sectors of each operand
  BlockMeter* block_ = nullptr;             ///< the one that runs
};

}  // namespace dyn::ptx::emulation
