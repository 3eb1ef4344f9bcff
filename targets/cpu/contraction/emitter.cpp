#include "targets/cpu/contraction/emitter.hpp"

#include <fmt/format.h>
#include <llvm/IR/Module.h>

#include "targets/cpu/contraction/copies.hpp"
#include "targets/cpu/contraction/epilogue.hpp"
#include "targets/cpu/contraction/full_tiles.hpp"
#include "targets/cpu/move/moves.hpp"
#include "targets/cpu/tile/tile_loop.hpp"
#include "targets/cpu/tile/widening.hpp"
#include "targets/cpu/x86/functions.hpp"
#include "targets/llvm/code/loops.hpp"

namespace dyn::cpu {
namespace {

using codegen::Conditional;
using codegen::CountedLoop;
using codegen::Part;
using rkernel::LoopKind;

class ContractionEmitter final : public rkernel::Emitter, private ContractionCopies {
 public:
  ContractionEmitter(llvm::Module& module, const std::string& symbol,
                     const ContractionSource& source)
      : ContractionCopies(module, source) {
    for (const Tile& tile : class_.full_tiles) {
      full_tiles_.emplace_back(module, fmt::format("{}_full{}", symbol, tile.columns), problem_,
                               isa_, slots_, class_, tile);
    }
    function_ = create_kernel_function(builder_, module, symbol);
    main_loop_type_ = main_loop_type(builder_);
  }

  void emit() {
    const codegen::KernelArgsValues args =
        codegen::load_kernel_args(builder_, function_->getArg(0));
    codegen::Operands operands(builder_, problem_, slots_, class_.lanes, args, isa_.f32_lanes);
    codegen::ExprCompiler compiler(builder_, problem_, operands,
                                   codegen::MathOptions{.fma = isa_.fma});
    ContractionEpilogue epilogue(builder_, problem_, isa_, operands, compiler);
    operands_ = &operands;
    epilogue_ = &epilogue;
    load_strategy(args);
    CountedLoop tickets(builder_, function_->getArg(1),
                        builder_.CreateAdd(function_->getArg(1), function_->getArg(2)), number(1),
                        "ticket");
    locate_ticket(tickets.index());
    rkernel::walk(kernel_, *this);
    tickets.close();
    builder_.CreateRetVoid();
  }

  void open(int layer, const rkernel::Loop& loop) override {
    if (layer == threads_layer) {
      open_block(loop.axis);
    } else if (layer == l2_layer) {
      open_depth();
    } else if (loop.axis == contraction_.n) {
      open_columns();
    } else {
      open_rows();
    }
  }

  void close(int layer, const rkernel::Loop&) override {
    if (layer == threads_layer) return;
    loops_.back().close();
    loops_.pop_back();
  }

  void move(int, const rkernel::Move& move) override {
    if (move.operand == contraction_.b) {
      if (class_.dot)
        copy_b_rows();
      else
        pack_b_block();
    } else {
      if (class_.a_unit) {
        Conditional wanted(builder_, builder_.CreateICmpNE(copy_a_, number(0)), "copy_a");
        copy_a_block();
        wanted.close();
      } else {
        copy_a_block();
      }
    }
  }

  void leaf(const rkernel::Layer&) override {
    llvm::Value* is_last =
        builder_.CreateICmpEQ(k_index_, builder_.CreateSub(k_blocks_, number(1)));
    if (class_.may_have_dots()) {
      // Of a panel with a vector and more, one loop computes the vector.
      Conditional vectors(builder_, builder_.CreateNot(builder_.CreateAnd(is_rest_, is_half_)),
                          "vectors");
      call_main_loop();
      vectors.close();
      Conditional rest(
          builder_, class_.rest_as_rows ? builder_.CreateAnd(is_rest_, is_last) : is_rest_, "rest");
      const DotOperands operands = dot_operands();
      for (const RestSlots& group : {strategy_.rest_first, strategy_.rest_second})
        call_dot_loops(operands, group);
      rest.close();
    } else {
      call_main_loop();
    }
    Conditional last(builder_, builder_.CreateAnd(is_last, builder_.CreateNot(is_split_)),
                     "epilogue");
    epilogue_->emit(outputs_of_tile());
    last.close();
  }

