#pragma once
// Emits the kernel of fused attention, as device IR, by a walk over its rKernel.

#include <string>
#include <vector>

#include "src/choice/gpu/attention.hpp"
#include "src/rkernel/tree/layer.hpp"
#include "targets/llvm/problem/slots.hpp"
#include "targets/ptx/attention/query_rows.hpp"
#include "targets/ptx/contraction/emitter.hpp"

namespace dyn::ptx {

/// Slots of the ints that the plan fills, after those of the problem.
struct GpuAttentionSlots {
  int m_blocks, n_blocks;  ///< blocks of the tile along its rows and n
  int tickets;      ///< batch * m_blocks * n_blocks tiles of rows, times `parts`; blocks take them
                    ///< round robin
  int scale;        ///< of scores: the bits of an f32
  HeadSlots heads;  ///< where heads are rows
  /// Where blocks may share rows: tickets for each tile of rows, 1 at least, each with `span` tiles
  /// of keys, 1 at least, the last one with what is left (choice::GpuKeyParts). none: a ticket has
  /// all keys.
  int parts = codegen::SlotTable::none, span = codegen::SlotTable::none;
};
/// `heads`: GpuAttentionClass::heads.
GpuAttentionSlots add_gpu_attention_slots(codegen::SlotTable& slots, bool shares_rows, int heads);

/// The code is specialised on these, besides the structure of the problem.
struct GpuAttentionClass {
  choice::GpuAttentionTile tile;
  Copy q = Copy::Elements, k = Copy::Elements, v = Copy::Elements;
  std::vector<codegen::StrideClass>
      lanes;                 ///< class of each operand's stride along n, for the epilogue
  bool shares_rows = false;  ///< blocks may have parts of the keys
  int heads = -1;            ///< batch axis whose heads are rows of one tile, with the queries
                             ///< (axis_of_shared_heads()); -1: there is none
};
std::string to_string(const GpuAttentionClass& shape_class);

/// Writes `symbol` (device_module.hpp) for the problem of the tree and this class. d is at most the
/// tile's depth. A ticket is a block of rows (QueryRows) of one element of the batch, and all keys
/// that they see, or a part of these; under a causal mask those that see most come first. Where a
/// launch has several parts, a pointer to the memory of its blocks (rkernel::Launch::shared_bytes)
/// follows those of the operands.
void emit_gpu_attention(llvm::Module& module, const std::string& symbol,
                        const rkernel::RKernel& kernel, const codegen::SlotTable& slots,
                        const GpuAttentionSlots& grid, const GpuAttentionClass& shape_class);

}  // namespace dyn::ptx
