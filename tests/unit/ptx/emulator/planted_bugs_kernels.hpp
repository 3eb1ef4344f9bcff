#pragma once
// Real kernels to plant bugs in: the device modules that the emitters make, with data of awkward
// sizes and a check of the result.

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "targets/ptx/emulator/emulator.hpp"

namespace dyn::test {

struct PlantedBuffer {
  std::vector<std::uint8_t> bytes;
  bool written = false;
};

/// One kernel and one launch of it. No size is a multiple of a tile, and (with one exception) there
/// are fewer blocks than tickets.
struct PlantedKernel {
  std::string name;
  std::int64_t blocks = 0;
  std::vector<std::int64_t> ints;
  std::vector<PlantedBuffer> buffers;  ///< before the launch
  std::function<std::unique_ptr<llvm::Module>(llvm::LLVMContext&)> emit;
  std::function<bool(const std::vector<PlantedBuffer>&)> is_right;  ///< of the buffers after it
};

/// Matrix products of every engine and pipeline, row reductions by blocks and by warps,
/// element-wise work, a gather, operators over whole tensors.
std::vector<PlantedKernel> planted_kernels(std::uint64_t seed);
/// Those of operators over whole tensors, which are among the others.
std::vector<PlantedKernel> planted_functions(std::mt19937_64& random);

struct PlantedOutcome {
  std::vector<ptx::FaultReport> reports;
  bool right = false;  ///< whether the results are right, where nothing was reported
};
PlantedOutcome run(const PlantedKernel& kernel, const llvm::Module& module);

}  // namespace dyn::test
