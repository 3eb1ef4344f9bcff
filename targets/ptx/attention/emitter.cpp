#include "targets/ptx/attention/emitter.hpp"

#include <llvm/IR/Module.h>

#include <map>
#include <optional>

#include "dyn/error.hpp"
#include "targets/llvm/code/loops.hpp"
#include "targets/llvm/problem/expr_compiler.hpp"
#include "targets/llvm/problem/structure_key.hpp"
#include "targets/ptx/attention/outputs.hpp"
#include "targets/ptx/attention/scores.hpp"
#include "targets/ptx/attention/tree.hpp"
#include "targets/ptx/contraction/pipeline.hpp"
#include "targets/ptx/copies/launch_values.hpp"
#include "targets/ptx/copies/moves.hpp"
#include "targets/ptx/ir/device_math.hpp"
#include "targets/ptx/ir/device_module.hpp"
#include "targets/ptx/ir/device_ops.hpp"
#include "targets/ptx/ir/words.hpp"
#include "targets/ptx/tile/tree.hpp"

namespace dyn::ptx {
namespace {

using codegen::Builder;
using codegen::CountedLoop;
using Values = std::vector<llvm::Value*>;

constexpr int whole_warp_lanes = -1;

/// Queries, keys or values: how their tile is copied, and where it lies.
struct AttentionMatrix {
  int operand = 0, row_axis = 0, column_axis = 0;
  TileCopy copy;
  llvm::Value* base = nullptr;      ///< its first element in the first element of the batch
  llvm::Value* position = nullptr;  ///< of the tile that is to be copied next
};

class AttentionEmitter final : public rkernel::Emitter {
 public:
  AttentionEmitter(Builder& builder, llvm::Function& function, const rkernel::RKernel& kernel,
                   const codegen::SlotTable& slots, const GpuAttentionSlots& grid,
                   const GpuAttentionClass& shape_class)
      : builder_(builder),
        kernel_(kernel),
        problem_(*kernel.problem),
        attention_(*problem_.attention),
        slots_(slots),
        grid_(grid),
        tile_(attention_tile_of(kernel, shape_class.tile.depth)),
        args_{function.getArg(0), function.getArg(1), function.getArg(2)},
        products_(make_attention_products(tile_)),
        q_{attention_.q, attention_.m, attention_.d,
           copy_of(attention_.q, products_->query_tile(), shape_class.q, DepthAlong::Columns)},
        k_{attention_.k, attention_.keys, attention_.d,
           copy_of(attention_.k, products_->key_tile(), shape_class.k, DepthAlong::Rows)},
        v_{attention_.v, attention_.keys, attention_.n,
           copy_of(attention_.v, products_->value_tile(), shape_class.v, DepthAlong::Rows)},
        pipeline_(make_group_pipeline(tile_.stages)),
        operands_(builder_, problem_, slots_, shape_class.lanes, args_, 1),
        values_(builder_, problem_, slots_, args_, operands_),
        compiler_(builder_, problem_, operands_, device_math),
        softmax_(builder_, *products_),
        query_rows_(builder_, values_, slots_, attention_.m, attention_heads_of(kernel),
                    grid.heads),
        mask_(builder_, problem_, slots_, operands_, *products_, query_rows_),
        shares_rows_(shape_class.shares_rows) {
    check_bytes(products_->query_tile(), tile_.query_bytes());
    check_bytes(products_->key_tile(), tile_.key_bytes());
    check_bytes(products_->value_tile(), tile_.value_bytes());
  }

  void emit() {
    thread_ = call(builder_, Op::Thread);
    shared_ = call(builder_, Op::Shared);
    stages_ = at_byte(builder_, shared_, int32(tile_.query_bytes()));
    products_->prepare(builder_, thread_,
                       at_byte(builder_, stages_, int32(tile_.stages * stage_bytes())));
    scale_ = builder_.CreateBitCast(narrow(values_.slot(grid_.scale)), builder_.getFloatTy());
    for (AttentionMatrix* matrix : {&k_, &v_}) prepare_matrix(*matrix);
    llvm::Value* block = builder_.CreateZExt(call(builder_, Op::Block), builder_.getInt64Ty());
    llvm::Value* blocks = builder_.CreateZExt(call(builder_, Op::Blocks), builder_.getInt64Ty());
    CountedLoop tickets(builder_, block, values_.slot(grid_.tickets), blocks, "ticket");
    if (shares_rows_) {
      emit_part(tickets.index());
    } else {
      locate(tickets.index());
      rkernel::walk(kernel_, *this);
    }
    tickets.close();
  }

