#include "targets/ptx/contraction/region.hpp"

#include <map>
#include <optional>
#include <utility>

#include "dyn/error.hpp"
#include "targets/llvm/code/loops.hpp"
#include "targets/ptx/contraction/epilogue.hpp"
#include "targets/ptx/contraction/factor_bands.hpp"
#include "targets/ptx/contraction/fix_up.hpp"
#include "targets/ptx/contraction/pipeline.hpp"
#include "targets/ptx/contraction/raster.hpp"
#include "targets/ptx/contraction/work_order.hpp"
#include "targets/ptx/copies/launch_values.hpp"
#include "targets/ptx/ir/device_math.hpp"
#include "targets/ptx/ir/device_ops.hpp"
#include "targets/ptx/ir/words.hpp"
#include "targets/ptx/tile/tree.hpp"

namespace dyn::ptx {
namespace {

using codegen::Builder;
using codegen::CountedLoop;
using Values = std::vector<llvm::Value*>;

/// Every lane of a warp.
constexpr int all_lanes = -1;

class RegionEmitter final : public rkernel::Emitter {
 public:
  RegionEmitter(KernelFrame& frame, const RegionTree& region,
                const GpuContractionClass& shape_class, const GridSlots* before)
      : builder_(frame.builder),
        frame_(frame),
        kernel_(region.kernel),
        problem_(*kernel_.problem),
        contraction_(*problem_.contraction),
        slots_(frame.slots),
        grid_(region.grid),
        tile_(tile_of(kernel_)),
        leaf_(make_leaf(kernel_, tile_, shape_class.b_order)),
        bands_(frame, kernel_, tile_, *leaf_, shape_class),
        pipeline_(make_pipeline()),
        operands_(builder_, problem_, slots_, shape_class.lanes, frame.args, 1),
        values_(builder_, problem_, slots_, frame.args, operands_),
        compiler_(builder_, problem_, operands_, device_math),
        vector_operands_(builder_, problem_, slots_, shape_class.lanes, frame.args, output_lanes),
        vector_compiler_(builder_, problem_, vector_operands_, device_math),
        vector_outputs_(shape_class.outputs),
        split_(shape_class.split),
        order_(builder_, values_, grid_, before, split_) {
    if (leaf_->a_tile().bytes() != tile_.a_stage_bytes() ||
        leaf_->b_tile().bytes() != tile_.b_stage_bytes()) {
      throw Error(ErrorKind::internal, "the leaf's tiles are not those of " + tile_.to_string());
    }
    vector_operands_.set_aligned(true);
    vector_operands_.set_segmented(true);
  }

  void emit() {
    stages_ =
        builder_.CreateConstInBoundsGEP1_32(builder_.getInt8Ty(), frame_.shared, pipeline_bytes);
    leaf_->prepare(builder_);
    prepare_operands();
    pipeline_->prepare(builder_, take_barriers(), frame_.thread);
    order_.prepare(steps_);
    cursor_ = pipeline_->first(builder_);
    const Work first = order_.first();
    if (tile_.overlapped) fill_first(first);
    codegen::Conditional any(builder_, order_.exists(first), "any_ticket");
    codegen::RepeatedBody tickets(builder_, "ticket", carried_to(first));
    const Work work = take_ticket(tickets);
    emit_tile(work);
    const Work next = order_.after(work);
    if (tile_.overlapped) fill_next(next);
    if (split_)
      emit_shared_outputs(work);
    else
      emit_outputs();
    tickets.close(carried_to(next), order_.exists(next));
    any.close();
  }

  // The ticket is one iteration of all loops of the grid; the leaf handles warps and lanes, as it
  // knows the thread's place in them.
  void open(int layer, const rkernel::Loop& loop) override {
    if (layer == grid_layer) open_batch(loop.axis);
    if (layer == shared_layer) open_step();
  }

  void close(int layer, const rkernel::Loop&) override {
    if (layer == shared_layer) close_step();
  }

  void run_ahead(int layer, std::span<const rkernel::Move>) override {
    if (layer == shared_layer && !tile_.overlapped) fill(work_, place_);
  }

  void move(int layer, const rkernel::Move& move) override {
    if (layer == shared_layer) bands_.issue_at_once(move, write_step_, write_stage_);
  }

