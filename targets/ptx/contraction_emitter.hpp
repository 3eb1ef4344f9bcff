#pragma once
// The kernel of a contraction, as device IR, by a walk over its rKernel.

#include <string>
#include <vector>

#include "src/rkernel/gpu.hpp"
#include "src/rkernel/layer.hpp"
#include "targets/llvm/slots.hpp"
#include "targets/ptx/leaf.hpp"

namespace dyn::ptx {

/// How an operand's tile comes to shared memory.
enum class Copy : unsigned char {
  Vectors,  ///< cp.async of 16 bytes: dtype as the tile's, innermost stride 1, every row 16-byte aligned
  Elements  ///< one by one: any strides, any dtype, converted on the way
};

/// Slots of the ints that the plan fills, after those of the problem.
struct GridSlots {
  int m_blocks, n_blocks;  ///< ceil(m / block_m), ceil(n / block_n)
  int tickets;             ///< batch * m_blocks * n_blocks; blocks take them round robin
};
GridSlots add_grid_slots(codegen::SlotTable& slots);

/// What the code is specialised on, besides the structure of the problem.
struct GpuContractionClass {
  rkernel::GpuTile tile;
  Copy a = Copy::Elements, b = Copy::Elements;
  BOrder b_order = BOrder::RowsAlongN;
  std::vector<codegen::StrideClass> lanes;  ///< of each operand along n, for the epilogue
};
std::string to_string(const GpuContractionClass& shape_class);

/// Writes `symbol` (device_module.hpp) for this problem and class.
void emit_gpu_contraction(llvm::Module& module, const std::string& symbol, const rkernel::RKernel& kernel, const codegen::SlotTable& slots,
                          const GridSlots& grid, const GpuContractionClass& shape_class);

}  // namespace dyn::ptx
