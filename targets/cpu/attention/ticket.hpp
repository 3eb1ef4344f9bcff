#pragma once
// What a ticket of attention works on: its rows and keys, each block of keys, each tile of rows.

#include "targets/cpu/attention/function.hpp"

namespace dyn::cpu {

/// Values that are the same for all tickets of a launch.
struct AttentionSizes {
  explicit AttentionSizes(AttentionFunction& function);

  llvm::Value *m_blocks, *splits, *block_keys, *tile_rows, *tile_panels;  ///< as AttentionSlots has
  llvm::Value *q_row, *acc_row, *score_row;
  llvm::Value* scores;  ///< scratch for the scores of one tile of rows
  llvm::Value *queries, *columns, *keys, *depth;
  llvm::Value* ahead;  ///< keys before the first that the first row sees under a causal mask
  llvm::Value *k_row, *v_row;
  llvm::Value* whole_columns;  ///< those in whole vectors, where values are read as they lie
  llvm::Value *wide_table, *panel_table, *vector_table;
  llvm::Value *wide_value_table, *panel_value_table, *vector_value_table;
};

struct AttentionTicket {
  AttentionBatch batch;
  llvm::Value* split;   ///< the part of the keys
  codegen::Part block;  ///< of rows
  llvm::Value *first_key, *end_key;
};

/// Where the operands of a ticket's batch begin.
struct AttentionBases {
  llvm::Value *k, *v;
  llvm::Value *mask, *key_scales, *value_scales;  ///< nullptr: there are none
};

/// A block of keys and of their values, as they lie.
struct AttentionKeys {
  llvm::Value *first, *count;
  llvm::Value *keys, *values;
};

/// A tile of rows with one block of keys.
struct AttentionTile {
  codegen::Part rows;  ///< in the ticket's block
  llvm::Value* first_row;
  llvm::Value* queries;  ///< in scratch
  llvm::Value* keys;     ///< of the block's, as many as the last row sees
};

AttentionTicket locate_ticket(AttentionFunction& function, const AttentionSizes& sizes,
                              llvm::Value* number);
AttentionKeys keys_from(AttentionFunction& function, const AttentionSizes& sizes,
                        const AttentionTicket& ticket, const AttentionBases& bases,
                        llvm::Value* first_key);
/// The number of tiles of rows of a ticket.
llvm::Value* tiles_of(AttentionFunction& function, const AttentionSizes& sizes,
                      const AttentionTicket& ticket);
AttentionTile tile_at(AttentionFunction& function, const AttentionSizes& sizes,
                      const AttentionTicket& ticket, const AttentionKeys& keys, llvm::Value* tiles,
                      llvm::Value* index);
/// Keys of a block that the row before `row_end` sees under a causal mask.
llvm::Value* visible_keys(AttentionFunction& function, const AttentionSizes& sizes,
                          const AttentionKeys& keys, llvm::Value* row_end);

}  // namespace dyn::cpu