  void leaf(const rkernel::Layer&) override {
    if (bands_.keeps()) return multiply_while_loading();
    pipeline_->end_write(builder_);
    gather_warp();
    const StageTiles tiles = tiles_at(step_cursor_);
    if (!tile_.ahead) {
      accumulators_ = leaf_->multiply(builder_, tiles.a, tiles.b, accumulators_);
      pipeline_->end_read(builder_, step_cursor_);
      next_cursor_ = pipeline_->next(builder_, step_cursor_);
      return;
    }
    accumulators_ =
        leaf_->multiply_ahead(builder_, tiles.a, tiles.b, accumulators_, fragments_, [this] {
          pipeline_->end_read(builder_, step_cursor_);
          next_cursor_ = pipeline_->next(builder_, step_cursor_);
          return first_fragments(next_cursor_, builder_.CreateAdd(loop_->index(), number(1)));
        });
  }

 private:
  static std::unique_ptr<Leaf> make_leaf(const rkernel::RKernel& kernel,
                                         const choice::GpuTile& tile, BOrder b_order) {
    if (tile.engine == choice::Engine::TensorCores) return make_tensor_core_leaf(kernel, b_order);
    if (b_order != BOrder::RowsAlongN)
      throw Error(ErrorKind::internal, "CUDA cores read rows of B along n");
    return make_cuda_core_leaf(kernel);
  }

  std::unique_ptr<Pipeline> make_pipeline() const {
    if (tile_.engine == choice::Engine::CudaCores) return make_group_pipeline(tile_.stages);
    return make_barrier_pipeline(tile_.stages, tile_.threads(), bands_.asynchronous(),
                                 bands_.synchronous());
  }

  llvm::ConstantInt* number(int value) {
    return builder_.getInt32(static_cast<std::uint32_t>(value));
  }
  llvm::Value* at_byte(llvm::Value* base, llvm::Value* bytes) {
    return builder_.CreateGEP(builder_.getInt8Ty(), base, bytes);
  }
  llvm::Value* after(int begin, llvm::Value* distance) {
    return begin == codegen::SlotTable::none ? distance
                                             : builder_.CreateAdd(values_.slot(begin), distance);
  }
  llvm::Value* end(int end, int axis) {
    return end == codegen::SlotTable::none ? values_.extent(axis) : values_.slot(end);
  }
  llvm::Value* stage_at(const Cursor& cursor) {
    return at_byte(stages_, builder_.CreateMul(cursor.stage, number(tile_.a_stage_bytes() +
                                                                    tile_.b_stage_bytes())));
  }
  struct StageTiles {
    llvm::Value *a, *b;
  };
  StageTiles tiles_at(const Cursor& cursor) {
    llvm::Value* stage = stage_at(cursor);
    return {stage, at_byte(stage, number(tile_.a_stage_bytes()))};
  }

  /// What factors are computed from is on its way to registers meanwhile.
  void multiply_while_loading() {
    const Values loaded = pipeline_->pause_write(builder_, bands_.load_kept(write_step_));
    gather_warp();
    const StageTiles tiles = tiles_at(step_cursor_);
    accumulators_ = leaf_->multiply(builder_, tiles.a, tiles.b, accumulators_);
    pipeline_->end_read(builder_, step_cursor_);
    next_cursor_ = pipeline_->next(builder_, step_cursor_);
    pipeline_->resume_write(builder_);
    bands_.store_kept(loaded, write_step_, stage_at(write_cursor_));
    pipeline_->end_write(builder_);
  }

  /// All lanes of a warp of tensor cores execute what follows together; before, each has waited and
  /// copied by itself.
  void gather_warp() {
    if (tile_.engine == choice::Engine::TensorCores)
      call(builder_, Op::WarpSync, {number(all_lanes)});
  }

  /// The fragments that step `step`, at `cursor`, begins with, once it is there. Where there is no
  /// such step, those of the step before, which cost no instruction; before the first one, zeros.
  Values first_fragments(const Cursor& cursor, llvm::Value* step) {
    codegen::Conditional exists(builder_, builder_.CreateICmpSLT(step, end_step_),
                                "fragments_ahead");
    pipeline_->begin_read(builder_, cursor);
    gather_warp();
    const StageTiles tiles = tiles_at(cursor);
    const Values loaded = leaf_->first_fragments(builder_, tiles.a, tiles.b);
    if (!fragments_.empty()) return exists.close(loaded, fragments_);
    Values none;
    for (const llvm::Value* value : loaded)
      none.push_back(llvm::Constant::getNullValue(value->getType()));
    return exists.close(loaded, none);
  }

