#include "targets/ptx/contraction_emitter.hpp"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include <map>
#include <optional>

#include "dyn/error.hpp"
#include "targets/llvm/loops.hpp"
#include "targets/llvm/structure_key.hpp"
#include "targets/ptx/contraction_epilogue.hpp"
#include "targets/ptx/contraction_moves.hpp"
#include "targets/ptx/contraction_pipeline.hpp"
#include "targets/ptx/contraction_raster.hpp"
#include "targets/ptx/contraction_tree.hpp"
#include "targets/ptx/device_module.hpp"
#include "targets/ptx/device_ops.hpp"

namespace dyn::ptx {
namespace {

using codegen::Builder;
using codegen::CountedLoop;
using Values = std::vector<llvm::Value*>;

/// Every lane of a warp.
constexpr int all_lanes = -1;

class ContractionEmitter final : public rkernel::Emitter {
 public:
  ContractionEmitter(llvm::Module& module, const std::string& symbol, const rkernel::RKernel& kernel, const codegen::SlotTable& slots,
                     const GridSlots& grid, const GpuContractionClass& shape_class)
      : builder_(module.getContext()),
        kernel_(kernel),
        problem_(*kernel.problem),
        contraction_(*problem_.contraction),
        slots_(slots),
        grid_(grid),
        tile_(tile_of(kernel)),
        leaf_(make_leaf(kernel, tile_, shape_class.b_order)),
        b_rows_are_k_(shape_class.b_order == BOrder::RowsAlongN),
        a_copy_(copy_of(contraction_.a, leaf_->a_tile(), shape_class.a)),
        b_copy_(copy_of(contraction_.b, leaf_->b_tile(), shape_class.b)),
        pipeline_(make_pipeline()) {
    if (leaf_->a_tile().bytes() != tile_.a_stage_bytes() || leaf_->b_tile().bytes() != tile_.b_stage_bytes()) {
      throw Error(ErrorKind::internal, "the leaf's tiles are not those of " + tile_.to_string());
    }
    function_ = create_kernel(builder_, module, symbol, tile_.threads(), tile_.shared_bytes());
    args_ = {function_->getArg(0), function_->getArg(1), function_->getArg(2)};
    operands_.emplace(builder_, problem_, slots_, shape_class.lanes, args_, 1);
    compiler_.emplace(builder_, problem_, *operands_, codegen::MathOptions{.fma = true});
  }

  void emit() {
    thread_ = call(builder_, Op::Thread);
    shared_ = call(builder_, Op::Shared);
    stages_ = builder_.CreateConstInBoundsGEP1_32(builder_.getInt8Ty(), shared_, pipeline_bytes);
    leaf_->prepare(builder_);
    prepare_operands();
    pipeline_->prepare(builder_, shared_, thread_);
    llvm::Value* block = builder_.CreateZExt(call(builder_, Op::Block), builder_.getInt64Ty());
    llvm::Value* blocks = builder_.CreateZExt(call(builder_, Op::Blocks), builder_.getInt64Ty());
    const Cursor first = pipeline_->first(builder_);
    CountedLoop tickets(builder_, block, slot(grid_.tickets), blocks, "ticket", Values{first.stage, first.parity});
    cursor_ = {tickets.carried(0), tickets.carried(1)};
    block_index_ = locate_ticket(builder_, kernel_, grid_sizes(), tickets.index());
    rkernel::walk(kernel_, *this);
    tickets.close(Values{cursor_.stage, cursor_.parity});
    builder_.CreateRetVoid();
  }

  // The ticket is one iteration of all loops of the grid; warps and lanes are the leaf's, which knows the thread's place in them.
  void open(int layer, const rkernel::Loop& loop) override {
    if (layer == grid_layer) open_block(loop.axis);
    if (layer == shared_layer) open_step();
  }

  void close(int layer, const rkernel::Loop&) override {
    if (layer != shared_layer) return;
    close_step();
    Epilogue(builder_, problem_, tile_, *operands_, *compiler_).emit(*leaf_, accumulators_, stages_, thread_, window_);
  }

