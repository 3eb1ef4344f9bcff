#include "targets/cpu/attention/emitter.hpp"

#include <llvm/IR/Module.h>

#include "targets/cpu/attention/function.hpp"
#include "targets/cpu/attention/rows.hpp"
#include "targets/cpu/move/moves.hpp"
#include "targets/cpu/x86/functions.hpp"

namespace dyn::cpu {
namespace {

using choice::ScoreForm;
using codegen::Conditional;
using codegen::CountedLoop;

class AttentionEmitter final : public rkernel::Emitter, private AttentionFunction {
 public:
  using AttentionFunction::AttentionFunction;

  void emit() {
    load_strategy();
    CountedLoop tickets(builder_, function_->getArg(1),
                        builder_.CreateAdd(function_->getArg(1), function_->getArg(2)), number(1),
                        "ticket");
    locate(tickets.index());
    rkernel::walk(kernel_, *this);
    tickets.close();
    builder_.CreateRetVoid();
  }

  void open(int layer, const rkernel::Loop&) override {
    if (layer == attention_l2) {
      clear_carried();
      open_keys();
    } else if (layer == attention_l1) {
      open_rows();
    }
  }

  void close(int layer, const rkernel::Loop&) override {
    if (layer == attention_threads) return;
    loops_.back().close();
    loops_.pop_back();
    if (layer == attention_l2) finish();
  }

  void move(int, const rkernel::Move& move) override {
    if (move.operand == attention_.q) copy_queries();
    if (move.operand == attention_.k) pack_keys();
    if (move.operand == attention_.v) pack_values();
  }

  void leaf(const rkernel::Layer&) override {
    Conditional any(builder_, builder_.CreateICmpSGT(tile_keys_, number(0)), "visible");
    if (class_.form == ScoreForm::Panels) {
      emit_scores();
    } else {
      emit_dots(code_, {key_block_, k_row_, tile_keys_, depth_}, q_tile_, q_row_, rows_.size,
                scores_, score_row_);
    }
    emit_softmax();
    emit_products();
    any.close();
  }

 private:
  void load_strategy() {
    for (auto& [value, index] : std::initializer_list<std::pair<llvm::Value**, int>>{
             {&m_blocks_, strategy_.m_blocks},
             {&splits_, strategy_.splits},
             {&block_keys_, strategy_.block_keys},
             {&tile_rows_, strategy_.tile_rows},
             {&tile_panels_, strategy_.tile_panels},
             {&q_row_, strategy_.q_row},
             {&acc_row_, strategy_.acc_row},
             {&score_row_, strategy_.score_row}}) {
      *value = slot(index);
    }
    scores_ = scratch(strategy_.score_scratch);
    queries_ = extent(attention_.m);
    columns_ = extent(attention_.n);
    keys_ = extent(attention_.keys);
    depth_ = extent(attention_.d);
    ahead_ = builder_.CreateSub(keys_, queries_);
    k_row_ = stride(attention_.k, attention_.keys);
    v_row_ = stride(attention_.v, attention_.keys);
    whole_columns_ = class_.v_unit ? code_.round_down(columns_, code_.lanes()) : number(0);
    const auto table = [&](int index) {
      return builder_.CreateIntToPtr(slot(index), builder_.getPtrTy());
    };
    wide_table_ = table(strategy_.wide_table);
    panel_table_ = table(strategy_.panel_table);
    vector_table_ = table(strategy_.vector_table);
    main_loop_type_ = main_loop_type(builder_);
  }

  // Under a causal mask the last rows, which see most keys, come first, so that short tickets fill
  // the end.
  void locate(llvm::Value* ticket) {
    llvm::Value* block = take(ticket, m_blocks_);
    if (attention_.causal)
      block = builder_.CreateSub(builder_.CreateSub(m_blocks_, number(1)), block);
    split_ = take(ticket, splits_);
    batch_ = ticket;
    locate_batch(ticket);
    block_ = part(queries_, m_blocks_, block);
    const codegen::Part panels = part(code_.ceil_div(keys_, panel()), splits_, split_);
    first_key_ = builder_.CreateMul(panels.start, number(panel()));
    end_key_ = code_.minimum(
        keys_, builder_.CreateMul(builder_.CreateAdd(panels.start, panels.size), number(panel())));
    if (attention_.causal)
      end_key_ = code_.minimum(end_key_, seen_by(builder_.CreateAdd(block_.start, block_.size)));
  }

