#pragma once
// One contraction on a GPU with all its candidates: sources, choice, plan, explanation.

#include <memory>
#include <string>
#include <vector>

#include "src/choice/gpu/programs.hpp"
#include "src/rkernel/target/target.hpp"
#include "targets/llvm/problem/kernel_source.hpp"

namespace dyn::ptx {

class ContractionKernel : public rkernel::Kernel {
 public:
  /// Programs of one region. `compute`: the dtype that the contraction multiplies in. nullptr where
  /// device code cannot run the problem.
  static std::unique_ptr<ContractionKernel> create(const rkernel::Problem& problem,
                                                   const choice::GpuMachine& machine, DType compute,
                                                   bool allow_tf32, const std::string& target_name);
  /// The same with the candidates for `compute` that gpu_tiles() gives, for callers with many
  /// problems. `policy` chooses in plan(); Vendor and Oracle choose as Dyn. `pairs`: tiles for
  /// programs of two regions (gpu_pairs()).
  static std::unique_ptr<ContractionKernel> create(const rkernel::Problem& problem,
                                                   const choice::GpuMachine& machine, DType compute,
                                                   const std::vector<choice::GpuTile>& tiles,
                                                   const std::string& target_name,
                                                   rkernel::Policy policy = rkernel::Policy::Dyn,
                                                   const std::vector<choice::GpuPair>& pairs = {});
  virtual std::vector<codegen::KernelSource> sources() const = 0;
  virtual void bind(std::vector<const void*> functions) = 0;
  rkernel::Space space() const override { return rkernel::Space::Device; }
};

}  // namespace dyn::ptx