  void run_ahead(int, std::span<const rkernel::Move> moves) override {
    locate_operands();
    CountedLoop ahead(builder_, number(0), number(tile_.stages - 1), number(1), "ahead", Values{cursor_.stage, cursor_.parity});
    const Cursor cursor{ahead.carried(0), ahead.carried(1)};
    begin_write(cursor, builder_.CreateZExt(ahead.index(), builder_.getInt64Ty()));
    for (const rkernel::Move& move : moves) issue(move);
    pipeline_->end_write(builder_);
    const Cursor next = pipeline_->next(builder_, cursor);
    ahead.close(Values{next.stage, next.parity});
  }

  void move(int, const rkernel::Move& move) override { issue(move); }

  void leaf(const rkernel::Layer&) override {
    pipeline_->end_write(builder_);
    // What follows is done by all lanes of a warp together, who have waited and copied each by itself.
    if (tile_.engine == rkernel::Engine::TensorCores) call(builder_, Op::WarpSync, {number(all_lanes)});
    llvm::Value* stage = stage_at(step_cursor_);
    accumulators_ = leaf_->multiply(builder_, stage, at_byte(stage, number(tile_.a_stage_bytes())), accumulators_);
    pipeline_->end_read(builder_, step_cursor_);
  }

 private:
  /// An operand of the contraction: element (i, k), i along m or n, of the ticket's batch and block.
  struct Matrix {
    llvm::Value *base = nullptr, *stride_i = nullptr, *stride_k = nullptr;  ///< base: of batch 0
    llvm::Value* origin = nullptr;                                          ///< the ticket's (i0, 0)
  };

  static std::unique_ptr<Leaf> make_leaf(const rkernel::RKernel& kernel, const rkernel::GpuTile& tile, BOrder b_order) {
    if (tile.engine == rkernel::Engine::TensorCores) return make_tensor_core_leaf(kernel, tile.operands, b_order);
    if (b_order != BOrder::RowsAlongN) throw Error(ErrorKind::internal, "CUDA cores read rows of B along n");
    return make_cuda_core_leaf(kernel);
  }

  TileCopy copy_of(int operand, const SharedTile& tile, Copy copy) const {
    const rkernel::Operand& source = problem_.operands[static_cast<std::size_t>(operand)];
    if (!source.guards.empty() || source.gathers || source.form == rkernel::Form::Packed) {
      throw Error(ErrorKind::internal, "operand " + source.name + " of the contraction " + problem_.name + " is no plain matrix");
    }
    for (const rkernel::Move& move : kernel_.layers[shared_layer].moves) {
      if (move.operand == operand && (move.form == rkernel::MoveForm::Swizzled) == tile.swizzled) {
        return TileCopy(tile, move.dtype, source.dtype, copy, tile_.threads());
      }
    }
    throw Error(ErrorKind::internal, "the tree of " + problem_.name + " moves " + source.name + " in another form than its leaf reads");
  }

  std::unique_ptr<Pipeline> make_pipeline() const {
    if (tile_.engine == rkernel::Engine::CudaCores) return make_group_pipeline(tile_.stages);
    const bool asynchronous = a_copy_.asynchronous() || b_copy_.asynchronous();
    const bool synchronous = !a_copy_.asynchronous() || !b_copy_.asynchronous();
    return make_barrier_pipeline(tile_.stages, tile_.threads(), asynchronous, synchronous);
  }

  llvm::ConstantInt* number(int value) { return builder_.getInt32(static_cast<std::uint32_t>(value)); }
  llvm::ConstantInt* wide(std::int64_t value) { return builder_.getInt64(static_cast<std::uint64_t>(value)); }
  llvm::Value* slot(int index) { return index == codegen::SlotTable::none ? wide(0) : operands_->slot(index); }
  llvm::Value* extent(int axis) { return slot(slots_.extent(axis)); }
  llvm::Value* stride(int operand, int axis) { return slot(slots_.stride(operand, axis)); }
  llvm::Value* minimum(llvm::Value* a, llvm::Value* b) { return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b); }
  llvm::Value* at_byte(llvm::Value* base, llvm::Value* bytes) { return builder_.CreateGEP(builder_.getInt8Ty(), base, bytes); }
  llvm::Value* element(int operand, llvm::Value* base, llvm::Value* index) {
    const auto bytes = static_cast<std::int64_t>(size_of(problem_.operands[static_cast<std::size_t>(operand)].dtype));
    return at_byte(base, builder_.CreateMul(index, wide(bytes)));
  }
  /// How many of `size` from `first` on exist, as i32.
  llvm::Value* existing(llvm::Value* extent, llvm::Value* first, int size) {
    return builder_.CreateTrunc(minimum(builder_.CreateSub(extent, first), wide(size)), builder_.getInt32Ty());
  }
  llvm::Value* stage_at(const Cursor& cursor) {
    return at_byte(stages_, builder_.CreateMul(cursor.stage, number(tile_.a_stage_bytes() + tile_.b_stage_bytes())));
  }