  // The ticket is one iteration of all loops of the grid; the products handle warps and lanes, as
  // they know the thread's place in them.
  void open(int layer, const rkernel::Loop& loop) override {
    if (layer == attention_grid) open_block(loop.axis);
    if (layer == attention_shared) open_step();
  }

  void close(int layer, const rkernel::Loop&) override {
    if (layer == attention_shared) close_step();
  }

  // Queries are part of the first group of copies.
  void run_ahead(int, std::span<const rkernel::Move> moves) override {
    CountedLoop ahead(builder_, int32(0), int32(tile_.stages - 1), int32(1), "ahead",
                      Values{k_.position, v_.position});
    k_.position = ahead.carried(0);
    v_.position = ahead.carried(1);
    begin_write({ahead.index(), int32(0)},
                shares_rows_ ? builder_.CreateAdd(ahead.index(), first_step_) : ahead.index());
    for (const rkernel::Move& move : moves) issue(move);
    pipeline_->end_write(builder_);
    const Values after = ahead.close(Values{next_position(k_), next_position(v_)});
    k_.position = after[0];
    v_.position = after[1];
  }

  void move(int layer, const rkernel::Move& move) override {
    if (layer == attention_grid) {
      begin_ticket();
      q_.copy.issue(builder_, {q_.position}, int32(0), shared_);
      return;
    }
    issue(move);
  }

  void leaf(const rkernel::Layer&) override {
    pipeline_->end_write(builder_);
    // All lanes of a warp execute the following together; before, each has copied by itself.
    call(builder_, Op::WarpSync, {int32(whole_warp_lanes)});
    llvm::Value* stage = stage_at(cursor_);
    const Values scores =
        mask_.apply(products_->scores(builder_, shared_, stage), scale_, first_key());
    const Values shares = softmax_.step(scores, state_);
    state_.accumulators = products_->add_values(
        builder_, shares, at_byte(builder_, stage, int32(tile_.key_bytes())), state_.accumulators);
    pipeline_->end_read(builder_, cursor_);
  }

 private:
  TileCopy copy_of(int operand, const SharedTile& tile, Copy copy, DepthAlong depth_along) const {
    const DType source = problem_.operands[static_cast<std::size_t>(operand)].dtype;
    return {tile, PieceCopies(tile_.operands, source, copy), tile_.threads(), depth_along};
  }

  void check_bytes(const SharedTile& tile, int bytes) const {
    if (tile.bytes() != bytes)
      throw Error(ErrorKind::internal,
                  "the tiles of the products are not those of " + tile_.to_string());
  }

  llvm::ConstantInt* int32(int value) const { return number(builder_, value); }
  llvm::Value* narrow(llvm::Value* value) {
    return builder_.CreateTrunc(value, builder_.getInt32Ty());
  }
  int stage_bytes() const { return tile_.key_bytes() + tile_.value_bytes(); }
  llvm::Value* stage_at(const Cursor& cursor) {
    return at_byte(builder_, stages_, builder_.CreateMul(cursor.stage, int32(stage_bytes())));
  }
  void prepare_matrix(AttentionMatrix& matrix) {
    matrix.base = values_.base(matrix.operand);
    llvm::Value* columns = matrix.copy.in_chunks()
                               ? static_cast<llvm::Value*>(values_.wide(1))
                               : values_.stride(matrix.operand, matrix.column_axis);
    if (matrix.operand != attention_.q) {
      matrix.copy.prepare(builder_, thread_, values_.stride(matrix.operand, matrix.row_axis),
                          columns, values_.extent(attention_.keys));
    } else if (query_rows_.has_heads()) {
      const auto distance = [this](llvm::Value* row) {
        return query_rows_.distance(attention_.q, query_rows_.at(row));
      };
      matrix.copy.prepare(builder_, thread_, distance, columns, values_.extent(attention_.d));
    } else {
      matrix.copy.prepare(builder_, thread_, values_.stride(attention_.q, attention_.m), columns,
                          values_.extent(attention_.d));
    }
  }