  /// Keys that the row before `row_end` sees.
  llvm::Value* seen_by(llvm::Value* row_end) { return builder_.CreateAdd(row_end, ahead_); }
  std::int64_t panel() const { return code_.isa().panel_f32; }
  llvm::Value* zero() { return llvm::ConstantFP::get(builder_.getFloatTy(), 0); }

  void clear_carried() {
    constexpr int maximum = 0, sum = 1, accumulator = 2;
    const auto& carried = kernel_.layers[attention_l2].carried;
    const auto initial = [&](int i) {
      return llvm::ConstantFP::get(builder_.getFloatTy(),
                                   carried[static_cast<std::size_t>(i)].initial);
    };
    CountedLoop rows(builder_, number(0), block_.size, number(1), "clear_row");
    code_.store(initial(maximum), maximum_of(rows.index()));
    code_.store(initial(sum), sum_of(rows.index()));
    CountedLoop vectors(builder_, number(0), acc_row_, number(code_.lanes()), "clear");
    code_.store(code_.splat(initial(accumulator)),
                code_.element(accumulator_of(rows.index()), vectors.index()));
    vectors.close();
    rows.close();
  }

  // Of a row of the ticket's block.
  llvm::Value* maximum_of(llvm::Value* row) {
    return code_.element(scratch(strategy_.max_scratch), row);
  }
  llvm::Value* sum_of(llvm::Value* row) {
    return code_.element(scratch(strategy_.sum_scratch), row);
  }
  llvm::Value* accumulator_of(llvm::Value* row) {
    return code_.element(scratch(strategy_.acc_scratch), builder_.CreateMul(row, acc_row_));
  }

  void copy_queries() {
    llvm::Value* row_stride = stride(attention_.q, attention_.m);
    llvm::Value* data =
        code_.element(batch_base(attention_.q), builder_.CreateMul(block_.start, row_stride));
    llvm::Value* scale = builder_.CreateBitCast(
        builder_.CreateTrunc(slot(strategy_.scale), builder_.getInt32Ty()), builder_.getFloatTy());
    emit_scaled_rows(code_,
                     {data, row_stride, stride(attention_.q, attention_.d), class_.q_unit,
                      block_.size, depth_, scale},
                     scratch(strategy_.q_scratch), q_row_);
    k_base_ = batch_base(attention_.k);
    v_base_ = batch_base(attention_.v);
    if (attention_.mask >= 0) mask_base_ = batch_base(attention_.mask);
  }

  void open_keys() {
    loops_.emplace_back(builder_, first_key_, end_key_, block_keys_, "keys");
    key0_ = loops_.back().index();
    block_size_ = code_.minimum(block_keys_, builder_.CreateSub(end_key_, key0_));
    key_block_ = code_.element(k_base_, builder_.CreateMul(key0_, k_row_));
    value_block_ = code_.element(v_base_, builder_.CreateMul(key0_, v_row_));
  }

  void pack_keys() {
    if (class_.k_unit)
      return emit_key_panels(code_, {key_block_, k_row_, block_size_, depth_},
                             scratch(strategy_.key_scratch), key_panel_stride());
    const StridedMatrix from{key_block_, stride(attention_.k, attention_.d), k_row_, false};
    emit_panels(builder_, code_.isa(), from, depth_, code_.ceil_div(block_size_, panel()),
                block_size_, scratch(strategy_.key_scratch));
  }

  llvm::Value* key_panel_stride() {
    llvm::Value* depth = class_.k_unit ? code_.round_up(depth_, code_.lanes()) : depth_;
    return builder_.CreateMul(depth, number(panel()));
  }

  /// Few rows do not repay a copy of values that lie row by row.
  bool reads_value_tail() const { return class_.form == ScoreForm::Dots && class_.v_unit; }

  /// Columns beyond the whole vectors, or all where values do not lie row by row.
  void pack_values() {
    if (reads_value_tail()) return;
    llvm::Value* left = builder_.CreateSub(columns_, whole_columns_);
    Conditional any(builder_, builder_.CreateICmpSGT(left, number(0)), "values_left");
    const StridedMatrix from{code_.element(value_block_, whole_columns_), v_row_,
                             stride(attention_.v, attention_.n), class_.v_unit};
    emit_panels(builder_, code_.isa(), from, block_size_, code_.ceil_div(left, panel()), left,
                scratch(strategy_.value_scratch));
    any.close();
  }

