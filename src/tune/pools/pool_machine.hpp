#pragma once
// A machine as the searches for micro-kernels see it.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "src/choice/gpu/gpu.hpp"
#include "src/choice/gpu/layer_zero.hpp"
#include "src/choice/policies/dietcode/search.hpp"
#include "src/choice/policies/shared/block_kernel.hpp"
#include "src/choice/policies/shared/micro_kernels.hpp"
#include "src/tune/space.hpp"

namespace dyn::tune {

/// The micro-kernels that a machine can hold, and what is known of them before any is measured.
/// Immutable; thread-safe.
class PoolMachine {
 public:
  using Kernel = choice::PoolKernel;
  /// f_MK: multiply-adds of a micro-kernel in a second, in any unit.
  using Speed = std::function<double(const Kernel&)>;

  virtual ~PoolMachine() = default;

  /// Threads, or multiprocessors.
  virtual int units() const = 0;
  virtual choice::MicroKernel block(const Kernel& kernel) const = 0;
  /// Blocks that run at once.
  virtual std::int64_t blocks_per_wave(const Kernel& kernel) const = 0;
  /// Seconds that each wave takes beside its blocks.
  virtual double seconds_per_wave() const = 0;
  /// The speed of all units, by the fastest tile.
  virtual double most_multiply_adds_per_second() const = 0;

  /// TSCompiler (section 5.1): the space of macro-kernels, with these as its seeds. The machine
  /// must outlive it.
  virtual Space space(const std::vector<Kernel>& seeds) const = 0;
  /// That of a point of the space.
  virtual Kernel kernel_at(const Values& values) const = 0;
  /// Hardware-aligned ones, from which its search begins.
  virtual std::vector<Kernel> aligned() const = 0;

  /// DietCode (section 3.1): one of the shape-generic space; nullopt where the draw is none.
  virtual std::optional<Kernel> random_kernel(std::mt19937_64& random) const = 0;
  /// FeatureExtractor(M) of its equation 2; always as many.
  virtual std::vector<float> features(const Kernel& kernel) const = 0;
  /// Evolutionary search in that space (evolved_genes()): the last generation, favourites of shapes
  /// first.
  virtual std::vector<Kernel> evolved(const std::vector<choice::ProductShape>& shapes,
                                      const Speed& speed, const choice::DietCodeSearch& search,
                                      const std::vector<Kernel>& first) const = 0;
};

/// Blocks on a CPU (block_space()).
std::shared_ptr<const PoolMachine> pool_machine(choice::Machine machine);

/// Tiles on a GPU, which nobody times.
class GpuPoolMachine : public PoolMachine {
 public:
  /// One block alone on a multiprocessor, and as many on each as fit, by dyn's model of a wave.
  virtual choice::PoolSpeed predicted(const choice::PoolPlan& plan) const = 0;
};
/// `kinds`: what contractions multiply with, first what the dtype is for, which is DietCode's.
std::shared_ptr<const GpuPoolMachine> pool_machine(const choice::GpuMachine& machine,
                                                   const std::vector<choice::GpuKind>& kinds);

}  // namespace dyn::tune