  /// Parts of one tile of rows come one after another; those that see no key do nothing. Numbers
  /// are loaded where they are used, so that few stay in registers while keys go by.
  void emit_part(llvm::Value* ticket) {
    llvm::Value* parts = builder_.CreateZExt(values_.loaded(grid_.parts), builder_.getInt64Ty());
    llvm::Value* tile = builder_.CreateUDiv(ticket, parts);
    locate(tile);
    llvm::Value* index = narrow(builder_.CreateSub(ticket, builder_.CreateMul(tile, parts)));
    llvm::Value* span = values_.loaded(grid_.span);
    llvm::Value* steps = larger(builder_, steps_, int32(1));
    ticket_ = ticket;
    first_step_ = builder_.CreateMul(index, span);
    steps_ = smaller(builder_, steps_, builder_.CreateAdd(first_step_, span));
    codegen::Conditional seeing(builder_, builder_.CreateICmpSLT(first_step_, steps),
                                "part_of_keys");
    rkernel::walk(kernel_, *this);
    seeing.close();
  }

  /// The ticket's part, from numbers that are loaded again.
  KeyPart key_part() {
    llvm::Value *parts = values_.loaded(grid_.parts), *span = values_.loaded(grid_.span);
    const TicketRows rows = rows_with(values_.loaded_wide(slots_.extent(attention_.m)),
                                      values_.loaded_wide(slots_.extent(attention_.keys)));
    llvm::Value* steps = larger(builder_, steps_of(rows), int32(1));
    KeyPart part;
    part.place = narrow(ticket_);
    part.tile = builder_.CreateUDiv(part.place, parts);
    part.first = builder_.CreateMul(part.tile, parts);
    part.count =
        builder_.CreateUDiv(builder_.CreateAdd(steps, builder_.CreateSub(span, int32(1))), span);
    return part;
  }

  TicketRows rows_with(llvm::Value* queries, llvm::Value* keys) {
    return ticket_rows(builder_, attention_.causal, query_rows_, outputs_.rows, queries, keys);
  }
  llvm::Value* steps_of(const TicketRows& rows) {
    llvm::Value* seen = builder_.CreateAdd(rows.seen_by_any, values_.wide(tile_.block_keys() - 1));
    return narrow(builder_.CreateUDiv(seen, values_.wide(tile_.block_keys())));
  }

  /// Batch axes outermost, then columns; rows of one element of the batch come one after another,
  /// last ones first: under a causal mask they see most.
  void locate(llvm::Value* tile) {
    index_.clear();
    llvm::Value* m_blocks = values_.slot(grid_.m_blocks);
    llvm::Value* rows = builder_.CreateURem(tile, m_blocks);
    index_[attention_.m] = builder_.CreateSub(builder_.CreateSub(m_blocks, values_.wide(1)), rows);
    llvm::Value* rest = builder_.CreateUDiv(tile, m_blocks);
    llvm::Value* n_blocks = values_.slot(grid_.n_blocks);
    index_[attention_.n] = builder_.CreateURem(rest, n_blocks);
    rest = builder_.CreateUDiv(rest, n_blocks);
    for (int axis = attention_.m - 1; axis >= 0; --axis) {
      if (axis == query_rows_.heads_axis()) continue;
      index_[axis] = axis == 0 ? rest : builder_.CreateURem(rest, values_.extent(axis));
      if (axis > 0) rest = builder_.CreateUDiv(rest, values_.extent(axis));
    }
    outputs_.m = builder_.CreateMul(index_[attention_.m], values_.wide(tile_.block_m));
    outputs_.rows = values_.existing(query_rows_.extent(), outputs_.m, tile_.block_m);
    query_rows_.enter(outputs_.m);
    outputs_.n = builder_.CreateMul(index_[attention_.n], values_.wide(tile_.width));
    outputs_.columns = values_.existing(values_.extent(attention_.n), outputs_.n, tile_.width);
    rows_ = rows_with(values_.extent(attention_.m), values_.extent(attention_.keys));
    steps_ = steps_of(rows_);
  }

  void open_block(int axis) {
    if (axis < attention_.m) operands_.set_index(axis, index_.at(axis));
  }

  llvm::Value* in_batch(int operand, llvm::Value* base) {
    llvm::Value* offset = values_.wide(0);
    for (int axis = 0; axis < attention_.m; ++axis) {
      if (axis == query_rows_.heads_axis()) continue;
      offset = builder_.CreateAdd(
          offset, builder_.CreateMul(index_.at(axis), values_.stride(operand, axis)));
    }
    return values_.element(operand, base, offset);
  }