  void prepare_operands() {
    extent_k_ = extent(contraction_.k);
    steps_ = builder_.CreateUDiv(builder_.CreateAdd(extent_k_, wide(tile_.block_k - 1)), wide(tile_.block_k));
    for (const int operand : {contraction_.a, contraction_.b}) {
      llvm::Type* pointer = args_.pointers->getType();
      llvm::Value* field = builder_.CreateConstInBoundsGEP1_64(pointer, args_.pointers, static_cast<std::uint64_t>(operand));
      const bool is_a = operand == contraction_.a;
      const bool vectors = (is_a ? a_copy_ : b_copy_).vectors(), k_contiguous = is_a || !b_rows_are_k_;
      Matrix& matrix = matrices_[operand];
      matrix.base = element(operand, builder_.CreateAlignedLoad(pointer, field, llvm::Align(8)), slot(slots_.offset(operand)));
      matrix.stride_i = vectors && !k_contiguous ? wide(1) : stride(operand, is_a ? contraction_.m : contraction_.n);
      matrix.stride_k = vectors && k_contiguous ? wide(1) : stride(operand, contraction_.k);
    }
    const Matrix &a = matrices_[contraction_.a], &b = matrices_[contraction_.b];
    a_copy_.prepare(builder_, thread_, a.stride_i, a.stride_k);
    b_copy_.prepare(builder_, thread_, b_rows_are_k_ ? b.stride_k : b.stride_i, b_rows_are_k_ ? b.stride_i : b.stride_k);
  }

  GridSizes grid_sizes() {
    GridSizes sizes{slot(grid_.m_blocks), slot(grid_.n_blocks), {}};
    for (const rkernel::Loop& loop : batch_loops()) sizes.batch[loop.axis] = extent(loop.axis);
    return sizes;
  }

  std::vector<rkernel::Loop> batch_loops() const {
    std::vector<rkernel::Loop> loops = kernel_.layers[grid_layer].loops;
    std::erase_if(loops, [&](const rkernel::Loop& loop) { return loop.axis == contraction_.m || loop.axis == contraction_.n; });
    return loops;
  }

  void open_block(int axis) {
    llvm::Value* index = block_index_.at(axis);
    if (axis == contraction_.m) {
      window_.m = builder_.CreateMul(index, wide(tile_.block_m));
      window_.rows = existing(extent(axis), window_.m, tile_.block_m);
    } else if (axis == contraction_.n) {
      window_.n = builder_.CreateMul(index, wide(tile_.block_n));
      window_.columns = existing(extent(axis), window_.n, tile_.block_n);
    } else {
      operands_->set_index(axis, index);
    }
  }

  void locate_operands() {
    for (auto& [operand, matrix] : matrices_) {
      llvm::Value* offset = wide(0);
      for (const rkernel::Loop& loop : batch_loops()) {
        offset = builder_.CreateAdd(offset, builder_.CreateMul(block_index_.at(loop.axis), stride(operand, loop.axis)));
      }
      offset = builder_.CreateAdd(offset, builder_.CreateMul(operand == contraction_.a ? window_.m : window_.n, matrix.stride_i));
      matrix.origin = element(operand, matrix.base, offset);
    }
  }

  void begin_write(const Cursor& cursor, llvm::Value* step) {
    pipeline_->begin_write(builder_, cursor, builder_.CreateICmpSLT(step, steps_));
    write_stage_ = stage_at(cursor);
    write_k_ = builder_.CreateMul(step, wide(tile_.block_k));
    write_depth_ = existing(extent_k_, write_k_, tile_.block_k);
  }