  /// The region has its own barriers: the parity of the phases of the region before is unknown.
  llvm::Value* take_barriers() {
    const int first = frame_.barriers_taken;
    frame_.barriers_taken += tile_.stages;
    return first == 0 ? frame_.shared
                      : builder_.CreateConstInBoundsGEP1_32(builder_.getInt8Ty(), frame_.shared,
                                                            barrier_offset(first, tile_.stages));
  }

  /// A tile of the output.
  struct TilePlace {
    std::map<int, llvm::Value*> index;  ///< along each axis of the grid
    BlockOutputs outputs{};
  };
  TilePlace place_of(const Work& work) {
    TilePlace place{locate_ticket(builder_, problem_, grid_.raster, slots_, frame_.args.ints,
                                  order_.tile(work))};
    BlockOutputs& outputs = place.outputs;
    const auto first = [&](int begin, int axis, int size) {
      return after(begin, builder_.CreateMul(place.index.at(axis), values_.wide(size)));
    };
    outputs.m = first(grid_.m_begin, contraction_.m, tile_.block_m);
    outputs.rows = values_.existing(end(grid_.m_end, contraction_.m), outputs.m, tile_.block_m);
    const int columns = tile_.output_columns();
    outputs.n = first(grid_.n_begin, contraction_.n, columns);
    outputs.columns = values_.existing(end(grid_.n_end, contraction_.n), outputs.n, columns);
    return place;
  }

  /// A ticket hands to the next the work, the ring's cursor, and where copies ahead of it stand.
  Values carried_to(const Work& work) {
    Values values = work.values();
    values.insert(values.end(), {cursor_.stage, cursor_.parity});
    if (!tile_.overlapped) return values;
    const Values bands = bands_.bands();
    values.insert(values.end(), bands.begin(), bands.end());
    return values;
  }
  Work take_ticket(const codegen::RepeatedBody& tickets) {
    const std::size_t of_work = Work::size(split_);
    Values values;
    for (std::size_t i = 0; i < tickets.count(); ++i) values.push_back(tickets.carried(i));
    cursor_ = {values[of_work], values[of_work + 1]};
    if (tile_.overlapped) bands_.set_bands(std::span(values).subspan(of_work + 2));
    return Work::from(values, split_);
  }

  /// Computes the tile of the work, or the part that it has.
  void emit_tile(const Work& work) {
    work_ = work;
    end_step_ = order_.end_step(work);
    place_ = place_of(work);
    rkernel::walk(kernel_, *this);
  }

  /// Issues the copies of the work's first stages - 1 steps, from the cursor on.
  void fill(const Work& work, const TilePlace& place) {
    llvm::Value* end = order_.end_step(work);
    bands_.enter(place.outputs, place.index, work.first_step);
    CountedLoop ahead(builder_, number(0), number(tile_.stages - 1), number(1), "ahead",
                      carried_with(cursor_, bands_.positions(), {}));
    const Cursor cursor = take_carried(ahead, 0);
    begin_write(cursor, split_ ? builder_.CreateAdd(ahead.index(), work.first_step) : ahead.index(),
                end);
    for (const rkernel::Move& move : kernel_.layers[shared_layer].moves)
      bands_.issue(move, write_step_, write_stage_);
    pipeline_->end_write(builder_);
    const Cursor next = pipeline_->next(builder_, cursor);
    const Values after = ahead.close(carried_with(next, bands_.next_positions(), {}));
    bands_.set_positions(std::span(after).subspan(2));
  }

  /// The block of code does not dominate the loop over tickets: what both compute would be kept in
  /// registers through it.
  void fill_first(const Work& first) {
    codegen::Conditional exists(builder_, order_.exists(first), "first_tile");
    fill(first, place_of(first));
    const Values bands = bands_.bands();
    Values none;
    for (const llvm::Value* value : bands)
      none.push_back(llvm::Constant::getNullValue(value->getType()));
    bands_.set_bands(exists.close(bands, none));
  }