 private:
  void open_depth() {
    // A right side that was packed for lanes along n is one panel here: its columns are contiguous.
    a_stride_m_ = a_packed() ? number(1) : stride(contraction_.a, contraction_.m);
    llvm::Value* row0 = builder_.CreateMul(m_part_.start, a_stride_m_);
    a_block_ = a_packed()
                   ? element_of(builder_, dtype_of(contraction_.a), bases_.at(contraction_.a), row0)
                   : element(batch_base(contraction_.a), row0);
    b_batch_ = packed() ? bases_.at(contraction_.b) : batch_base(contraction_.b);
    loops_.emplace_back(builder_, number(0), k_blocks_, number(1), "depth");
    k_index_ = loops_.back().index();
    llvm::Value* before = builder_.CreateMul(k_index_, block_k_);
    k0_ = builder_.CreateAdd(k_part_.start, before);
    k_size_ = minimum(block_k_, builder_.CreateSub(k_part_.size, before));
    if (class_.strips) find_strip();
  }

  void open_columns() {
    if (class_.dot_rest) copy_rest_of_b();
    loops_.emplace_back(builder_, number(0), class_.dot ? number(1) : n_tiles_, number(1),
                        "columns");
    n_tile_ = loops_.back().index();
    if (class_.dot) return open_dot_columns();
    is_wide_ = builder_.CreateICmpSLT(n_tile_, wide_tiles_);
    llvm::Value* narrow = builder_.CreateAdd(
        n_tile_, builder_.CreateMul(wide_tiles_, builder_.CreateSub(tile_panels_, number(1))));
    panel_ = builder_.CreateSelect(is_wide_, builder_.CreateMul(n_tile_, tile_panels_), narrow);
    columns_ = builder_.CreateMul(builder_.CreateSelect(is_wide_, tile_panels_, number(1)),
                                  number(isa_.panel_f32));
    llvm::Value* first_panel = builder_.CreateAdd(n_part_.start, panel_);
    n0_ = builder_.CreateMul(first_panel, number(isa_.panel_f32));
    llvm::Value* left = builder_.CreateSub(extents_[at(contraction_.n)], n0_);
    valid_columns_ = minimum(columns_, left);
    locate_b_tile(first_panel);
    llvm::Value* is_narrow = builder_.CreateICmpEQ(columns_, number(isa_.panel_f32));
    is_half_ = builder_.CreateAnd(is_narrow, builder_.CreateICmpSLE(left, number(isa_.f32_lanes)));
    is_rest_ = builder_.CreateAnd(has_rest_, builder_.CreateICmpSLT(left, number(isa_.panel_f32)));
    table_ = builder_.CreateSelect(builder_.CreateOr(is_half_, is_rest_), half_table_,
                                   builder_.CreateSelect(is_wide_, wide_table_, narrow_table_));
  }

  // All columns are one tile, whose rows lie a vector apart.
  void open_dot_columns() {
    n0_ = number(0);
    columns_ = number(isa_.f32_lanes);
    valid_columns_ = extents_[at(contraction_.n)];
    b_tile_ = b_scratch_;
    b_k_stride_ = number(1);
    panel_stride_ = a_row_;
    table_ = wide_table_;
  }

  void locate_b_tile(llvm::Value* first_panel) {
    llvm::Value* width = number(isa_.panel_f32);
    b_k_stride_ = width;
    if (packed()) {
      panel_stride_ = builder_.CreateMul(extents_[at(contraction_.k)], width);
      llvm::Value* offset = builder_.CreateAdd(builder_.CreateMul(first_panel, panel_stride_),
                                               builder_.CreateMul(k0_, width));
      b_tile_ = element_of(builder_, dtype_of(contraction_.b), b_batch_, offset);
      return;
    }
    panel_stride_ = builder_.CreateMul(k_size_, width);
    b_tile_ = element(
        b_scratch_,
        builder_.CreateMul(builder_.CreateSelect(direct_b_, number(0), panel_), panel_stride_));
    if (!class_.b_unit) return;
    llvm::Value* stride_k = stride(contraction_.b, contraction_.k);
    llvm::Value* as_it_lies =
        element(b_batch_, builder_.CreateAdd(builder_.CreateMul(k0_, stride_k), n0_));
    llvm::Value* is_direct =
        builder_.CreateAnd(direct_b_, builder_.CreateICmpEQ(valid_columns_, columns_));
    b_tile_ = builder_.CreateSelect(is_direct, as_it_lies, b_tile_);
    b_k_stride_ = builder_.CreateSelect(is_direct, stride_k, width);
    panel_stride_ = builder_.CreateSelect(is_direct, width, panel_stride_);
  }