  void issue(const rkernel::Move& move) {
    const bool is_a = move.operand == contraction_.a;
    const Matrix& matrix = matrices_.at(move.operand);
    TileSource source;
    source.origin = element(move.operand, matrix.origin, builder_.CreateMul(write_k_, matrix.stride_k));
    llvm::Value* across = is_a ? window_.rows : window_.columns;
    const bool rows_along_k = !is_a && b_rows_are_k_;
    source.rows = rows_along_k ? write_depth_ : across;
    source.columns = rows_along_k ? across : write_depth_;
    if (is_a) a_copy_.issue(builder_, source, write_stage_);
    else b_copy_.issue(builder_, source, at_byte(write_stage_, number(tile_.a_stage_bytes())));
  }

  void open_step() {
    Values carried = leaf_->zeros(builder_);
    carried.push_back(cursor_.stage);
    carried.push_back(cursor_.parity);
    loop_.emplace(builder_, wide(0), steps_, wide(1), "step", carried);
    accumulators_.clear();
    for (std::size_t i = 0; i + 2 < carried.size(); ++i) accumulators_.push_back(loop_->carried(i));
    step_cursor_ = {loop_->carried(carried.size() - 2), loop_->carried(carried.size() - 1)};
    pipeline_->begin_read(builder_, step_cursor_);
    begin_write(pipeline_->last_ahead(builder_, step_cursor_), builder_.CreateAdd(loop_->index(), wide(tile_.stages - 1)));
  }

  void close_step() {
    Values next = accumulators_;
    const Cursor cursor = pipeline_->next(builder_, step_cursor_);
    next.push_back(cursor.stage);
    next.push_back(cursor.parity);
    accumulators_ = loop_->close(next);
    cursor_.parity = accumulators_.back();
    accumulators_.pop_back();
    cursor_.stage = accumulators_.back();
    accumulators_.pop_back();
  }

  Builder builder_;
  const rkernel::RKernel& kernel_;
  const rkernel::Problem& problem_;
  const rkernel::Contraction& contraction_;
  const codegen::SlotTable& slots_;
  const GridSlots& grid_;
  const rkernel::GpuTile tile_;
  const std::unique_ptr<Leaf> leaf_;
  const bool b_rows_are_k_;  ///< a row of the tile of B has one k
  TileCopy a_copy_, b_copy_;
  const std::unique_ptr<Pipeline> pipeline_;
  llvm::Function* function_ = nullptr;
  codegen::KernelArgsValues args_;
  std::optional<codegen::Operands> operands_;
  std::optional<codegen::ExprCompiler> compiler_;

  llvm::Value *thread_ = nullptr, *shared_ = nullptr, *stages_ = nullptr, *extent_k_ = nullptr, *steps_ = nullptr;
  std::map<int, llvm::Value*> block_index_;
  std::map<int, Matrix> matrices_;
  BlockWindow window_{};
  Cursor cursor_, step_cursor_;  ///< of the ticket's first step; of the step in the loop
  std::optional<CountedLoop> loop_;
  Values accumulators_;
  llvm::Value *write_stage_ = nullptr, *write_k_ = nullptr, *write_depth_ = nullptr;
};

}  // namespace

GridSlots add_grid_slots(codegen::SlotTable& slots) {
  GridSlots grid{};
  for (int* slot : {&grid.m_blocks, &grid.n_blocks, &grid.tickets}) *slot = slots.add_strategy_slot();
  return grid;
}

std::string to_string(const GpuContractionClass& shape_class) {
  const auto letter = [](Copy copy) { return copy == Copy::Vectors ? 'v' : 'e'; };
  return shape_class.tile.to_string() + ", copies " + letter(shape_class.a) + letter(shape_class.b) +
         (shape_class.b_order == BOrder::RowsAlongN ? ", B along n" : ", B along k") + ", lanes " + codegen::class_letters(shape_class.lanes);
}

void emit_gpu_contraction(llvm::Module& module, const std::string& symbol, const rkernel::RKernel& kernel, const codegen::SlotTable& slots,
                          const GridSlots& grid, const GpuContractionClass& shape_class) {
  rkernel::legalise(kernel, architecture_limits());
  ContractionEmitter(module, symbol, kernel, slots, grid, shape_class).emit();
}

}  // namespace dyn::ptx
