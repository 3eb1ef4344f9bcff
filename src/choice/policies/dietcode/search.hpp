#pragma once
// DietCode's micro-kernels on a CPU: a shape-generic space, searched for all sampled shapes at
// once.

#include <cstdint>
#include <functional>
#include <vector>

#include "src/choice/policies/shared/block_kernel.hpp"
#include "src/choice/policies/shared/micro_kernels.hpp"

namespace dyn::choice {

/// Elements of the reduction at which f_MK and f_OCC are taken.
inline constexpr std::int64_t dietcode_depth = 512;

/// f_MK (equation 3): multiply-adds of a micro-kernel in a second, in any unit.
using KernelSpeed = std::function<double(const BlockKernel& kernel)>;

struct DietCodeSearch {
  int population = 96;
  int generations = 24;
  std::size_t kept = 40;
  std::uint64_t seed = 1;  ///< equal seeds give equal results
};

/// True for a block of the space (section 3.1): a register tile of the instruction set, whole
/// tiles along M and N, lines of floats along K, and no more of A, B and sums than L2 holds. No
/// shape constrains it.
bool in_dietcode_space(const Machine& machine, const BlockKernel& kernel);

/// Equation 3 for one shape: f_MK * f_OCC * f_pad, with k of f_OCC 1.
double dietcode_cost(const Machine& machine, const BlockKernel& kernel, double speed,
                     const ProductShape& shape);

/// Evolutionary search, joint over all shapes: the fitness of a kernel is the sum over shapes of
/// its cost as a share of the best one's that the search knows. Each generation keeps every shape's
/// favourite and the fittest, and mutates and crosses them. Gives the favourites of the shapes at
/// the end, those with most votes first, at most `kept`.
std::vector<BlockKernel> evolved_kernels(const Machine& machine,
                                         const std::vector<ProductShape>& shapes,
                                         const KernelSpeed& speed,
                                         const DietCodeSearch& search = {});

/// The search over M and N that are 2^(i / 2) up to 4096, with f_MK predicted from the machine's
/// figures; each kernel with the depth at which f_MK and f_OCC are then measured, 512.
std::vector<BlockPlan> dietcode_blocks(const Machine& machine);

}  // namespace dyn::choice
