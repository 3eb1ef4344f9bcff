#pragma once
// Micro-kernels that are others in most respects.

#include "src/choice/policies/shared/micro_kernels.hpp"

namespace dyn::choice {

/// Hands every question on; a class of its own overrides those that it answers otherwise.
class ForwardedKernels : public MicroKernels {
 public:
  std::size_t size() const override { return kernels().size(); }
  MicroKernel operator[](std::size_t kernel) const override { return kernels()[kernel]; }
  bool together(std::size_t a, std::size_t b) const override { return kernels().together(a, b); }
  int units() const override { return kernels().units(); }
  std::int64_t blocks_per_wave(std::size_t kernel) const override {
    return kernels().blocks_per_wave(kernel);
  }
  double task_seconds(std::size_t kernel, std::int64_t k) const override {
    return kernels().task_seconds(kernel, k);
  }
  double wave_seconds(std::size_t kernel, std::int64_t k) const override {
    return kernels().wave_seconds(kernel, k);
  }
  double compute_to_memory(std::size_t kernel, std::int64_t k) const override {
    return kernels().compute_to_memory(kernel, k);
  }
  double vortex_block_seconds(std::size_t kernel, std::int64_t k) const override {
    return kernels().vortex_block_seconds(kernel, k);
  }
  double vortex_least_rate(std::size_t kernel) const override {
    return kernels().vortex_least_rate(kernel);
  }
  double copy_seconds(double bytes) const override { return kernels().copy_seconds(bytes); }
  std::size_t lowest_layer(std::size_t kernel) const override {
    return kernels().lowest_layer(kernel);
  }

 private:
  /// Those that are asked; their sizes and order are these ones'.
  virtual const MicroKernels& kernels() const = 0;
};

}  // namespace dyn::choice
