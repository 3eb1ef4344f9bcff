#include "targets/cpu/attention/products.hpp"

#include "targets/cpu/attention/pairs.hpp"
#include "targets/cpu/attention/rows.hpp"
#include "targets/cpu/move/moves.hpp"
#include "targets/cpu/tile/widening.hpp"
#include "targets/cpu/x86/functions.hpp"

namespace dyn::cpu {

using choice::ScoreForm;
using codegen::Conditional;
using codegen::CountedLoop;
using llvm::Value;

AttentionProducts::AttentionProducts(AttentionFunction& function, const AttentionSizes& sizes)
    : function_(function),
      builder_(function.builder),
      code_(function.code),
      sizes_(sizes),
      main_loop_(main_loop_type(function.builder)) {}

void AttentionProducts::pack_keys(const AttentionKeys& block) const {
  const rkernel::Attention& attention = function_.attention;
  const KeyBlock keys{block.keys, sizes_.k_row, block.count, sizes_.depth, key_dtype()};
  Value* const to = function_.scratch_at(function_.strategy.key_scratch);
  if (pairs()) return emit_key_pairs(code_, keys, to, key_panel_stride());
  if (function_.shape_class.k_unit) return emit_key_panels(code_, keys, to, key_panel_stride());
  const StridedMatrix from{block.keys, function_.stride(attention.k, attention.d), sizes_.k_row,
                           false};
  emit_panels(builder_, code_.isa(), from, sizes_.depth, code_.ceil_div(block.count, panel()),
              block.count, to);
}

Value* AttentionProducts::key_panel_stride() const {
  if (pairs()) {
    Value* depth = builder_.CreateLShr(code_.round_up(sizes_.depth, depth_multiple), 1);
    return builder_.CreateMul(depth, number(panel()));
  }
  Value* depth =
      function_.shape_class.k_unit ? code_.round_up(sizes_.depth, code_.lanes()) : sizes_.depth;
  return builder_.CreateMul(depth, number(panel()));
}

/// Few rows do not repay a copy of values that lie row by row, and copies are of f32.
bool AttentionProducts::reads_value_tail() const {
  return function_.shape_class.v_unit &&
         (function_.shape_class.form == ScoreForm::Dots || value_dtype() != DType::f32);
}

void AttentionProducts::pack_values(const AttentionKeys& block) const {
  if (pairs())
    return emit_value_pairs(
        code_, {block.values, sizes_.v_row, block.count, sizes_.columns, value_dtype()},
        function_.scratch_at(function_.strategy.value_scratch),
        builder_.CreateMul(code_.ceil_div(block.count, 2), number(panel())));
  if (reads_value_tail()) return;
  const rkernel::Attention& attention = function_.attention;
  Value* left = builder_.CreateSub(sizes_.columns, sizes_.whole_columns);
  Conditional any(builder_, builder_.CreateICmpSGT(left, number(0)), "values_left");
  const StridedMatrix from{code_.element(block.values, sizes_.whole_columns), sizes_.v_row,
                           function_.stride(attention.v, attention.n),
                           function_.shape_class.v_unit};
  emit_panels(builder_, code_.isa(), from, block.count, code_.ceil_div(left, panel()), left,
              function_.scratch_at(function_.strategy.value_scratch));
  any.close();
}

void AttentionProducts::call(Value* table, const Product& product, const Matrix& b,
                             Value* c) const {
  Value* field = builder_.CreateGEP(builder_.getPtrTy(), table, product.rows);
  Value* function = builder_.CreateAlignedLoad(builder_.getPtrTy(), field, llvm::Align(8));
  builder_.CreateCall(main_loop_, function,
                      {product.a, product.a_row, b.data, b.k_stride, b.panel_stride, product.k, c,
                       product.c_row, number(product.accumulate), number(0), number(0), number(0)});
}

void AttentionProducts::multiply(const Product& product, const Matrix& b, Value* panels,
                                 Value* c) const {
  Value* wide =
      builder_.CreateMul(builder_.CreateUDiv(panels, sizes_.tile_panels), sizes_.tile_panels);
  const auto at = [&](Value* index) {
    Matrix panel = b;
    panel.data = element_of(builder_, b.dtype, b.data, builder_.CreateMul(index, b.panel_stride));
    return panel;
  };
  const auto columns = [&](Value* index) {
    return code_.element(c, builder_.CreateMul(index, number(panel())));
  };
  CountedLoop tiles(builder_, number(0), wide, sizes_.tile_panels, "wide");
  Value* wide_columns = columns(tiles.index());
  call(b.tables.wide, product, at(tiles.index()), wide_columns);
  tiles.close();
  CountedLoop single(builder_, wide, panels, number(1), "panel");
  Value* panel_columns = columns(single.index());
  call(b.tables.panel, product, at(single.index()), panel_columns);
  single.close();
}

void AttentionProducts::emit_scores(const AttentionKeys& block, const AttentionTile& tile) const {
  if (function_.shape_class.form == ScoreForm::Dots)
    return emit_dots(code_, {block.keys, sizes_.k_row, tile.keys, sizes_.depth, key_dtype()},
                     tile.queries, sizes_.q_row, tile.rows.size, sizes_.scores, sizes_.score_row);
  const Matrix keys{function_.scratch_at(function_.strategy.key_scratch), number(panel()),
                    key_panel_stride(), tables()};
  Value* depth = pairs() ? code_.ceil_div(sizes_.depth, 2) : sizes_.depth;
  const Product product{tile.rows.size, tile.queries, sizes_.q_row, depth, sizes_.score_row, false};
  multiply(product, keys, code_.ceil_div(tile.keys, panel()), sizes_.scores);
}

AttentionProducts::Product AttentionProducts::shares(const AttentionTile& tile) const {
  return {tile.rows.size, sizes_.scores, sizes_.score_row, tile.keys, sizes_.acc_row, true};
}

void AttentionProducts::add_value_pairs(const AttentionKeys& block, const AttentionTile& tile,
                                        Value* accumulator) const {
  Product product = shares(tile);
  product.k = code_.ceil_div(tile.keys, 2);
  const Matrix packed{function_.scratch_at(function_.strategy.value_scratch), number(panel()),
                      builder_.CreateMul(code_.ceil_div(block.count, 2), number(panel())),
                      tables()};
  multiply(product, packed, code_.ceil_div(sizes_.columns, panel()), accumulator);
}

void AttentionProducts::add_values(const AttentionKeys& block, const AttentionTile& tile,
                                   Value* accumulator) const {
  if (pairs()) return add_value_pairs(block, tile, accumulator);
  if (function_.shape_class.v_unit) {
    const Matrix values{block.values, sizes_.v_row, number(panel()), value_tables(), value_dtype()};
    Value* panels = builder_.CreateUDiv(sizes_.whole_columns, number(panel()));
    multiply(shares(tile), values, panels, accumulator);
    add_vectors(block, tile, builder_.CreateMul(panels, number(panel())), accumulator);
  }
  Value* left = builder_.CreateSub(sizes_.columns, sizes_.whole_columns);
  if (reads_value_tail()) return add_tail(block, tile, left, accumulator);
  const Matrix packed{function_.scratch_at(function_.strategy.value_scratch), number(panel()),
                      builder_.CreateMul(block.count, number(panel())), tables()};
  Value* c = code_.element(accumulator, sizes_.whole_columns);
  multiply(shares(tile), packed, code_.ceil_div(left, panel()), c);
}

void AttentionProducts::add_tail(const AttentionKeys& block, const AttentionTile& tile, Value* left,
                                 Value* accumulator) const {
  Conditional any(builder_, builder_.CreateICmpSGT(left, number(0)), "tail");
  emit_value_tail(
      code_, {element_of(builder_, value_dtype(), block.values, sizes_.whole_columns), sizes_.v_row,
              tile.keys, left, sizes_.scores, sizes_.score_row, tile.rows.size,
              code_.element(accumulator, sizes_.whole_columns), sizes_.acc_row, value_dtype()});
  any.close();
}

/// Columns from `first` on that fill vectors but no panel.
void AttentionProducts::add_vectors(const AttentionKeys& block, const AttentionTile& tile,
                                    Value* first, Value* accumulator) const {
  CountedLoop vectors(builder_, first, sizes_.whole_columns, number(code_.lanes()), "vector");
  const Matrix values{element_of(builder_, value_dtype(), block.values, vectors.index()),
                      sizes_.v_row, number(panel()), value_tables(), value_dtype()};
  call(values.tables.vector, shares(tile), values, code_.element(accumulator, vectors.index()));
  vectors.close();
}

}  // namespace dyn::cpu