  /// The ring's stages but the last one read are free for the next work, if there is any. Where
  /// there is none, the bands are those of this work, which nobody uses.
  void fill_next(const Work& next) {
    const Values before = bands_.bands();
    codegen::Conditional exists(builder_, order_.exists(next), "next_tile");
    // Other threads may still read the table of windows, which is written anew.
    if (tile_.window_entry_bytes > 0) call(builder_, Op::Barrier);
    fill(next, place_of(next));
    bands_.set_bands(exists.close(bands_.bands(), before));
  }

  /// Memory for a tile's outputs: that of all stages, or of the last one read.
  llvm::Value* outputs_memory() {
    return tile_.overlapped ? stage_at(pipeline_->last_ahead(builder_, cursor_)) : stages_;
  }

  // Tickets that have all of K of a tile store it, and so does the last of those that share one.
  void emit_shared_outputs(const Work& work) {
    llvm::Value* has_part = builder_.CreateOr(builder_.CreateICmpNE(work.first_step, number(0)),
                                              builder_.CreateICmpNE(end_step_, steps_));
    codegen::Conditional sharing(builder_, has_part, "share_tile");
    llvm::Value* span = values_.loaded(grid_.span);
    llvm::Value* begin = builder_.CreateMul(work.shared_tile, steps_);
    llvm::Value* first = builder_.CreateUDiv(begin, span);
    llvm::Value* last =
        builder_.CreateUDiv(builder_.CreateSub(builder_.CreateAdd(begin, steps_), number(1)), span);
    const TileParts parts{work.shared_tile, first,
                          builder_.CreateAdd(builder_.CreateSub(last, first), number(1))};
    const PartMemory memory(builder_,
                            load_part_memory(builder_, frame_.args, problem_.operands.size()),
                            outputs_memory(), frame_.thread);
    FixUp fix_up(builder_, memory, frame_.thread, tile_.threads());
    llvm::Value* is_last = fix_up.arrive(parts, order_.sharing_ticket(work), accumulators_);
    codegen::Conditional adding(builder_, is_last, "add_parts");
    Values inside = adding.close(fix_up.total(parts, leaf_->zeros(builder_)), accumulators_);
    inside.push_back(is_last);
    accumulators_.push_back(builder_.getTrue());
    accumulators_ = sharing.close(inside, accumulators_);
    llvm::Value* stores = accumulators_.back();
    accumulators_.pop_back();
    codegen::Conditional storing(builder_, stores, "store_tile");
    emit_outputs();
    storing.close();
  }

  void emit_outputs() {
    const OutputTile outputs{.m = contraction_.m,
                             .n = contraction_.n,
                             .rows = tile_.block_m,
                             .columns = tile_.output_columns(),
                             .sides = tile_.sides,
                             .row_floats = tile_.epilogue_row_floats(leaf_->side_by_side()),
                             .threads = tile_.threads(),
                             .integers = tile_.integers(),
                             .bands = tile_.output_bands(),
                             .warp_rows = tile_.warp_m};
    Epilogue epilogue(builder_, problem_, outputs, {operands_, compiler_});
    if (vector_outputs_ != VectorOutputs::Never) {
      const bool always = vector_outputs_ == VectorOutputs::Always;
      epilogue.set_vectors(
          {vector_operands_, vector_compiler_},
          always ? nullptr
                 : builder_.CreateICmpNE(values_.loaded(grid_.vector_outputs), number(0)));
    }
    epilogue.emit(*leaf_, accumulators_, outputs_memory(), frame_.thread, place_.outputs);
  }

  void prepare_operands() {
    llvm::Value* depth = values_.extent(contraction_.k);
    // There are fewer than 2^31 steps: more could not be copied in any realistic time.
    steps_ = builder_.CreateTrunc(
        builder_.CreateUDiv(builder_.CreateAdd(depth, values_.wide(tile_.block_k - 1)),
                            values_.wide(tile_.block_k)),
        builder_.getInt32Ty());
    bands_.prepare(values_);
  }

  void open_batch(int axis) {
    if (axis == contraction_.m || axis == contraction_.n) return;
    operands_.set_index(axis, place_.index.at(axis));
    vector_operands_.set_index(axis, place_.index.at(axis));
  }