  void begin_ticket() {
    llvm::Value* depth = narrow(values_.extent(attention_.d));
    // Only here: nothing of the queries stays in registers while keys go by.
    prepare_matrix(q_);
    // With heads the copy finds each row's place, from the first element of the batch's on.
    enter(q_,
          query_rows_.has_heads()
              ? values_.wide(0)
              : builder_.CreateMul(outputs_.m, values_.stride(attention_.q, attention_.m)),
          outputs_.rows, nullptr);
    llvm::Value* first = shares_rows_ ? first_step_ : nullptr;
    enter(k_, values_.wide(0), depth, first);
    enter(v_, builder_.CreateMul(outputs_.n, values_.stride(attention_.v, attention_.n)),
          outputs_.columns, first);
    llvm::Value* mask =
        attention_.mask < 0 ? nullptr : in_batch(attention_.mask, values_.base(attention_.mask));
    mask_.enter(rows_, mask);
  }

  void enter(AttentionMatrix& matrix, llvm::Value* offset, llvm::Value* across, llvm::Value* step) {
    llvm::Value* origin =
        values_.element(matrix.operand, in_batch(matrix.operand, matrix.base), offset);
    matrix.position = matrix.copy.enter(builder_, {origin, across, nullptr, nullptr, step}).front();
  }

  llvm::Value* next_position(const AttentionMatrix& matrix) {
    return matrix.copy.next(builder_, {matrix.position}).front();
  }

  void begin_write(const Cursor& cursor, llvm::Value* step) {
    pipeline_->begin_write(builder_, cursor, builder_.CreateICmpSLT(step, steps_));
    write_step_ = step;
    write_stage_ = stage_at(cursor);
  }

  void issue(const rkernel::Move& move) {
    const bool keys = move.operand == attention_.k;
    const AttentionMatrix& matrix = keys ? k_ : v_;
    matrix.copy.issue(
        builder_, {matrix.position}, write_step_,
        keys ? write_stage_ : at_byte(builder_, write_stage_, int32(tile_.key_bytes())));
  }

  llvm::Value* first_key() {
    return builder_.CreateMul(builder_.CreateZExt(loop_->index(), builder_.getInt64Ty()),
                              values_.wide(tile_.block_keys()));
  }

  // Carried: the state of the rows, the stage, and both positions.
  void open_step() {
    Values carried = flat(softmax_.begin());
    carried.insert(carried.end(), {int32(0), k_.position, v_.position});
    loop_.emplace(builder_, shares_rows_ ? first_step_ : int32(0), steps_, int32(1), "step",
                  carried);
    Values inside;
    for (std::size_t i = 0; i < carried.size(); ++i) inside.push_back(loop_->carried(i));
    take(inside);
    cursor_ = {inside[inside.size() - 3], int32(0)};
    pipeline_->begin_read(builder_, cursor_);
    begin_write(pipeline_->last_ahead(builder_, cursor_),
                builder_.CreateAdd(loop_->index(), int32(tile_.stages - 1)));
  }

  void close_step() {
    Values next = flat(state_);
    next.insert(next.end(),
                {pipeline_->next(builder_, cursor_).stage, next_position(k_), next_position(v_)});
    take(loop_->close(next));
    // Without any step the queries are still on their way.
    call(builder_, Op::CopyWait, {int32(0)});
    call(builder_, Op::WarpSync, {int32(whole_warp_lanes)});
    Epilogue epilogue(builder_, problem_,
                      {.m = attention_.m,
                       .n = attention_.n,
                       .rows = tile_.block_m,
                       .columns = tile_.width,
                       .row_floats = tile_.output_row_floats(),
                       .threads = tile_.threads(),
                       .counted = counted_rows()},
                      {operands_, compiler_});
    AttentionOutputs outputs(builder_, *products_, softmax_, epilogue);
    if (shares_rows_) {
      outputs.emit_shared(state_, shared_, thread_, outputs_, key_part(), [&] {
        return PartMemory(builder_, load_part_memory(builder_, args_, problem_.operands.size()),
                          shared_, thread_);
      });
    } else {
      outputs.emit(state_, shared_, thread_, outputs_);
    }
  }

