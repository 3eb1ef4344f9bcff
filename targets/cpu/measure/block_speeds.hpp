#pragma once
// How long blocks of outputs take on this machine: what the papers' policies know of their
// micro-kernels.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "dyn/options.hpp"
#include "src/choice/policies/shared/block_kernel.hpp"
#include "src/rkernel/target/target.hpp"
#include "targets/cpu/tile/main_loop.hpp"
#include "targets/llvm/jit/isa.hpp"

namespace dyn::cpu {

using choice::BlockSpeed;

/// Operands that blocks are timed with.
struct TimedOperands {
  rkernel::Factors factors = {};
  std::int64_t b_row = 0;  ///< elements from one row of B to the next, as it lies; 0: in panels
};

/// Times blocks as their plans want it, with warm caches: the least of several runs. `loops`: over
/// the factors of `operands`.
std::vector<BlockSpeed> measure_blocks(const codegen::Isa& isa, const MainLoopTable& loops,
                                       const std::vector<choice::BlockPlan>& plans, int threads,
                                       const TimedOperands& operands = {});

/// The same, kept in `cache_dir` under `name` as the machine's figures are. A file that is damaged,
/// or about another machine or other blocks, is a warning of the report, and replaced by what is
/// measured anew. Plans without depths need no file.
std::vector<BlockSpeed> block_figures(const codegen::Isa& isa, const choice::Machine& machine,
                                      std::string_view name,
                                      const std::vector<choice::BlockPlan>& plans,
                                      const std::function<MainLoopTable()>& loops,
                                      const std::string& cache_dir, rkernel::CompileReport& report);

}  // namespace dyn::cpu
