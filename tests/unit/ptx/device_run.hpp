#pragma once
// Problems of small graphs, run on an emulator one after the other.

#include <map>
#include <memory>
#include <random>
#include <vector>

#include "targets/ptx/emulator/emulator.hpp"
#include "tests/unit/ptx/target_fixture.hpp"

namespace dyn::ptx::testing {

using Symbols = std::vector<std::int64_t>;
using Floats = std::vector<float>;

/// All buffers of a graph, f32, inputs and weights random.
std::map<graph::ValueId, Floats> buffers_of(const LoweredGraph& graph, const Symbols& symbols,
                                            std::mt19937_64& random);

/// Buffers in the memory of a target's device.
class DeviceRun {
 public:
  /// The target must outlive it.
  DeviceRun(const rkernel::Target& target, const LoweredGraph& graph,
            const std::map<graph::ValueId, Floats>& initial);
  /// Runs one problem and waits for it.
  void run(const rkernel::Problem& problem, const rkernel::Kernel& kernel, const Symbols& symbols);
  /// The same for a launch that is planned, of code that the device has loaded.
  void run(const rkernel::Problem& problem, const rkernel::Launch& launch, const void* function);
  Floats output(graph::ValueId base);

 private:
  const rkernel::Target& target_;
  std::shared_ptr<rkernel::Device> device_;
  std::unique_ptr<rkernel::Stream> stream_;
  std::map<graph::ValueId, rkernel::DeviceBlock> blocks_;
  std::map<graph::ValueId, std::size_t> sizes_;
};

/// An emulated A100 with so many multiprocessors; one for all tests.
std::shared_ptr<Emulator> emulator_with(int multiprocessors);

}  // namespace dyn::ptx::testing