  void open_rows() {
    llvm::Value* is_copied =
        class_.a_unit ? builder_.CreateICmpNE(copy_a_, number(0)) : builder_.getTrue();
    llvm::Value* copied =
        class_.strips
            ? element(a_scratch_, builder_.CreateNeg(builder_.CreateMul(rows_in_strip_, a_row_)))
            : a_scratch_;
    llvm::Value* a_rows = builder_.CreateSelect(is_copied, copied, element(a_block_, k0_));
    a_tile_row_ = builder_.CreateSelect(is_copied, a_row_, a_stride_m_);
    share_next_columns();
    loops_.emplace_back(builder_, run_full_tiles(a_rows), m_tiles_, number(1), "rows");
    m_tile_ = loops_.back().index();
    locate_rows();
    a_tile_ = element(a_rows, builder_.CreateMul(row_part_.start, a_tile_row_));
    // Between blocks of K every tile of the block keeps its own place.
    llvm::Value* keeps = builder_.CreateICmpSGT(k_blocks_, number(1));
    llvm::Value* tile_index = builder_.CreateAdd(builder_.CreateMul(n_tile_, m_tiles_), m_tile_);
    llvm::Value* tile_size =
        builder_.CreateMul(builder_.CreateMul(tile_rows_, tile_panels_), number(isa_.panel_f32));
    c_tile_ =
        element(function_->getArg(3),
                builder_.CreateSelect(keeps, builder_.CreateMul(tile_index, tile_size), number(0)));
    is_split_ = builder_.CreateICmpSGT(k_slices_, number(1));
    c_tile_ = builder_.CreateSelect(is_split_, sums_of_slice(), c_tile_);
    c_row_ = builder_.CreateSelect(is_split_, sums_row_, columns_);
  }

  // The tile's place among the sums of its slice, for the second stage.
  llvm::Value* sums_of_slice() {
    llvm::Value* index = block_index_.at(contraction_.k);
    for (const int axis : batch_axes(problem_))
      index =
          builder_.CreateAdd(builder_.CreateMul(index, extents_[at(axis)]), block_index_.at(axis));
    llvm::Value* row = builder_.CreateAdd(m_part_.start, row_part_.start);
    row = builder_.CreateAdd(builder_.CreateMul(index, extents_[at(contraction_.m)]), row);
    return element(shared_, builder_.CreateAdd(builder_.CreateMul(row, sums_row_), n0_));
  }

  // The tiles whose epilogue is inlined, all at once; returns how many these were.
  llvm::Value* run_full_tiles(llvm::Value* a_rows) {
    llvm::Value* done = number(0);
    for (const FullTiles& full : full_tiles_) {
      llvm::Value* fits =
          full.tile().columns < isa_.panel_f32 ? is_half_ : builder_.CreateNot(is_half_);
      if (!full.masks())
        fits = builder_.CreateAnd(fits, builder_.CreateICmpEQ(valid_columns_, columns_));
      for (llvm::Value* condition :
           {builder_.CreateICmpEQ(columns_, number(isa_.panel_f32)),
            builder_.CreateICmpEQ(builder_.CreateMul(k_blocks_, k_slices_), number(1)),
            builder_.CreateICmpEQ(first_rows_, number(full.tile().rows))}) {
        fits = builder_.CreateAnd(fits, condition);
      }
      if (class_.strips) fits = builder_.CreateAnd(fits, reads_strip_);
      Conditional run(builder_, builder_.CreateAnd(fits, builder_.CreateNot(is_rest_)),
                      "full_tiles");
      std::vector<llvm::Value*> batch;
      for (const int axis : batch_axes(problem_)) batch.push_back(block_index_.at(axis));
      full.call(builder_, function_->getArg(0), full_run(a_rows), batch);
      llvm::Value *inside[]{first_tiles_}, *outside[]{done};
      done = run.close(inside, outside)[0];
    }
    return done;
  }

