#pragma once
// Candidates for a contraction of known sizes, and the choice among them.

#include <functional>
#include <vector>

#include "src/choice/cost/cost.hpp"

namespace dyn::choice {

/// Candidates bottom-up (Vortex, Algorithm 2). They depend on the machine alone; made once.
struct CandidateSet {
  std::vector<rkernel::Strategy> tiles;  ///< layer 0: tile_rows and tile_columns
  std::vector<std::int64_t>
      blocks_k;  ///< L2: depths whose A and B tiles fit; the whole K is always one more
  std::vector<std::int64_t> blocks_m;  ///< in tiles of rows
  std::vector<std::int64_t> blocks_n;  ///< in panels
};
CandidateSet make_candidates(const Machine& machine);

/// Calls `visit` for every legal strategy of this shape, without Strategy::dot_rest. `worth`, where
/// given, is asked first about tiles and blocks along M and N, with all of K in one block: where it
/// says no, no strategy with them is visited.
void for_each_strategy(const Machine& machine, const CandidateSet& candidates,
                       const ContractionShape& shape, int threads,
                       const std::function<void(const rkernel::Strategy&)>& visit,
                       const std::function<bool(const rkernel::Strategy&)>& worth = {});

struct Choice {
  rkernel::Program program;
  int threads = 1;
  double seconds = 0;
  int considered = 0;
  bool tuned = false;  ///< a tuning file has it: `seconds` were measured, and it is taken whatever
                       ///< other forms of the code promise
};

/// Every program and number of threads that select() may choose from, with its predicted time.
void for_each_choice(const Machine& machine, const CandidateSet& candidates,
                     const ContractionShape& shape, int threads,
                     const std::function<void(const Choice&)>& visit);

/// The cheapest program and number of threads (1 or `threads`); ties go to the earlier candidate,
/// so that equal inputs choose the same.
Choice select(const Machine& machine, const CandidateSet& candidates, const ContractionShape& shape,
              int threads);

}  // namespace dyn::choice
