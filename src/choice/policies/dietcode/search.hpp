#pragma once
// DietCode's micro-kernels on a CPU: a shape-generic space, searched for all sampled shapes at
// once.

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <vector>

#include "src/choice/policies/shared/block_kernel.hpp"
#include "src/choice/policies/shared/micro_kernels.hpp"

namespace dyn::choice {

/// f_MK (equation 3): multiply-adds of a micro-kernel in a second, in any unit.
using KernelSpeed = std::function<double(const BlockKernel& kernel)>;

struct DietCodeSearch {
  int population = 96;
  int generations = 24;
  std::size_t kept = 40;
  std::uint64_t seed = 1;               ///< equal seeds give equal results
  double penalty = 1;                   ///< k of f_OCC
  std::vector<BlockKernel> first = {};  ///< of the space: the first generation has them too
};

/// True for a block of the space (section 3.1): a register tile of the instruction set, whole
/// tiles along M and N, lines of floats along K, and no more of A, B and sums than L2 holds. No
/// shape constrains it.
bool in_dietcode_space(const Machine& machine, const BlockKernel& kernel);

/// A kernel of the space, not too large along any axis; nullopt where the draw is none.
std::optional<BlockKernel> random_dietcode_kernel(const Machine& machine, std::mt19937_64& random);

/// Equation 3 for one shape: f_MK * f_OCC * f_pad.
double dietcode_cost(const Machine& machine, const BlockKernel& kernel, double speed,
                     double penalty, const ProductShape& shape);

struct EvolvedKernels {
  std::vector<BlockKernel> kernels;
  std::size_t favourites = 0;  ///< how many of the first are a shape's
};

/// Evolutionary search, joint over all shapes: the fitness of a kernel is the sum over shapes of
/// its cost as a share of the best one's that the search knows. Each generation keeps every shape's
/// favourite and the fittest, and mutates and crosses them. Gives the last generation's favourites
/// of shapes, those with most votes first, and after them the fittest others, at most `kept`.
EvolvedKernels evolved_kernels(const Machine& machine, const std::vector<ProductShape>& shapes,
                               const KernelSpeed& speed, const DietCodeSearch& search = {});

/// The search over M and N that are 2^(i / 2) up to 4096, with f_MK predicted from the machine's
/// figures; each kernel with the depth at which f_MK and f_OCC are then measured
/// (dietcode_depth()).
std::vector<BlockPlan> dietcode_blocks(const Machine& machine);

}  // namespace dyn::choice
