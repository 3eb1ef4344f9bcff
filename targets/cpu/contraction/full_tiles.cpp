#include "targets/cpu/contraction/full_tiles.hpp"

#include <fmt/format.h>
#include <llvm/IR/Module.h>

#include "src/base/bytes.hpp"
#include "targets/cpu/tile/epilogue.hpp"
#include "targets/cpu/tile/group_instructions.hpp"
#include "targets/cpu/tile/tile_loop.hpp"
#include "targets/cpu/tile/widening.hpp"
#include "targets/llvm/code/loops.hpp"
#include "targets/llvm/problem/structure_key.hpp"

namespace dyn::cpu {
namespace {

using codegen::Builder;
using llvm::Value;

llvm::FunctionType* full_tiles_type(Builder& builder, std::size_t batch_axes) {
  llvm::Type *pointer = builder.getPtrTy(), *i64 = builder.getInt64Ty();
  std::vector<llvm::Type*> types{pointer, pointer, i64, pointer, i64, i64,     i64, i64,    i64,
                                 i64,     i64,     i64, i64,     i64, pointer, i64, pointer};
  types.resize(types.size() + batch_axes, i64);
  return llvm::FunctionType::get(builder.getVoidTy(), types, false);
}

llvm::Function* create(llvm::Module& module, const std::string& symbol, std::size_t batch_axes) {
  Builder builder(module.getContext());
  return llvm::Function::Create(full_tiles_type(builder, batch_axes),
                                llvm::Function::ExternalLinkage, symbol, module);
}

class FullTilesEmitter {
 public:
  FullTilesEmitter(llvm::Function* function, const rkernel::Problem& problem,
                   const codegen::Isa& isa, const codegen::SlotTable& slots,
                   const ContractionClass& shape_class, const Tile& tile, bool masks)
      : builder_(llvm::BasicBlock::Create(function->getContext(), "entry", function)),
        function_(function),
        problem_(problem),
        isa_(isa),
        tile_(tile),
        strips_(shape_class.strips),
        sums_in_scratch_(shape_class.sums_in_scratch),
        masks_(masks),
        factors_(rkernel::factors_of(problem)),
        operands_(builder_, problem, slots, shape_class.lanes,
                  codegen::load_kernel_args(builder_, argument(kernel_argument)), isa.f32_lanes),
        compiler_(builder_, problem, operands_, codegen::MathOptions{.fma = isa.fma}),
        epilogue_(builder_, problem, isa, operands_, compiler_) {}

  void emit() {
    unsigned next = batch_argument;
    for (const int axis : batch_axes(problem_)) operands_.set_index(axis, argument(next++));
    allow_group(*function_, isa_, factors_.group);
    TileLoop loop(builder_, isa_, tile_,
                  {strips_ ? nullptr : argument(a_row_argument), argument(b_k_argument),
                   argument(panel_argument), is_packed(problem_.contraction->b)},
                  factors_);
    Value* tile_rows = builder_.getInt64(static_cast<std::uint64_t>(tile_.rows));
    Value* first[]{argument(strips_ ? offsets_argument : a_argument), argument(row_argument)};
    const std::vector<Value*> masks = lane_masks(loop);
    codegen::CountedLoop tiles(builder_, builder_.getInt64(0), argument(tiles_argument),
                               builder_.getInt64(1), "tile", first);
    const std::vector<Value*> zeros(static_cast<std::size_t>(loop.rows() * loop.vectors()),
                                    llvm::Constant::getNullValue(loop.vector()));
    prefetch_outputs(builder_.CreateAdd(tiles.carried(1), tile_rows));
    const Ahead ahead = ahead_of(tiles.index(), tile_rows);
    const std::vector<Value*> sums = strips_ ? emit_segments(loop, tiles.carried(0), ahead, zeros)
                                             : loop.emit({tiles.carried(0)}, argument(b_argument),
                                                         argument(k_argument), ahead, zeros);
    if (sums_in_scratch_)
      emit_from_scratch(sums, tiles.carried(1));
    else
      epilogue_.emit_registers(
          {sums, loop.vectors(), tiles.carried(1), argument(column_argument), masks});
    Value* next_rows =
        strips_ ? builder_.CreateGEP(builder_.getInt64Ty(), tiles.carried(0), tile_rows)
                : builder_.CreateGEP(builder_.getFloatTy(), tiles.carried(0),
                                     builder_.CreateMul(argument(a_row_argument), tile_rows));
    Value* following[]{next_rows, builder_.CreateAdd(tiles.carried(1), tile_rows)};
    tiles.close(following);
    builder_.CreateRetVoid();
  }

