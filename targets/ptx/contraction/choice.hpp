#pragma once
// Chooses among the programs of one contraction, by dyn's cost or the policy of a paper.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <vector>

#include "src/choice/gpu/programs.hpp"
#include "src/choice/policies/gpu/gpu_paper.hpp"
#include "src/choice/policies/gpu/paper_spaces.hpp"
#include "src/rkernel/target/policy.hpp"
#include "targets/ptx/programs/tile_searches.hpp"
#include "targets/ptx/programs/tile_table.hpp"

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

/// Policies for one contraction: dyn's over its candidates and late tiles, each paper's over the
/// tiles of its own space. A program has two regions only where one launch can run its pair of
/// tiles. Vendor and Oracle choose as Dyn. Thread-safe; a policy is made when it is first asked.
class TilePolicies {
 public:
  /// A space's tile as the problem needs it; nothing where it cannot have it.
  using TileFor = std::function<std::optional<choice::GpuTile>(const choice::GpuTile&)>;
  /// `tiles` and `pairs`: dyn's candidates, the first of `table`, which must outlive it, and gets
  /// the tiles of chosen programs. `searches`: dyn's policy has its late tiles too; nullptr: it
  /// does not.
  TilePolicies(const choice::GpuMachine& machine, const std::vector<choice::GpuTile>& tiles,
               const std::vector<choice::GpuPair>& pairs, TileTable& table,
               std::shared_ptr<const choice::GpuPaperSpaces> spaces, TileFor tile_for,
               std::shared_ptr<TileSearches> searches);

  /// The policy that chooses where this one is asked for.
  static rkernel::Policy acting(rkernel::Policy policy);
  /// The program that a policy takes, and its seconds by dyn's cost, whichever policy chooses. A
  /// contraction without outputs has any program.
  choice::GpuProgram choose(rkernel::Policy policy, const MetContraction& met) const;
  /// True where a tuning file has the tiles that a policy chooses from.
  bool is_tuned(rkernel::Policy policy) const { return spaces_->tuned(policy) != nullptr; }
  /// All programs that a policy considers, each once.
  std::vector<ConsideredProgram> considered(rkernel::Policy policy,
                                            const MetContraction& met) const;

 private:
  using Paper = std::shared_ptr<const choice::GpuPaper>;
  Paper paper(rkernel::Policy policy, const MetContraction& met) const;
  Paper made_paper(rkernel::Policy policy, const MetContraction& met) const;
  /// Regions by the numbers of the table, in the order of tickets.
  std::vector<choice::GpuRegion> numbered(const choice::GpuPaper& paper,
                                          const choice::KernelProgram& program) const;
  const std::vector<choice::GpuPair>& pairs_for(const MetContraction& met) const;
  using Search = TileSearches::Search;
  Search search(const MetContraction& met) const;
  Search made_search(const MetContraction& met) const;
  /// The tile of a search by its number in the table.
  std::size_t numbered(const choice::GpuTileSearch& search, int tile) const;
  choice::GpuProgram dyns_choice(const MetContraction& met) const;
  std::vector<ConsideredProgram> dyns_programs(const MetContraction& met) const;

  choice::GpuMachine machine_;
  std::vector<choice::GpuTile> tiles_;
  std::vector<choice::GpuPair> pairs_;
  TileTable& table_;
  std::shared_ptr<const choice::GpuPaperSpaces> spaces_;
  TileFor tile_for_;
  std::shared_ptr<TileSearches> shared_searches_;
  mutable std::shared_mutex mutex_;
  mutable std::map<std::pair<rkernel::Policy, int>, Paper> papers_;
  mutable std::map<int, Search> searches_;  ///< of each MetContraction::vectors
};

}  // namespace dyn::ptx
