#pragma once
// How long blocks of outputs take on this machine: what the papers' policies know of their
// micro-kernels.

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "dyn/options.hpp"
#include "src/choice/cpu/block_kernels.hpp"
#include "src/rkernel/target/target.hpp"
#include "targets/cpu/tile/main_loop.hpp"
#include "targets/llvm/jit/isa.hpp"

namespace dyn::cpu {

/// Depths of the reduction at which blocks are measured.
inline constexpr std::array<std::int64_t, 5> measured_depths{32, 128, 512, 1536, 4096};
using DepthSeconds = std::array<double, measured_depths.size()>;

struct BlockSpeed {
  choice::BlockKernel block;
  DepthSeconds alone{};     ///< one thread has a block, the others rest
  DepthSeconds together{};  ///< every thread has one
};

/// Seconds at any depth: linear between the measured ones, as the nearest two beyond them; never
/// below 0 (MikPoly's g_predict, section 3.3).
double at_depth(const DepthSeconds& seconds, std::int64_t depth);

/// Times every block on f32 operands, packed right sides, with warm caches: the least of several
/// runs. About a second.
std::vector<BlockSpeed> measure_blocks(const codegen::Isa& isa, const MainLoopTable& loops,
                                       const std::vector<choice::BlockKernel>& blocks, int threads);

/// The same, kept in `cache_dir` as the machine's figures are. A file that is damaged, or about
/// another machine or other blocks, is a warning of the report, and replaced by what is measured
/// anew.
std::vector<BlockSpeed> block_figures(const codegen::Isa& isa, const choice::Machine& machine,
                                      const std::function<MainLoopTable()>& loops,
                                      const std::string& cache_dir, rkernel::CompileReport& report);

}  // namespace dyn::cpu
