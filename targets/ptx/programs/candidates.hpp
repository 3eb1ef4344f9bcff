#pragma once
// Which tiles, and which pairs of them, a problem can have.

#include <optional>
#include <vector>

#include "src/choice/gpu/programs.hpp"
#include "src/rkernel/problem/problem.hpp"

namespace dyn::ptx {

/// The candidates of one problem.
struct Candidates {
  std::vector<choice::GpuTile> tiles;
  std::vector<choice::GpuPair> pairs;  ///< indices into `tiles`
};

/// The threads of a tile can share the copies of windows evenly.
bool copies_windows(const choice::GpuTile& tile);

/// A tile as the problem needs it (for_problem()). Nothing where the problem cannot have it, where
/// the GPU does not have the memory that windows need, or threads cannot share their copies evenly.
std::optional<choice::GpuTile> tile_for(const choice::GpuTile& tile,
                                        const rkernel::Problem& problem,
                                        const choice::GpuMachine& machine);

Candidates candidates_of(const rkernel::Problem& problem, const choice::GpuMachine& machine,
                         const std::vector<choice::GpuTile>& tiles,
                         const std::vector<choice::GpuPair>& pairs);

/// Keeps pairs whose first tile can fill a wave at some size of the problem: others never run, and
/// code takes time to make.
std::vector<choice::GpuPair> useful_pairs(const rkernel::Problem& problem,
                                          const choice::GpuMachine& machine,
                                          const std::vector<choice::GpuTile>& tiles,
                                          std::vector<choice::GpuPair> pairs);

}  // namespace dyn::ptx
