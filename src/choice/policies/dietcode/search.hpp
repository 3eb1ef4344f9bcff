#pragma once
// DietCode's micro-kernels on a CPU: a shape-generic space, searched for all sampled shapes at
// once.

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "src/choice/policies/shared/block_kernel.hpp"
#include "src/choice/policies/shared/micro_kernels.hpp"

namespace dyn::choice {

/// f_MK (equation 3): multiply-adds of a micro-kernel in a second, in any unit.
using KernelSpeed = std::function<double(const BlockKernel& kernel)>;

/// A micro-kernel of the space as whole numbers of what is below it: which register tile, or warp,
/// so many of it along M and N, and so many of the least steps along K.
struct DietCodeGene {
  std::size_t tile = 0;
  std::int64_t tiles_m = 1, tiles_n = 1, lines_k = 1;
  auto operator<=>(const DietCodeGene&) const = default;
};

/// The micro-kernels that a machine can hold (section 3.1); no shape constrains them.
class DietCodeSpace {
 public:
  virtual ~DietCodeSpace() = default;
  virtual std::size_t tiles() const = 0;
  virtual std::int64_t units() const = 0;
  /// Nothing where the machine cannot hold it.
  virtual std::optional<MicroKernel> block(const DietCodeGene& gene) const = 0;
  /// f_MK of one that it can.
  virtual double speed(const DietCodeGene& gene) const = 0;
};

struct DietCodeSearch {
  int population = 96;
  int generations = 24;
  std::size_t kept = 40;
  std::uint64_t seed = 1;  ///< equal seeds give equal results
  double penalty = 1;      ///< k of f_OCC
};

/// True for a block of the space (section 3.1): a register tile of the instruction set, whole
/// tiles along M and N, lines of floats along K, and no more of A, B and sums than L2 holds. No
/// shape constrains it.
bool in_dietcode_space(const Machine& machine, const BlockKernel& kernel);

/// A kernel of the space, not too large along any axis; nullopt where the draw is none.
std::optional<BlockKernel> random_dietcode_kernel(const Machine& machine, std::mt19937_64& random);

/// Equation 3 for one shape on so many units: f_MK * f_OCC * f_pad.
double dietcode_cost(std::int64_t units, const MicroKernel& block, double speed, double penalty,
                     const ProductShape& shape);
/// The same on the machine's threads.
double dietcode_cost(const Machine& machine, const BlockKernel& kernel, double speed,
                     double penalty, const ProductShape& shape);

struct EvolvedGenes {
  std::vector<DietCodeGene> genes;
  std::size_t favourites = 0;  ///< how many of the first are a shape's
};

struct EvolvedKernels {
  std::vector<BlockKernel> kernels;
  std::size_t favourites = 0;  ///< as of EvolvedGenes
};

/// The shapes of the search: M and N that are 2^(i / 2) up to 4096.
std::vector<ProductShape> sampled_shapes();

/// Evolutionary search, joint over all shapes: the fitness of a kernel is the sum over shapes of
/// its cost as a share of the best one's that the search knows. Each generation keeps every shape's
/// favourite and the fittest, and mutates and crosses them. Gives the last generation's favourites
/// of shapes, those with most votes first, and after them the fittest others, at most `kept`.
/// `first`, of the space: the first generation has them too.
EvolvedGenes evolved_genes(const DietCodeSpace& space, const std::vector<ProductShape>& shapes,
                           const DietCodeSearch& search = {},
                           std::span<const DietCodeGene> first = {});
/// The same on a CPU, with f_MK by `speed`.
EvolvedKernels evolved_kernels(const Machine& machine, const std::vector<ProductShape>& shapes,
                               const KernelSpeed& speed, const DietCodeSearch& search = {},
                               std::span<const BlockKernel> first = {});

/// The search over sampled_shapes(), with f_MK predicted from the machine's figures; each kernel
/// with the depth at which f_MK and f_OCC are then measured (dietcode_depth()).
std::vector<BlockPlan> dietcode_blocks(const Machine& machine);

}  // namespace dyn::choice