  void open_rows() {
    llvm::Value* tiles = builder_.CreateUDiv(
        builder_.CreateAdd(block_.size, builder_.CreateSub(tile_rows_, number(1))), tile_rows_);
    loops_.emplace_back(builder_, number(0), tiles, number(1), "rows");
    rows_ = part(block_.size, tiles, loops_.back().index());
    row0_ = builder_.CreateAdd(block_.start, rows_.start);
    q_tile_ = code_.element(scratch(strategy_.q_scratch), builder_.CreateMul(rows_.start, q_row_));
    tile_keys_ = block_size_;
    if (attention_.causal) tile_keys_ = visible(builder_.CreateAdd(row0_, rows_.size));
  }

  /// Keys of this block that the row before `row_end` sees.
  llvm::Value* visible(llvm::Value* row_end) {
    return code_.maximum(number(0),
                         code_.minimum(block_size_, builder_.CreateSub(seen_by(row_end), key0_)));
  }

  /// B of a main loop: element (k, column) at data + (column / panel) * panel_stride + k * k_stride
  /// + column % panel.
  struct Matrix {
    llvm::Value *data, *k_stride, *panel_stride;
  };

  void call(llvm::Value* table, llvm::Value* a, llvm::Value* a_row, const Matrix& b, llvm::Value* k,
            llvm::Value* c, llvm::Value* c_row, bool accumulate) {
    llvm::Value* field = builder_.CreateGEP(builder_.getPtrTy(), table, rows_.size);
    llvm::Value* function = builder_.CreateAlignedLoad(builder_.getPtrTy(), field, llvm::Align(8));
    builder_.CreateCall(main_loop_type_, function,
                        {a, a_row, b.data, b.k_stride, b.panel_stride, k, c, c_row,
                         number(accumulate), number(0), number(0)});
  }

  /// c = a * b over `panels` panels: wide tiles, then single panels.
  void multiply(llvm::Value* a, llvm::Value* a_row, const Matrix& b, llvm::Value* panels,
                llvm::Value* k, llvm::Value* c, llvm::Value* c_row, bool accumulate) {
    llvm::Value* wide = builder_.CreateMul(builder_.CreateUDiv(panels, tile_panels_), tile_panels_);
    const auto at = [&](llvm::Value* index) {
      return Matrix{code_.element(b.data, builder_.CreateMul(index, b.panel_stride)), b.k_stride,
                    b.panel_stride};
    };
    const auto columns = [&](llvm::Value* index) {
      return code_.element(c, builder_.CreateMul(index, number(panel())));
    };
    CountedLoop tiles(builder_, number(0), wide, tile_panels_, "wide");
    call(wide_table_, a, a_row, at(tiles.index()), k, columns(tiles.index()), c_row, accumulate);
    tiles.close();
    CountedLoop single(builder_, wide, panels, number(1), "panel");
    call(panel_table_, a, a_row, at(single.index()), k, columns(single.index()), c_row, accumulate);
    single.close();
  }

  void emit_scores() {
    const Matrix keys{scratch(strategy_.key_scratch), number(panel()), key_panel_stride()};
    multiply(q_tile_, q_row_, keys, code_.ceil_div(tile_keys_, panel()), depth_, scores_,
             score_row_, false);
  }

  void emit_softmax() {
    CountedLoop rows(builder_, number(0), rows_.size, number(1), "softmax_row");
    llvm::Value* row = builder_.CreateAdd(row0_, rows.index());
    llvm::Value* in_block = builder_.CreateAdd(rows_.start, rows.index());
    ScoreRow score{};
    score.scores = code_.element(scores_, builder_.CreateMul(rows.index(), score_row_));
    score.visible = attention_.causal ? visible(builder_.CreateAdd(row, number(1))) : tile_keys_;
    score.total = tile_keys_;
    if (attention_.mask >= 0) {
      score.mask_stride = stride(attention_.mask, attention_.keys);
      llvm::Value* offset =
          builder_.CreateAdd(builder_.CreateMul(row, stride(attention_.mask, attention_.m)),
                             builder_.CreateMul(key0_, score.mask_stride));
      score.mask = code_.element(mask_base_, offset);
    }
    score.maximum = maximum_of(in_block);
    score.sum = sum_of(in_block);
    score.accumulator = accumulator_of(in_block);
    score.accumulator_columns = acc_row_;
    emit_softmax_step(code_, math_, class_.mask, score);
    rows.close();
  }

