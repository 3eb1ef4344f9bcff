#include "targets/cpu/attention/ticket.hpp"

#include "targets/cpu/tile/widening.hpp"

namespace dyn::cpu {

using llvm::Value;

namespace {

Value* table_at(AttentionFunction& function, int slot) {
  return function.builder.CreateIntToPtr(function.slot(slot), function.builder.getPtrTy());
}

/// Keys that the row before `row_end` sees.
Value* seen_by(AttentionFunction& function, const AttentionSizes& sizes, Value* row_end) {
  return function.builder.CreateAdd(row_end, sizes.ahead);
}

}  // namespace

AttentionSizes::AttentionSizes(AttentionFunction& function)
    : m_blocks(function.slot(function.strategy.m_blocks)),
      splits(function.slot(function.strategy.splits)),
      block_keys(function.slot(function.strategy.block_keys)),
      tile_rows(function.slot(function.strategy.tile_rows)),
      tile_panels(function.slot(function.strategy.tile_panels)),
      q_row(function.slot(function.strategy.q_row)),
      acc_row(function.slot(function.strategy.acc_row)),
      score_row(function.slot(function.strategy.score_row)),
      scores(function.scratch_at(function.strategy.score_scratch)),
      queries(function.extent(function.attention.m)),
      columns(function.extent(function.attention.n)),
      keys(function.extent(function.attention.keys)),
      depth(function.extent(function.attention.d)),
      ahead(function.builder.CreateSub(keys, queries)),
      k_row(function.stride(function.attention.k, function.attention.keys)),
      v_row(function.stride(function.attention.v, function.attention.keys)),
      whole_columns(function.shape_class.v_unit
                        ? function.code.round_down(columns, function.code.lanes())
                        : function.number(0)),
      wide_table(table_at(function, function.strategy.wide_table)),
      panel_table(table_at(function, function.strategy.panel_table)),
      vector_table(table_at(function, function.strategy.vector_table)),
      wide_value_table(table_at(function, function.strategy.wide_value_table)),
      panel_value_table(table_at(function, function.strategy.panel_value_table)),
      vector_value_table(table_at(function, function.strategy.vector_value_table)) {}

/// Under a causal mask the last rows, which see most keys, come first, so that short tickets fill
/// the end.
AttentionTicket locate_ticket(AttentionFunction& function, const AttentionSizes& sizes,
                              Value* number) {
  codegen::Builder& builder = function.builder;
  VectorCode& code = function.code;
  const bool causal = function.attention.causal;
  const std::int64_t panel = code.isa().panel_f32;
  const auto [counted, of_batch_and_split] = function.take(number, sizes.m_blocks);
  Value* position =
      causal ? builder.CreateSub(builder.CreateSub(sizes.m_blocks, code.number(1)), counted)
             : counted;
  const auto [split, batch] = function.take(of_batch_and_split, sizes.splits);
  AttentionBatch located = function.locate_batch(batch);
  const codegen::Part block = function.part(sizes.queries, sizes.m_blocks, position);
  const codegen::Part panels = function.part(code.ceil_div(sizes.keys, panel), sizes.splits, split);
  Value* first_key = builder.CreateMul(panels.start, code.number(panel));
  Value* end_panel = builder.CreateAdd(panels.start, panels.size);
  Value* end_key = code.minimum(sizes.keys, builder.CreateMul(end_panel, code.number(panel)));
  if (causal) {
    Value* end_row = builder.CreateAdd(block.start, block.size);
    end_key = code.minimum(end_key, seen_by(function, sizes, end_row));
  }
  return {std::move(located), split, block, first_key, end_key};
}

AttentionKeys keys_from(AttentionFunction& function, const AttentionSizes& sizes,
                        const AttentionTicket& ticket, const AttentionBases& bases,
                        Value* first_key) {
  codegen::Builder& builder = function.builder;
  VectorCode& code = function.code;
  Value* count = code.minimum(sizes.block_keys, builder.CreateSub(ticket.end_key, first_key));
  const rkernel::Attention& attention = function.attention;
  Value* keys = element_of(builder, function.dtype_of(attention.k), bases.k,
                           builder.CreateMul(first_key, sizes.k_row));
  Value* values = element_of(builder, function.dtype_of(attention.v), bases.v,
                             builder.CreateMul(first_key, sizes.v_row));
  return {first_key, count, keys, values};
}

Value* tiles_of(AttentionFunction& function, const AttentionSizes& sizes,
                const AttentionTicket& ticket) {
  codegen::Builder& builder = function.builder;
  return builder.CreateUDiv(
      builder.CreateAdd(ticket.block.size, builder.CreateSub(sizes.tile_rows, function.number(1))),
      sizes.tile_rows);
}

AttentionTile tile_at(AttentionFunction& function, const AttentionSizes& sizes,
                      const AttentionTicket& ticket, const AttentionKeys& keys, Value* tiles,
                      Value* index) {
  codegen::Builder& builder = function.builder;
  const codegen::Part rows = function.part(ticket.block.size, tiles, index);
  Value* first_row = builder.CreateAdd(ticket.block.start, rows.start);
  Value* queries = function.code.element(function.scratch_at(function.strategy.q_scratch),
                                         builder.CreateMul(rows.start, sizes.q_row));
  Value* visible = function.attention.causal ? visible_keys(function, sizes, keys,
                                                            builder.CreateAdd(first_row, rows.size))
                                             : keys.count;
  return {rows, first_row, queries, visible};
}

Value* visible_keys(AttentionFunction& function, const AttentionSizes& sizes,
                    const AttentionKeys& keys, Value* row_end) {
  Value* in_block = function.builder.CreateSub(seen_by(function, sizes, row_end), keys.first);
  return function.code.maximum(function.number(0), function.code.minimum(keys.count, in_block));
}

}  // namespace dyn::cpu