 private:
  enum Argument : unsigned {
    kernel_argument,
    a_argument,
    a_row_argument,
    b_argument,
    b_k_argument,
    panel_argument,
    k_argument,
    ahead_argument,
    share_argument,
    ahead_step_argument,
    row_argument,
    tiles_argument,
    column_argument,
    columns_argument,
    offsets_argument,
    segments_argument,
    scratch_argument,
    batch_argument
  };

  Value* argument(unsigned index) { return function_->getArg(index); }

  bool is_packed(int operand) const {
    return problem_.operands[static_cast<std::size_t>(operand)].form == rkernel::Form::Packed;
  }

  Ahead ahead_of(Value* tile, Value* tile_rows) {
    Value* distance = builder_.CreateAdd(argument(ahead_argument),
                                         builder_.CreateMul(tile, argument(share_argument)));
    if (strips_) return {distance, argument(ahead_step_argument)};
    Value* is_only = builder_.CreateICmpEQ(argument(tiles_argument), builder_.getInt64(1));
    return {distance, argument(ahead_step_argument),
            far_rows_ahead(builder_,
                           {tile_rows, argument(a_row_argument), argument(k_argument), is_only})};
  }

  // K in the order of B's rows: one row of taps of all windows of the tile after the other. The
  // places that a tile asks for move on as if K were one run.
  std::vector<Value*> emit_segments(TileLoop& loop, Value* offsets, const Ahead& ahead,
                                    const std::vector<Value*>& zeros) {
    std::vector<Value*> windows;
    for (int row = 0; row < tile_.rows; ++row) {
      Value* place = builder_.CreateConstGEP1_64(builder_.getInt64Ty(), offsets,
                                                 static_cast<std::uint64_t>(row));
      windows.push_back(builder_.CreateGEP(
          builder_.getFloatTy(), argument(a_argument),
          builder_.CreateAlignedLoad(builder_.getInt64Ty(), place, llvm::Align(8))));
    }
    codegen::CountedLoop segments(builder_, builder_.getInt64(0), argument(segments_argument),
                                  builder_.getInt64(1), "segment", zeros);
    Value* before = builder_.CreateMul(segments.index(), argument(k_argument));
    Value* rows_before = builder_.CreateMul(before, argument(b_k_argument));
    std::vector<Value*> rows, sums;
    for (Value* window : windows)
      rows.push_back(
          builder_.CreateGEP(builder_.getFloatTy(), window,
                             builder_.CreateMul(segments.index(), argument(a_row_argument))));
    for (std::size_t i = 0; i < zeros.size(); ++i) sums.push_back(segments.carried(i));
    Value* moved = builder_.CreateMul(
        builder_.CreateUDiv(before, builder_.getInt64(steps_of_ahead)), ahead.step);
    Value* distance = builder_.CreateAdd(ahead.distance, builder_.CreateSub(moved, rows_before));
    distance = builder_.CreateSelect(builder_.CreateICmpEQ(ahead.distance, builder_.getInt64(0)),
                                     ahead.distance, distance);
    sums = loop.emit(rows,
                     element_of(builder_, factors_.step_dtype(), argument(b_argument), rows_before),
                     argument(k_argument), {distance, ahead.step}, sums);
    return segments.close(sums);
  }

  void emit_from_scratch(const std::vector<Value*>& sums, Value* first_row) {
    const rkernel::Contraction& contraction = *problem_.contraction;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      Value* place = builder_.CreateConstGEP1_64(builder_.getFloatTy(), argument(scratch_argument),
                                                 i * static_cast<std::size_t>(isa_.f32_lanes));
      builder_.CreateAlignedStore(sums[i], place, llvm::Align(4));
    }
    const auto number = [&](int value) {
      return builder_.getInt64(static_cast<std::uint64_t>(value));
    };
    epilogue_.emit({contraction.m, contraction.n, first_row, number(tile_.rows),
                    argument(column_argument), argument(columns_argument),
                    argument(scratch_argument), number(tile_.columns)});
  }

