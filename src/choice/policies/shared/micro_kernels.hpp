#pragma once
// Micro-kernels as the papers' policies see them, whatever the machine.

#include <cstddef>
#include <cstdint>

namespace dyn::choice {

/// A block of outputs that one unit computes alone, in steps of the reduction (MikPoly's
/// micro-kernel, FTuner's and Vortex's tile of the layer below the units, TSCompiler's macro-kernel
/// of one block).
struct MicroKernel {
  std::int64_t m = 1, n = 1, k = 1;  ///< k: elements of the reduction in one step
};

/// The sizes of a contraction: `batch` products of m x k and k x n.
struct ProductShape {
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
};

/// All micro-kernels of one machine for contractions of one kind, with what was measured of each
/// before shapes were known (for a GPU that is only described: predicted). Immutable; thread-safe.
class MicroKernels {
 public:
  virtual ~MicroKernels() = default;
  virtual std::size_t size() const = 0;
  virtual MicroKernel operator[](std::size_t kernel) const = 0;

  /// True where one program may have both.
  virtual bool together(std::size_t, std::size_t) const { return true; }

  /// Parallel units: threads, multiprocessors.
  virtual int units() const = 0;
  /// Blocks of one kernel that run at once: units, times the occupancy of one.
  virtual std::int64_t blocks_per_wave(std::size_t kernel) const = 0;

  /// Seconds of one block with `k` elements of the reduction while the other units rest: MikPoly's
  /// g_predict, piecewise linear in k.
  virtual double task_seconds(std::size_t kernel, std::int64_t k) const = 0;
  /// The same while all units have one: TSCompiler's T_s.
  virtual double wave_seconds(std::size_t kernel, std::int64_t k) const = 0;
  /// Compute time over memory time of one block (FTuner, equation 6, left side).
  virtual double compute_to_memory(std::size_t kernel, std::int64_t k) const = 0;
  /// Cost of one block over all of K, below the layer that shares blocks among units (Vortex,
  /// equations 2 to 4, as the paper has them).
  virtual double vortex_block_seconds(std::size_t kernel, std::int64_t k) const = 0;
  /// No block of `k` elements of the reduction costs less than k times this. 0: no bound is known.
  virtual double vortex_least_rate(std::size_t) const { return 0; }
  /// Seconds in which all units together copy so many bytes, read and written ones counted. 0: not
  /// known.
  virtual double copy_seconds(double) const { return 0; }
  /// Which strategy of layer 0 the kernel is made of; equal for equal ones.
  virtual std::size_t lowest_layer(std::size_t) const { return 0; }
};

}  // namespace dyn::choice
