#pragma once
// The kernels of fused attention, as IR: the online softmax over blocks of keys, and the merge of
// parts of the keys.

#include <string>
#include <vector>

#include "src/choice/cost/attention_cost.hpp"
#include "src/rkernel/tree/layer.hpp"
#include "targets/llvm/jit/isa.hpp"
#include "targets/llvm/problem/slots.hpp"

namespace llvm {
class Module;
}

namespace dyn::cpu {

/// Slots of KernelArgs::ints that the strategy fills, after those of the problem. Offsets are bytes
/// in scratch.
struct AttentionSlots {
  int m_blocks, splits;                       ///< parts of rows and keys; keys in whole panels
  int block_keys;                             ///< a multiple of the panel
  int tile_rows, tile_panels;                 ///< the main loops' tile: rows at most, panels
  int wide_table, panel_table, vector_table;  ///< addresses of the main loops by rows, for
                                              ///< tile_panels panels, one panel, one vector
  int wide_value_table, panel_value_table, vector_value_table;  ///< the same by values as they lie
  int scale;                                                    ///< the bits of an f32
  int q_row, acc_row, score_row;                                ///< floats between rows in scratch
  int record;  ///< floats of one row's partial result: acc_row, then its maximum and sum
  int q_scratch, acc_scratch, max_scratch, sum_scratch, score_scratch, key_scratch, value_scratch;
};
AttentionSlots add_attention_slots(codegen::SlotTable& slots);

/// What the generated code is specialised on, besides the structure of the problem.
struct AttentionClass {
  choice::ScoreForm form = choice::ScoreForm::Panels;
  bool q_unit = false, k_unit = false, v_unit = false;  ///< strides along d, d and n are 1
  bool pairs = false;  ///< products are of pairs of bf16: panels, and all strides are 1
  codegen::StrideClass mask = codegen::StrideClass::Zero;  ///< of the mask along keys
  std::vector<codegen::StrideClass> lanes;                 ///< of each operand along n
};

/// Layers of attention's rKernel on a CPU, above the registers (0).
inline constexpr int attention_l1 = 1, attention_l2 = 2, attention_threads = 3;
rkernel::RKernel attention_rkernel(const rkernel::Problem& problem, const codegen::Isa& isa,
                                   choice::ScoreForm form, int threads);

/// Writes the function `symbol` (a KernelFunction) by a walk over the rKernel: a ticket is a block
/// of rows of one batch and a part of the keys.
void emit_attention(llvm::Module& module, const std::string& symbol, const rkernel::RKernel& kernel,
                    const codegen::Isa& isa, const codegen::SlotTable& slots,
                    const AttentionSlots& strategy, const AttentionClass& shape_class);

/// The second stage where keys are split: a ticket is a block of rows of one batch, its parts
/// merged in the order of the keys.
void emit_attention_merge(llvm::Module& module, const std::string& symbol,
                          const rkernel::RKernel& kernel, const codegen::Isa& isa,
                          const codegen::SlotTable& slots, const AttentionSlots& strategy,
                          const AttentionClass& shape_class);

}  // namespace dyn::cpu