  /// The cursor, and where both factors stand, among the values that a loop carries.
  static Values carried_with(const Cursor& cursor, const Values& positions, Values values) {
    values.insert(values.end(), {cursor.stage, cursor.parity});
    values.insert(values.end(), positions.begin(), positions.end());
    return values;
  }
  /// The cursor among a loop's values from `first` on; the positions after it become the current
  /// ones.
  Cursor take_carried(const CountedLoop& loop, std::size_t first) {
    Values values;
    for (std::size_t i = 0; i < 2 + bands_.positions().size(); ++i)
      values.push_back(loop.carried(first + i));
    bands_.set_positions(std::span(values).subspan(2));
    return {values[0], values[1]};
  }

  /// `end`: the step after the last one that is copied.
  void begin_write(const Cursor& cursor, llvm::Value* step, llvm::Value* end) {
    pipeline_->begin_write(builder_, cursor, builder_.CreateICmpSLT(step, end));
    write_step_ = step;
    write_cursor_ = cursor;
    write_stage_ = stage_at(cursor);
  }

  llvm::Value* begin_of_steps() { return split_ ? work_.first_step : number(0); }

  // Beside the accumulators, and fragments that are loaded ahead, a step carries the cursor and
  // both positions.
  void open_step() {
    Values carried = leaf_->zeros(builder_);
    const std::size_t sums = carried.size();
    fragments_.clear();
    if (tile_.ahead) fragments_ = first_fragments(cursor_, begin_of_steps());
    carried.insert(carried.end(), fragments_.begin(), fragments_.end());
    loop_.emplace(builder_, begin_of_steps(), end_step_, number(1), "step",
                  carried_with(cursor_, bands_.positions(), std::move(carried)));
    accumulators_.clear();
    for (std::size_t i = 0; i < sums; ++i) accumulators_.push_back(loop_->carried(i));
    for (std::size_t i = 0; i < fragments_.size(); ++i) fragments_[i] = loop_->carried(sums + i);
    step_cursor_ = take_carried(*loop_, sums + fragments_.size());
    if (!tile_.ahead) pipeline_->begin_read(builder_, step_cursor_);
    begin_write(pipeline_->last_ahead(builder_, step_cursor_),
                builder_.CreateAdd(loop_->index(), number(tile_.stages - 1)), end_step_);
  }

  void close_step() {
    const std::size_t sums = accumulators_.size();
    accumulators_.insert(accumulators_.end(), fragments_.begin(), fragments_.end());
    accumulators_ =
        loop_->close(carried_with(next_cursor_, bands_.next_positions(), accumulators_));
    const std::size_t after = sums + fragments_.size();
    cursor_ = {accumulators_[after], accumulators_[after + 1]};
    bands_.set_positions(std::span(accumulators_).subspan(after + 2));
    accumulators_.resize(sums);
  }

  Builder& builder_;
  KernelFrame& frame_;
  const rkernel::RKernel& kernel_;
  const rkernel::Problem& problem_;
  const rkernel::Contraction& contraction_;
  const codegen::SlotTable& slots_;
  const GridSlots grid_;
  const choice::GpuTile tile_;
  const std::unique_ptr<Leaf> leaf_;
  FactorBands bands_;
  const std::unique_ptr<Pipeline> pipeline_;
  codegen::Operands operands_;
  const LaunchValues values_;
  codegen::ExprCompiler compiler_;
  codegen::Operands vector_operands_;
  codegen::ExprCompiler vector_compiler_;
  const VectorOutputs vector_outputs_;

  const bool split_;
  WorkOrder order_;
  llvm::Value *stages_ = nullptr, *steps_ = nullptr;  ///< steps_: i32
  Work work_;
  llvm::Value* end_step_ = nullptr;  ///< of the work
  TilePlace place_;
  Cursor cursor_;                     ///< of the ticket's first step
  Cursor step_cursor_, next_cursor_;  ///< of the step in the loop, and of the one after it
  std::optional<CountedLoop> loop_;
  Values accumulators_;
  Values fragments_;  ///< loaded ahead; none: the tile loads none so
  llvm::Value *write_stage_ = nullptr, *write_step_ = nullptr;
  Cursor write_cursor_;
};

}  // namespace

void emit_region(KernelFrame& frame, const RegionTree& region,
                 const GpuContractionClass& shape_class, const GridSlots* before) {
  RegionEmitter(frame, region, shape_class, before).emit();
}

}  // namespace dyn::ptx