  FullTiles::Run full_run(llvm::Value* a_rows) {
    FullTiles::Run run{.a = a_rows,
                       .a_row_stride = a_tile_row_,
                       .b = b_tile_,
                       .b_k_stride = b_k_stride_,
                       .panel_stride = panel_stride_,
                       .k = k_size_,
                       .offsets = llvm::ConstantPointerNull::get(builder_.getPtrTy()),
                       .segments = number(1),
                       .ahead = ahead_of_tile(number(0)),
                       .ahead_share = ahead_share_,
                       .first_row = m_part_.start,
                       .tiles = first_tiles_,
                       .first_column = n0_,
                       .columns = valid_columns_};
    if (!class_.strips) return run;
    run.a = scratch(region_slot(strategy_.strip_scratch));
    run.a_row_stride = strip_->segment_stride();
    run.k = strip_->segment_size();
    run.offsets = scratch(region_slot(strategy_.offsets_scratch));
    run.segments = strip_->segments();
    return run;
  }

  void locate_rows() {
    llvm::Value* in_first = builder_.CreateICmpSLT(m_tile_, first_tiles_);
    llvm::Value* after_first =
        builder_.CreateMul(builder_.CreateSub(m_tile_, first_tiles_), second_rows_);
    llvm::Value* in_second =
        builder_.CreateAdd(builder_.CreateMul(first_tiles_, first_rows_), after_first);
    row_part_ = {
        builder_.CreateSelect(in_first, builder_.CreateMul(m_tile_, first_rows_), in_second),
        builder_.CreateSelect(in_first, first_rows_, second_rows_)};
  }

  // While a block's row tiles compute, the memory brings the columns that come next: each tile asks
  // for an equal share of them.
  void share_next_columns() {
    asks_ahead_ =
        builder_.CreateAnd(ask_ahead_, builder_.CreateICmpEQ(b_k_stride_, number(isa_.panel_f32)));
    llvm::Value* panel = builder_.CreateMul(k_size_, b_k_stride_);
    ahead_share_ =
        builder_.CreateSelect(asks_ahead_, builder_.CreateUDiv(panel, m_tiles_), number(0));
    ahead_step_ = builder_.CreateUDiv(number(isa_.panel_f32 * steps_of_ahead), m_tiles_);
  }

  Ahead ahead_of_tile(llvm::Value* tile) {
    llvm::Value* next_columns =
        builder_.CreateMul(builder_.CreateUDiv(columns_, number(isa_.panel_f32)), panel_stride_);
    llvm::Value* distance =
        builder_.CreateAdd(next_columns, builder_.CreateMul(tile, ahead_share_));
    return {builder_.CreateSelect(asks_ahead_, distance, number(0)), ahead_step_};
  }

  llvm::Value* rows_of_next_tile() {
    return dot_rows_ahead(builder_, {row_part_.size, a_tile_row_, k_size_,
                                     builder_.CreateICmpEQ(m_tiles_, number(1))});
  }

  void call_main_loop() {
    llvm::Value* field = builder_.CreateGEP(builder_.getPtrTy(), table_, row_part_.size);
    llvm::Value* function = builder_.CreateAlignedLoad(builder_.getPtrTy(), field, llvm::Align(8));
    const Ahead ahead = class_.dot ? Ahead{rows_of_next_tile(), number(0)} : ahead_of_tile(m_tile_);
    builder_.CreateCall(main_loop_type_, function,
                        {a_tile_, a_tile_row_, b_tile_, b_k_stride_, panel_stride_, k_size_,
                         c_tile_, c_row_, k_index_, ahead.distance, ahead.step});
  }

  struct DotOperands {
    llvm::Value *a, *a_row, *b, *k_size, *k_index;
  };

  // Of the tile: a block of K, of copied rows; of packed rows the slice.
  DotOperands dot_operands() {
    llvm::Value* place = region_slot(strategy_.rest_place);
    if (!class_.rest_as_rows) return {a_tile_, a_tile_row_, scratch(place), k_size_, k_index_};
    llvm::Value* a_rows = element(a_block_, builder_.CreateMul(row_part_.start, a_stride_m_));
    llvm::Value* b_rows = builder_.CreateGEP(builder_.getInt8Ty(), b_batch_, place);
    return {element(a_rows, k_part_.start), a_stride_m_, element(b_rows, k_part_.start),
            k_part_.size, number(0)};
  }

