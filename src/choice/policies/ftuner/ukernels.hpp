#pragma once
// FTuner's uKernels on a CPU, made for one workload (section IV, Algorithm 1).

#include <algorithm>
#include <iterator>
#include <vector>

#include "src/choice/policies/shared/block_kernel.hpp"
#include "src/choice/policies/shared/micro_kernels.hpp"

namespace dyn::choice {

/// The paper's hyperparameters.
struct FTunerParameters {
  double least_pad = 0.5, most_pad = 0.95, pad_stride = 0.01;   ///< epsilon
  double most_occ = 0.95, least_occ = 0.9, occ_stride = 0.001;  ///< lambda
  double psi = 1;  ///< the compute-to-memory ratio of equation 6
};

/// RegTileRule: the factors of an axis, ascending. Where its largest factor up to `most_tile` is at
/// most half of that, as of a longer prime, the factors of its neighbours too. (The paper has these
/// for primes; its set is made for many extents at once, whose factors help each other.)
std::vector<std::int64_t> axis_factors(std::int64_t extent, std::int64_t most_tile);

/// HardwareAlign. Register tiles: those of the instruction set whose rows are a factor of M, and
/// whose columns are whole panels, a factor of N's panels. Blocks (SmemTileRule): multiples of the
/// tile that are factors of M, and of N's panels, expanded along K by 16 * 2^i (a vector has 16
/// floats where the paper's transactions have 8) as long as L2 holds them, and then as equal as
/// multiples of 16 can be, so that nothing is padded along K.
std::vector<BlockKernel> aligned_ukernels(const Machine& machine, const ProductShape& shape);

/// CrossPick, of blocks that memory holds, on so many units: indices of those of which for some
/// step i Pad (equation 2) is at least epsilon_i and Occ (equation 3) at least lambda_i; epsilon
/// rises as lambda falls, until one is at its end. Where there is none, those that are occupied
/// most.
std::vector<std::size_t> cross_pick(const std::vector<MicroKernel>& fitting,
                                    const ProductShape& shape, std::int64_t units,
                                    const FTunerParameters& parameters);
/// Those that `passes`, or all where none does: every shape must have a kernel.
template <class Kernel, class Passes>
std::vector<Kernel> filtered(const std::vector<Kernel>& all, const Passes& passes) {
  std::vector<Kernel> kept;
  std::ranges::copy_if(all, std::back_inserter(kept), passes);
  return kept.empty() ? all : kept;
}

/// The same on a CPU: blocks that L2 does not hold are left out, and units are threads.
std::vector<BlockKernel> cross_pick(const Machine& machine, const std::vector<BlockKernel>& aligned,
                                    const ProductShape& shape, const FTunerParameters& parameters);

/// Seconds of multiply-adds at the machine's speed over K_mem (equation 7): the larger one of what
/// a block reads and writes at a thread's part of the memory's bandwidth, and what its tiles read,
/// and its sums are read and written, in L2.
double compute_efficiency(const Machine& machine, const BlockKernel& block, std::int64_t k,
                          const rkernel::Factors& factors);

/// CrossPick, then equation 5 (at least as many blocks as threads) and equation 6
/// (compute_efficiency() at least psi). Equation 4 holds for every tile: a thread has one block,
/// and the instruction set's tiles are those that registers hold. A filter that would leave
/// nothing, as for workloads of fewer blocks than threads, leaves all; CrossPick then what is
/// occupied most.
std::vector<BlockKernel> ftuner_ukernels(const Machine& machine, const ProductShape& shape,
                                         const rkernel::Factors& factors,
                                         const FTunerParameters& parameters = {});

}  // namespace dyn::choice
