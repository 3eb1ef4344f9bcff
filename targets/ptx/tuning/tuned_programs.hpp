#pragma once
// Programs of tuning files for contractions on a GPU.

#include <string>
#include <vector>

#include "src/choice/gpu/programs.hpp"
#include "src/rkernel/target/tuning.hpp"
#include "targets/ptx/contraction/program_memory.hpp"

namespace dyn::ptx {

/// A problem at one shape: what its code and its choices depend on.
struct TunedSizes {
  std::string problem;  ///< structure of the problem, without names and dims
  choice::GpuContraction shape;
  int vectors = 0;  ///< MetContraction::vectors
};

/// A program whose regions name the tiles beside them.
struct TunedRegions {
  std::vector<choice::GpuTile> tiles;
  std::vector<choice::GpuRegion> regions;  ///< `tile`: index into `tiles`
};

rkernel::ModelInput model_input_of(const TunedSizes& sizes, const TunedRegions& program);

struct TunedGpuProgram {
  std::size_t number = 0;  ///< in its file, counted from 1
  TunedSizes sizes;
  TunedRegions program;
  double seconds = 0;
};

/// Those of a tuning for a problem of this structure. Throws Error(user) that names the file and
/// the program for text that is broken.
std::vector<TunedGpuProgram> programs_for(const rkernel::Tuning& tuning,
                                          const std::string& problem);

}  // namespace dyn::ptx
