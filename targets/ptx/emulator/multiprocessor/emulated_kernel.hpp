#pragma once
// A kernel that the emulator has loaded.

#include <cstdint>
#include <string>
#include <vector>

#include "targets/ptx/emulator/counters/survey.hpp"
#include "targets/ptx/emulator/memory/clocks.hpp"
#include "targets/ptx/emulator/multiprocessor/thread_context.hpp"

namespace dyn::ptx::emulation {

/// A load, a store, or a device operation in the device IR.
struct Site {
  std::uint32_t bytes = 0;      ///< bytes of a load or store
  std::uint32_t alignment = 1;  ///< alignment that the instruction promises; PTX demands it
  std::uint32_t text = 0;       ///< index into texts
  std::uint32_t block = 0;      ///< index into blocks
};

struct EmulatedKernel {
  int threads = 0, shared_bytes = 0;  ///< of a block
  std::string hash;                   ///< module_hash() of the device module
  std::vector<Site> sites;
  std::vector<std::string> texts;  ///< the device IR's line of each site
  /// log2 of the bytes of one cell of shadow memory: no access is smaller or less aligned.
  unsigned shared_cell_shift = 2, global_cell_shift = 2;
  bool waits = false;  ///< has operations in which a thread waits for others
  Orders orders;
  std::vector<CodeBlock> blocks;  ///< of the device IR, in order
  int live_words = 0;             ///< emulation::live_words()
  Entry entry = nullptr;
};

}  // namespace dyn::ptx::emulation