  // One group of the tile's last columns, a few rows at a time.
  void call_dot_loops(const DotOperands& of, const RestSlots& group) {
    const bool is_second = group.columns == strategy_.rest_second.columns;
    llvm::Value* before = is_second ? region_slot(strategy_.rest_first.columns) : number(0);
    llvm::Value* column =
        builder_.CreateAdd(builder_.CreateSub(valid_columns_, rest_columns_), before);
    llvm::Value* b_row = region_slot(strategy_.rest_row);
    llvm::Value* b = element(of.b, builder_.CreateMul(before, b_row));
    llvm::Value* table = builder_.CreateIntToPtr(region_slot(group.table), builder_.getPtrTy());
    llvm::Value* most_rows = region_slot(group.rows);
    llvm::Value* has_columns = builder_.CreateICmpNE(region_slot(group.columns), number(0));
    CountedLoop rows(builder_, number(0),
                     builder_.CreateSelect(has_columns, row_part_.size, number(0)), most_rows,
                     "dots");
    llvm::Value* count = minimum(most_rows, builder_.CreateSub(row_part_.size, rows.index()));
    llvm::Value* function = builder_.CreateAlignedLoad(
        builder_.getPtrTy(), builder_.CreateGEP(builder_.getPtrTy(), table, count), llvm::Align(8));
    llvm::Value* c =
        element(c_tile_, builder_.CreateAdd(builder_.CreateMul(rows.index(), c_row_), column));
    builder_.CreateCall(main_loop_type_, function,
                        {element(of.a, builder_.CreateMul(rows.index(), of.a_row)), of.a_row, b,
                         number(1), b_row, of.k_size, c, c_row_, of.k_index, number(0), number(0)});
    rows.close();
  }

  TileOutputs outputs_of_tile() {
    llvm::Value* first_row = builder_.CreateAdd(m_part_.start, row_part_.start);
    if (!exchanged())
      return {contraction_.m, contraction_.n, first_row, row_part_.size, n0_,
              valid_columns_, c_tile_,        columns_};
    llvm::Value* turned = scratch(region_slot(strategy_.turned_scratch));
    llvm::Value* turned_row = builder_.CreateAnd(
        builder_.CreateAdd(tile_rows_, number(isa_.f32_lanes - 1)), number(-isa_.f32_lanes));
    emit_transposition(builder_, isa_,
                       {c_tile_, columns_, valid_columns_, row_part_.size, turned, turned_row},
                       number(0));
    return {contraction_.n, contraction_.m, n0_,    valid_columns_,
            first_row,      row_part_.size, turned, turned_row};
  }

  llvm::FunctionType* main_loop_type_ = nullptr;
  ContractionEpilogue* epilogue_ = nullptr;
  std::vector<FullTiles> full_tiles_;
  std::vector<CountedLoop> loops_;

  Part row_part_{};
  llvm::Value *asks_ahead_ = nullptr, *ahead_share_ = nullptr, *ahead_step_ = nullptr;
  llvm::Value *is_split_ = nullptr, *c_row_ = nullptr, *is_half_ = nullptr, *is_rest_ = nullptr;
  llvm::Value* k_index_ = nullptr;
  llvm::Value *n_tile_ = nullptr, *is_wide_ = nullptr, *panel_ = nullptr, *columns_ = nullptr,
              *n0_ = nullptr, *panel_stride_ = nullptr, *b_k_stride_ = nullptr,
              *valid_columns_ = nullptr, *b_tile_ = nullptr, *table_ = nullptr;
  llvm::Value *m_tile_ = nullptr, *a_tile_ = nullptr, *a_tile_row_ = nullptr, *c_tile_ = nullptr;
};

}  // namespace

void emit_contraction(llvm::Module& module, const std::string& symbol,
                      const rkernel::RKernel& kernel, const codegen::Isa& isa,
                      const codegen::SlotTable& slots, const StrategySlots& strategy,
                      const ContractionClass& shape_class) {
  rkernel::legalise(kernel, {.vector_registers = isa.vector_registers});
  ContractionEmitter(module, symbol, {kernel, isa, slots, strategy, shape_class}).emit();
}

}  // namespace dyn::cpu
