#pragma once
// Micro-kernels with numbers that can be checked by hand.

#include <random>
#include <vector>

#include "src/choice/policies/shared/paper_policy.hpp"

namespace dyn::rkernel::testing {

struct FakeKernel {
  choice::MicroKernel block;
  double fixed = 0;           ///< seconds of one block without a reduction
  double step = 1;            ///< seconds of one step of the reduction
  double crowd = 1;           ///< factor on the time while all units have a block
  double ratio = 1;           ///< compute to memory
  std::int64_t resident = 1;  ///< blocks of one unit
  std::size_t lowest = 0;     ///< strategy of layer 0
};

class FakeKernels final : public choice::MicroKernels {
 public:
  /// `bytes_per_second`: of copies; 0: they take no time.
  FakeKernels(int units, std::vector<FakeKernel> kernels, double bytes_per_second = 0)
      : units_(units), bytes_per_second_(bytes_per_second), kernels_(std::move(kernels)) {}
  std::size_t size() const override { return kernels_.size(); }
  choice::MicroKernel operator[](std::size_t kernel) const override {
    return kernels_.at(kernel).block;
  }
  int units() const override { return units_; }
  std::int64_t blocks_per_wave(std::size_t kernel) const override {
    return units_ * kernels_.at(kernel).resident;
  }
  double task_seconds(std::size_t kernel, std::int64_t k) const override {
    const FakeKernel& own = kernels_.at(kernel);
    return own.fixed + own.step * static_cast<double>(k) / static_cast<double>(own.block.k);
  }
  double wave_seconds(std::size_t kernel, std::int64_t k) const override {
    return kernels_.at(kernel).crowd * task_seconds(kernel, k);
  }
  double compute_to_memory(std::size_t kernel, std::int64_t) const override {
    return kernels_.at(kernel).ratio;
  }
  double vortex_block_seconds(std::size_t kernel, std::int64_t k) const override {
    const FakeKernel& own = kernels_.at(kernel);
    return own.fixed + own.step * static_cast<double>((k + own.block.k - 1) / own.block.k);
  }
  double vortex_least_rate(std::size_t kernel) const override {
    return kernels_.at(kernel).step / static_cast<double>(kernels_.at(kernel).block.k);
  }
  std::size_t lowest_layer(std::size_t kernel) const override { return kernels_.at(kernel).lowest; }

  double copy_seconds(double bytes) const override {
    return bytes_per_second_ > 0 ? bytes / bytes_per_second_ : 0;
  }

 private:
  int units_;
  double bytes_per_second_;
  std::vector<FakeKernel> kernels_;
};

/// Some kernels whose sizes are multiples of 2 to 16, and whose speed has no system. Columns are
/// multiples of `panel`.
FakeKernels random_kernels(std::mt19937_64& random, std::int64_t panel);
/// Small and large sizes equally often; now and then 1, and K 0.
choice::ProductShape random_shape(std::mt19937_64& random, std::int64_t most);

std::vector<choice::KernelProgram> all_programs(const choice::PaperPolicy& policy,
                                                const choice::ProductShape& shape);

/// Dispatched by a tree of votes.
inline constexpr Policy dietcodes[] = {Policy::DietCode, Policy::DietCodePadding,
                                       Policy::DietCodePartition};
inline constexpr Policy papers[] = {Policy::Vortex, Policy::MikPoly, Policy::FTuner,
                                    Policy::TSCompiler, Policy::DietCode};

}  // namespace dyn::rkernel::testing
