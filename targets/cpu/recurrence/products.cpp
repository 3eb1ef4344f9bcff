#include "targets/cpu/recurrence/products.hpp"

#include <algorithm>

#include "src/base/bytes.hpp"
#include "targets/cpu/tile/group_instructions.hpp"
#include "targets/cpu/tile/widening.hpp"

namespace dyn::cpu {
namespace {

using llvm::Value;

constexpr int unrolled = 4;
/// Pointers before the sums in the state of a loop: to states and weights.
constexpr std::size_t pointers = 2;

}  // namespace

CellProducts::CellProducts(RecurrenceFunction& function, const GatePanels& panels)
    : function_(function),
      builder_(function.builder),
      code_(function.code),
      panels_(panels),
      step_(panels.factors.step_dtype()),
      k_(code_.ceil_div(function.extent(function.recurrence.k),
                        rkernel::elements_of(panels.factors.group))),
      panel_elements_(builder_.CreateMul(k_, code_.number(code_.isa().panel_f32))) {}

/// The weights of the first step for a column, which begins a vector.
Value* CellProducts::panel(Value* column) const {
  const std::int64_t width = code_.isa().panel_f32;
  Value* place =
      builder_.CreateMul(builder_.CreateUDiv(column, code_.number(width)), panel_elements_);
  place = builder_.CreateAdd(place, builder_.CreateURem(column, code_.number(width)));
  return element_of(builder_, step_, panels_.data, place);
}

Value* CellProducts::weights(const Tile& tile, Value* place, int step, int gate, int vector) const {
  const int width = code_.isa().panel_f32, column = vector * code_.lanes();
  place = builder_.CreateGEP(
      builder_.getInt8Ty(), place,
      builder_.CreateMul(panels_.gate_bytes, code_.number(tile.first_gate + gate)));
  Value* index = builder_.CreateMul(panel_elements_, code_.number(column / width));
  index = builder_.CreateAdd(index, code_.number(step * width + column % width));
  return load_widened(builder_, step_, element_of(builder_, step_, place, index), code_.lanes());
}

Value* CellProducts::factor(const Tile& tile, Value* place, int step, int row) const {
  Value* index = builder_.CreateMul(tile.row_stride, code_.number(row));
  place = code_.element(place, builder_.CreateAdd(index, code_.number(step)));
  if (!is_grouped()) return code_.splat(code_.load(place));
  return code_.splat(
      builder_.CreateAlignedLoad(builder_.getInt32Ty(), place, llvm::Align(float_bytes)));
}

Value* CellProducts::column_sums(int gate, Value* column) const {
  const std::int64_t width = code_.isa().panel_f32;
  // Panels of groups are whole cache lines.
  Value* panels = builder_.CreateMul(
      code_.ceil_div(function_.extent(function_.recurrence.n), width), panel_elements_);
  Value* sums = builder_.CreateGEP(builder_.getInt8Ty(), panels_.data,
                                   builder_.CreateMul(panels_.gate_bytes, code_.number(gate)));
  sums = element_of(builder_, step_, sums, builder_.CreateAdd(panels, column));
  return builder_.CreateAlignedLoad(codegen::lanes_of(builder_.getInt32Ty(), code_.lanes()), sums,
                                    llvm::Align(float_bytes));
}

// Whatever there is less of, rows or vectors of weights, waits in registers; the others come one by
// one.
void CellProducts::emit_step(const Tile& tile, Values& state, int step) const {
  const int vectors = tile.columns.vectors, all = tile.gates * vectors;
  const auto add = [&](int row, int i, Value* a, Value* b) {
    Value*& sum = state[pointers + static_cast<std::size_t>(row * all + i)];
    sum = is_grouped() ? add_products(builder_, code_.isa(), panels_.factors.group, a, b, sum)
                       : code_.fused(a, b, sum);
  };
  const auto b_of = [&](int i) { return weights(tile, state[1], step, i / vectors, i % vectors); };
  if (tile.rows < all) {
    Values a;
    for (int row = 0; row < tile.rows; ++row) a.push_back(factor(tile, state[0], step, row));
    for (int i = 0; i < all; ++i) {
      Value* b = b_of(i);
      for (int row = 0; row < tile.rows; ++row) add(row, i, a[static_cast<std::size_t>(row)], b);
    }
    return;
  }
  Values b;
  for (int i = 0; i < all; ++i) b.push_back(b_of(i));
  for (int row = 0; row < tile.rows; ++row) {
    Value* a = factor(tile, state[0], step, row);
    for (int i = 0; i < all; ++i) add(row, i, a, b[static_cast<std::size_t>(i)]);
  }
}

// Hardware does not follow the streams of all gates where they come from beyond L2.
void CellProducts::prefetch(const Tile& tile, Value* place, int steps) const {
  constexpr std::int64_t ahead_bytes = 4096;
  const auto row_bytes = static_cast<std::int64_t>(size_of(step_)) * code_.isa().panel_f32,
             tile_bytes =
                 static_cast<std::int64_t>(size_of(step_)) * tile.columns.vectors * code_.lanes();
  for (int gate = tile.first_gate; gate < tile.first_gate + tile.gates; ++gate) {
    for (std::int64_t panel = 0; panel == 0 || panel * row_bytes < tile_bytes; ++panel) {
      Value* first = builder_.CreateAdd(
          builder_.CreateMul(panels_.gate_bytes, code_.number(gate)),
          builder_.CreateMul(bytes_of(builder_, step_, panel_elements_), code_.number(panel)));
      for (std::int64_t row = 0; row < steps * row_bytes; row += std::max(row_bytes, line_bytes)) {
        for (std::int64_t line = 0; line < std::min(tile_bytes, row_bytes); line += line_bytes)
          codegen::prefetch(builder_,
                            builder_.CreateGEP(
                                builder_.getInt8Ty(), place,
                                builder_.CreateAdd(first, code_.number(ahead_bytes + row + line))));
      }
    }
  }
}

// The test stands in the header, as in TileLoop: a second set of phis would go through the stack.
CellProducts::Values CellProducts::emit_steps(const Tile& tile, const Values& state, Value* count,
                                              int steps) const {
  auto *before = builder_.GetInsertBlock(), *header = function_.block("header"),
       *body = function_.block("k"), *after = function_.block("after");
  builder_.CreateBr(header);
  builder_.SetInsertPoint(header);
  auto* left = builder_.CreatePHI(builder_.getInt64Ty(), 2);
  left->addIncoming(count, before);
  std::vector<llvm::PHINode*> phis;
  for (Value* value : state) {
    phis.push_back(builder_.CreatePHI(value->getType(), 2));
    phis.back()->addIncoming(value, before);
  }
  Values current(phis.begin(), phis.end());
  builder_.CreateCondBr(builder_.CreateICmpSGT(left, code_.number(0)), body, after);
  builder_.SetInsertPoint(body);
  for (int step = 0; step < steps; ++step) emit_step(tile, current, step);
  if (function_.shape_class.asks_ahead) prefetch(tile, current[1], steps);
  current[0] = code_.element(current[0], code_.number(steps));
  current[1] = element_of(builder_, step_, current[1],
                          code_.number(std::int64_t{steps} * code_.isa().panel_f32));
  left->addIncoming(builder_.CreateSub(left, code_.number(steps)), body);
  for (std::size_t i = 0; i < phis.size(); ++i) phis[i]->addIncoming(current[i], body);
  builder_.CreateBr(header);
  builder_.SetInsertPoint(after);
  return {phis.begin(), phis.end()};
}

CellProducts::Values CellProducts::first_sums(const Tile& tile) const {
  Values bias;
  if (is_grouped())
    return {static_cast<std::size_t>(tile.gates * tile.columns.vectors),
            llvm::Constant::getNullValue(codegen::lanes_of(builder_.getInt32Ty(), code_.lanes()))};
  Value* biases = function_.memory_at(function_.strategy.bias);
  for (int gate = tile.first_gate; gate < tile.first_gate + tile.gates; ++gate) {
    for (int vector = 0; vector < tile.columns.vectors; ++vector) {
      Value* column = builder_.CreateAdd(tile.columns.first, code_.number(vector * code_.lanes()));
      bias.push_back(function_.recurrence.bias < 0
                         ? code_.splat(0.0)
                         : code_.load_vector(function_.state(biases, code_.number(gate), column)));
    }
  }
  return bias;
}

CellProducts::Values CellProducts::emit(const Tile& tile) const {
  Values state{tile.states, panel(tile.columns.first)};
  const Values first = first_sums(tile);
  for (int row = 0; row < tile.rows; ++row) state.insert(state.end(), first.begin(), first.end());
  const bool whole_panels = function_.shape_class.whole_panels;
  Value* whole = whole_panels ? k_ : code_.round_down(k_, unrolled);
  state = emit_steps(tile, state, whole, unrolled);
  if (!whole_panels) state = emit_steps(tile, state, builder_.CreateSub(k_, whole), 1);
  return {state.begin() + pointers, state.end()};
}

}  // namespace dyn::cpu
