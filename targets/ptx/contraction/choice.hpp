#pragma once
// Chooses among the programs of one contraction, by dyn's cost or the policy of a paper.

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <vector>

#include "src/choice/gpu/programs.hpp"
#include "src/rkernel/target/policy.hpp"

namespace dyn::ptx {

/// A contraction at one shape, as each tile meets it. Equal `vectors` mean that strides allow the
/// same vector copies, and that code of pairs exists for the same tiles.
struct MetContraction {
  choice::GpuContraction shape;
  choice::GpuShapeFor for_tile;
  int vectors = 0;
  bool pairs = false;
  bool split = false;  ///< code for shared tiles is there
};

struct ConsideredProgram {
  std::vector<choice::GpuRegion> regions;
  std::optional<double> seconds;  ///< seconds that the policy predicts, if it predicts time
};

/// Policies over the tiles of one contraction. A program has two regions only where one launch can
/// run its pair of tiles. Vendor and Oracle choose as Dyn. Thread-safe; a policy is made when it is
/// first asked.
class TilePolicies {
 public:
  TilePolicies(const choice::GpuMachine& machine, const std::vector<choice::GpuTile>& tiles,
               const std::vector<choice::GpuPair>& pairs);
  ~TilePolicies();

  /// The policy that chooses where this one is asked for.
  static rkernel::Policy acting(rkernel::Policy policy);
  /// The program that a policy takes, and its seconds by dyn's cost, whichever policy chooses. A
  /// contraction without outputs has any program.
  choice::GpuProgram choose(rkernel::Policy policy, const MetContraction& met) const;
  /// All programs that a policy considers, each once.
  std::vector<ConsideredProgram> considered(rkernel::Policy policy,
                                            const MetContraction& met) const;

 private:
  struct Paper;
  const Paper* paper(rkernel::Policy policy, const MetContraction& met) const;
  const std::vector<choice::GpuPair>& pairs_for(const MetContraction& met) const;

  choice::GpuMachine machine_;
  std::vector<choice::GpuTile> tiles_;
  std::vector<choice::GpuPair> pairs_;
  mutable std::shared_mutex mutex_;
  mutable std::map<std::pair<rkernel::Policy, int>, std::unique_ptr<const Paper>> papers_;
};

}  // namespace dyn::ptx