  void emit_products() {
    llvm::Value* accumulator = accumulator_of(rows_.start);
    if (class_.v_unit) {
      const Matrix values{value_block_, v_row_, number(panel())};
      llvm::Value* panels = builder_.CreateUDiv(whole_columns_, number(panel()));
      multiply(scores_, score_row_, values, panels, tile_keys_, accumulator, acc_row_, true);
      emit_vectors(builder_.CreateMul(panels, number(panel())), accumulator);
    }
    llvm::Value* left = builder_.CreateSub(columns_, whole_columns_);
    if (reads_value_tail()) return emit_tail(left, accumulator);
    const Matrix packed{scratch(strategy_.value_scratch), number(panel()),
                        builder_.CreateMul(block_size_, number(panel()))};
    multiply(scores_, score_row_, packed, code_.ceil_div(left, panel()), tile_keys_,
             code_.element(accumulator, whole_columns_), acc_row_, true);
  }

  void emit_tail(llvm::Value* left, llvm::Value* accumulator) {
    Conditional any(builder_, builder_.CreateICmpSGT(left, number(0)), "tail");
    emit_value_tail(code_,
                    {code_.element(value_block_, whole_columns_), v_row_, tile_keys_, left, scores_,
                     score_row_, rows_.size, code_.element(accumulator, whole_columns_), acc_row_});
    any.close();
  }

  /// Columns from `first` on that fill vectors but no panel.
  void emit_vectors(llvm::Value* first, llvm::Value* accumulator) {
    CountedLoop vectors(builder_, first, whole_columns_, number(code_.lanes()), "vector");
    const Matrix values{code_.element(value_block_, vectors.index()), v_row_, number(panel())};
    call(vector_table_, scores_, score_row_, values, tile_keys_,
         code_.element(accumulator, vectors.index()), acc_row_, true);
    vectors.close();
  }

  void finish() {
    llvm::Value* whole = builder_.CreateICmpEQ(splits_, number(1));
    CountedLoop rows(builder_, number(0), block_.size, number(1), "finish");
    llvm::Value* row = builder_.CreateAdd(block_.start, rows.index());
    llvm::Value* accumulator = accumulator_of(rows.index());
    Conditional result(builder_, whole, "result");
    llvm::Value* sum = code_.load(sum_of(rows.index()));
    llvm::Value* empty = code_.splat(builder_.CreateFCmpOEQ(sum, zero()));
    llvm::Value* factor =
        code_.splat(builder_.CreateFDiv(llvm::ConstantFP::get(builder_.getFloatTy(), 1), sum));
    store_row(row, [&](llvm::Value* column, llvm::Value*) {
      llvm::Value* value =
          builder_.CreateFMul(code_.load_vector(code_.element(accumulator, column)), factor);
      return builder_.CreateSelect(empty, code_.splat(0.0), value);
    });
    result.close();
    Conditional partial(builder_, builder_.CreateNot(whole), "partial");
    llvm::Value* to = record(batch_, row, split_);
    CountedLoop vectors(builder_, number(0), acc_row_, number(code_.lanes()), "partial_vector");
    code_.store(code_.load_vector(code_.element(accumulator, vectors.index())),
                code_.element(to, vectors.index()));
    vectors.close();
    code_.store(code_.load(maximum_of(rows.index())), code_.element(to, acc_row_));
    code_.store(code_.load(sum_of(rows.index())),
                code_.element(to, builder_.CreateAdd(acc_row_, number(1))));
    partial.close();
    rows.close();
  }

  llvm::FunctionType* main_loop_type_ = nullptr;
  std::vector<CountedLoop> loops_;
  llvm::Value *m_blocks_, *splits_, *block_keys_, *tile_rows_, *tile_panels_, *q_row_, *acc_row_,
      *score_row_;
  llvm::Value *wide_table_, *panel_table_, *vector_table_;
  llvm::Value *queries_, *columns_, *keys_, *depth_, *ahead_, *k_row_, *v_row_, *whole_columns_,
      *scores_;
  // Of the ticket.
  llvm::Value *batch_, *split_, *first_key_, *end_key_, *k_base_, *v_base_, *mask_base_ = nullptr;
  codegen::Part block_{};
  // Of the block of keys.
  llvm::Value *key0_, *block_size_, *key_block_, *value_block_;
  // Of the tile of rows.
  codegen::Part rows_{};
  llvm::Value *row0_, *q_tile_, *tile_keys_;
};

}  // namespace

void emit_attention(llvm::Module& module, const std::string& symbol, const rkernel::RKernel& kernel,
                    const codegen::Isa& isa, const codegen::SlotTable& slots,
                    const AttentionSlots& strategy, const AttentionClass& shape_class) {
  rkernel::legalise(kernel, {});
  AttentionEmitter(module, symbol, kernel, isa, slots, strategy, shape_class).emit();
}

}  // namespace dyn::cpu