  OutputRows counted_rows() const {
    if (!query_rows_.has_heads()) return {};
    const int m = attention_.m, heads = query_rows_.heads_axis();
    return {codegen::axis_bit(m) | codegen::axis_bit(heads),
            [this, m, heads](codegen::Operands& operands, llvm::Value* row) {
              const QueryRows::Index index = query_rows_.at(row);
              operands.set_index(m, index.query);
              operands.set_index(heads, index.head);
            }};
  }

  static Values flat(const RowState& state) {
    Values values = state.maxima;
    values.insert(values.end(), state.sums.begin(), state.sums.end());
    values.insert(values.end(), state.accumulators.begin(), state.accumulators.end());
    return values;
  }

  /// The inverse of flat(), and the positions behind it.
  void take(const Values& values) {
    const auto rows = static_cast<std::ptrdiff_t>(products_->places().rows());
    const auto sums = static_cast<std::ptrdiff_t>(products_->places().accumulators());
    const auto first = values.begin();
    state_ = {Values(first, first + rows), Values(first + rows, first + 2 * rows),
              Values(first + 2 * rows, first + 2 * rows + sums)};
    k_.position = values[values.size() - 2];
    v_.position = values[values.size() - 1];
  }

  Builder& builder_;
  const rkernel::RKernel& kernel_;
  const rkernel::Problem& problem_;
  const rkernel::Attention& attention_;
  const codegen::SlotTable& slots_;
  const GpuAttentionSlots grid_;
  const choice::GpuAttentionTile tile_;
  const codegen::KernelArgsValues args_;
  const std::unique_ptr<AttentionProducts> products_;
  AttentionMatrix q_, k_, v_;
  const std::unique_ptr<Pipeline> pipeline_;
  codegen::Operands operands_;
  const LaunchValues values_;
  codegen::ExprCompiler compiler_;
  OnlineSoftmax softmax_;
  QueryRows query_rows_;
  ScoreMask mask_;

  llvm::Value *thread_ = nullptr, *shared_ = nullptr, *stages_ = nullptr, *scale_ = nullptr;
  std::map<int, llvm::Value*> index_;  ///< of the ticket: batch indices, blocks of m and n
  BlockOutputs outputs_{};
  TicketRows rows_;
  llvm::Value* steps_ = nullptr;  ///< the end of the ticket's tiles of keys, i32
  const bool shares_rows_;
  /// Where blocks share rows: the ticket, i64, and the first tile of keys of its part, i32.
  llvm::Value *ticket_ = nullptr, *first_step_ = nullptr;
  RowState state_;
  Cursor cursor_;
  std::optional<CountedLoop> loop_;
  llvm::Value *write_stage_ = nullptr, *write_step_ = nullptr;
};

}  // namespace

GpuAttentionSlots add_gpu_attention_slots(codegen::SlotTable& slots, bool shares_rows, int heads) {
  GpuAttentionSlots made{};
  for (int* slot : {&made.m_blocks, &made.n_blocks, &made.tickets, &made.scale})
    *slot = slots.add_strategy_slot();
  made.heads = add_head_slots(slots, heads);
  if (!shares_rows) return made;
  for (int* slot : {&made.parts, &made.span}) *slot = slots.add_strategy_slot();
  return made;
}

std::string to_string(const GpuAttentionClass& shape_class) {
  return shape_class.tile.to_string() + ", copies " + letter_of(shape_class.q) +
         letter_of(shape_class.k) + letter_of(shape_class.v) + ", lanes " +
         codegen::class_letters(shape_class.lanes) +
         (shape_class.shares_rows ? ", rows shared" : "") +
         (shape_class.heads < 0 ? "" : ", heads of axis " + std::to_string(shape_class.heads));
}

void emit_gpu_attention(llvm::Module& module, const std::string& symbol,
                        const rkernel::RKernel& kernel, const codegen::SlotTable& slots,
                        const GpuAttentionSlots& grid, const GpuAttentionClass& shape_class) {
  rkernel::legalise(kernel, architecture_limits());
  Builder builder(module.getContext());
  llvm::Function* function =
      create_kernel(builder, module, symbol, shape_class.tile.threads(),
                    shape_class.tile.shared_bytes(), shape_class.tile.resident());
  AttentionEmitter(builder, *function, kernel, slots, grid, shape_class).emit();
  builder.CreateRetVoid();
}

}  // namespace dyn::ptx
