#pragma once
// What the cost model needs to know about this machine: measured once, kept on disk.

#include <functional>
#include <string>
#include <vector>

#include "src/choice/cost/machine.hpp"
#include "targets/cpu/tile/main_loop.hpp"
#include "targets/llvm/jit/isa.hpp"
#include "targets/llvm/jit/jit.hpp"

namespace dyn::cpu {

/// Measures levels of memory (for 1 .. threads threads) and every tile; about a second. Layer 0 is
/// timed interleaved with a standard tile, minimum of 7, and kept as a ratio to it; where the
/// ratios spread by more than 5 %, the least time takes its place.
struct MeasuredMachine {
  choice::Machine machine;
  bool disturbed =
      false;  ///< other programs took so much of the CPUs that the figures are partly assumed
};
MeasuredMachine measure_machine(const codegen::Isa& isa, int threads, const MainLoopTable& loops,
                                codegen::CodeStore& store, rkernel::CompileReport& report);

/// The same from `cache_dir` where it was measured before on this CPU with these threads; measures
/// and keeps it otherwise. An empty directory, or other programs that took much of the CPUs
/// meanwhile: measured once per process. `loops` is asked for the main loops only where they are
/// measured.
choice::Machine machine_figures(const codegen::Isa& isa, int threads,
                                const std::function<MainLoopTable()>& loops,
                                codegen::CodeStore& store, const std::string& cache_dir,
                                rkernel::CompileReport& report);

/// Speeds of all tiles whose main loops these are, as measure_machine() finds them.
std::vector<choice::TileSpeed> measure_tiles(const codegen::Isa& isa, const MainLoopTable& loops);
/// The same, kept in `cache_dir` as machine_figures() are. `loops` is asked only where they are
/// measured.
std::vector<choice::TileSpeed> tile_figures(const codegen::Isa& isa,
                                            const rkernel::Factors& factors,
                                            const std::function<MainLoopTable()>& loops,
                                            const std::string& cache_dir,
                                            rkernel::CompileReport& report);

}  // namespace dyn::cpu