  // The lines of the next tile: a store that waits for its line holds up those behind it, and of a
  // row's few lines no prefetcher of the CPU sees a stream.
  void prefetch_outputs(Value* first_row) {
    const rkernel::Contraction& contraction = *problem_.contraction;
    operands_.set_index(contraction.m, first_row);
    operands_.set_index(contraction.n, argument(column_argument));
    operands_.enter(0);
    for (int operand = 0; operand < static_cast<int>(problem_.operands.size()); ++operand) {
      const int stride = operands_.slots().stride(operand, contraction.m);
      const rkernel::Operand& outputs = problem_.operands[static_cast<std::size_t>(operand)];
      if (!outputs.written && (outputs.gathers || !is_dense(problem_, operand))) continue;
      if (stride == codegen::SlotTable::none) continue;
      const auto element_bytes = static_cast<int>(size_of(outputs.dtype));
      Value* row_bytes = builder_.CreateMul(
          operands_.slot(stride), builder_.getInt64(static_cast<std::uint64_t>(element_bytes)));
      Value* row = operands_.pointer(operand);
      for (int i = 0; i < tile_.rows; ++i) {
        for (int byte = 0; byte < tile_.columns * element_bytes; byte += line_bytes) {
          codegen::prefetch(builder_,
                            builder_.CreateConstGEP1_64(builder_.getInt8Ty(), row,
                                                        static_cast<std::uint64_t>(byte)));
        }
        row = builder_.CreateGEP(builder_.getInt8Ty(), row, row_bytes);
      }
    }
    operands_.leave();
  }

  // Masks of the lanes that exist in each vector of a row; empty: all exist.
  std::vector<Value*> lane_masks(const TileLoop& loop) {
    std::vector<Value*> masks;
    Value* lanes = codegen::iota(builder_, builder_.getInt64Ty(), isa_.f32_lanes);
    for (int vector = 0; masks_ && vector < loop.vectors(); ++vector) {
      Value* left = builder_.CreateSub(
          argument(columns_argument),
          builder_.getInt64(static_cast<std::uint64_t>(vector * isa_.f32_lanes)));
      masks.push_back(
          builder_.CreateICmpSLT(lanes, codegen::broadcast(builder_, left, isa_.f32_lanes)));
    }
    return masks;
  }

  Builder builder_;
  llvm::Function* function_;
  const rkernel::Problem& problem_;
  const codegen::Isa& isa_;
  const Tile& tile_;
  bool strips_, sums_in_scratch_, masks_;
  Factors factors_;
  codegen::Operands operands_;
  codegen::ExprCompiler compiler_;
  ContractionEpilogue epilogue_;
};

}  // namespace

codegen::KernelSource full_tiles_source(const rkernel::Problem& problem, const codegen::Isa& isa,
                                        const codegen::SlotTable& slots,
                                        const ContractionClass& shape_class, const Tile& tile) {
  const auto emit = [&problem, &isa, &slots, &shape_class, tile](llvm::Module& module,
                                                                 const std::string& symbol) {
    llvm::Function* function = create(module, symbol, batch_axes(problem).size());
    FullTilesEmitter(function, problem, isa, slots, shape_class, tile,
                     masks_columns(isa, tile.columns == isa.f32_lanes))
        .emit();
  };
  return {fmt::format(
              "contraction tiles {}x{}{}{} {} {}", tile.rows, tile.columns,
              shape_class.strips ? " strips" : "", shape_class.sums_in_scratch ? " scratch" : "",
              codegen::class_letters(shape_class.lanes), codegen::structure_key(problem, slots)),
          emit};
}

void call_full_tiles(Builder& builder, Value* function, Value* kernel_args, const FullTiles& run,
                     std::span<Value* const> batch) {
  std::vector<Value*> arguments{
      kernel_args,      run.a,      run.a_row_stride,   run.b,           run.b_k_stride,
      run.panel_stride, run.k,      run.ahead.distance, run.ahead_share, run.ahead.step,
      run.first_row,    run.tiles,  run.first_column,   run.columns,     run.offsets,
      run.segments,     run.scratch};
  arguments.insert(arguments.end(), batch.begin(), batch.end());
  builder.CreateCall(full_tiles_type(builder, batch.size()), function, arguments);
}

}  // namespace dyn::cpu
