#pragma once
// Weights and constants in a device's memory: plain, dense, in the element types that its kernels
// read, uploaded once.

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "graph/ir/module.hpp"
#include "src/rkernel/problem/problem.hpp"
#include "src/rkernel/target/device.hpp"
#include "src/runtime/weights/weight_source.hpp"
#include "src/runtime/weights/weights.hpp"

namespace dyn::runtime {

class DeviceWeights {
 public:
  /// None.
  DeviceWeights() = default;
  /// Places for all that operands of these groups of `problems` read, without memory: for a GPU
  /// that is only described.
  DeviceWeights(const graph::Module& module, const std::vector<rkernel::Problem>& problems,
                std::span<const std::size_t> groups);

  /// Makes and uploads them, a part at a time, so that the host never holds a second copy of them
  /// all. Throws Error(device).
  DeviceWeights(const graph::Module& module, const std::vector<rkernel::Problem>& problems,
                std::span<const std::size_t> groups, rkernel::Device& device,
                const WeightSources& sources, int threads, WeightTimes& times);

  /// An operand's whole buffer. The address is 0 where there is no memory.
  rkernel::OperandRange operand(const rkernel::Operand& operand) const;
  std::size_t bytes() const noexcept { return next_; }

 private:
  struct Place {
    std::size_t offset = 0, bytes = 0;
  };
  /// One copy for each element type in which a value is read.
  std::map<std::pair<graph::ValueId, DType>, Place> places_;
  std::size_t next_ = 0;
  rkernel::DeviceBlock block_;
};

}  // namespace dyn::runtime
