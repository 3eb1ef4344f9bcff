#pragma once
// One contraction on a GPU with all its candidates: sources, choice, plan, explanation.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/choice/gpu/programs.hpp"
#include "src/choice/policies/gpu/paper_spaces.hpp"
#include "src/rkernel/target/target.hpp"
#include "src/rkernel/target/tuning.hpp"
#include "targets/llvm/problem/kernel_draft.hpp"
#include "targets/ptx/lowering/device_kernel.hpp"
#include "targets/ptx/programs/later_code.hpp"
#include "targets/ptx/programs/tile_searches.hpp"

namespace dyn::ptx {

/// True where both factors are integers of 8 bits: such a contraction multiplies in DType::i8,
/// whatever the precision of others.
bool multiplies_bytes(const rkernel::Problem& problem);

/// The contractions of one target have these in common, beside their candidates.
struct TargetShares {
  /// Tiles of the papers' policies, for the kinds of the candidates; nullptr: the kernel makes them
  /// by itself.
  std::shared_ptr<const choice::GpuPaperSpaces> spaces;
  /// For tiles that are no candidates.
  CodeOnDemand code;
  /// Policy Dyn has late tiles (late_gpu_tiles()) beside the candidates; nullptr: it has not.
  std::shared_ptr<TileSearches> searches = nullptr;
};

class ContractionKernel : public DeviceKernel {
 public:
  using Draft = codegen::KernelDraft<ContractionKernel, const void*>;
  /// Programs of one region. `compute`: the dtype that the contraction multiplies in, a float or
  /// i8. Nothing where device code cannot run the problem.
  static std::optional<Draft> draft(const rkernel::Problem& problem,
                                    const choice::GpuMachine& machine, DType compute,
                                    bool allow_tf32, const std::string& target_name);
  /// The same with the candidates for `compute` that gpu_tiles() gives, for callers with many
  /// problems. `policy` chooses in plan(); Vendor and Oracle choose as Dyn. `pairs`: tiles for
  /// programs of two regions (gpu_pairs()). `shares`: programs may be of shared tiles. `tuning`:
  /// programs that policy Dyn takes; nullptr: none. Throws Error(user) for those without code.
  static std::optional<Draft> draft(
      const rkernel::Problem& problem, const choice::GpuMachine& machine, DType compute,
      const std::vector<choice::GpuTile>& tiles, const std::string& target_name,
      rkernel::Policy policy = rkernel::Policy::Dyn, const std::vector<choice::GpuPair>& pairs = {},
      bool shares = true, const rkernel::Tuning* tuning = nullptr, const TargetShares& shared = {});

 protected:
  using DeviceKernel::DeviceKernel;
};

}  // namespace dyn::ptx
