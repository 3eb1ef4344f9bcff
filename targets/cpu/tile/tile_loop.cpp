#include "targets/cpu/tile/tile_loop.hpp"

#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <bit>

#include "src/base/bytes.hpp"
#include "src/choice/calibration/calibration.hpp"
#include "targets/cpu/tile/codes.hpp"
#include "targets/cpu/tile/group_instructions.hpp"
#include "targets/cpu/tile/widening.hpp"
#include "targets/llvm/code/loops.hpp"

namespace dyn::cpu {
namespace {

// Steps of K in one iteration: four hide the loop's overhead, eight lose to decoding
// (docs/calibration.md has the measurement).
constexpr int k_unroll = steps_of_ahead;
// Rows that share a base pointer: x86 addresses base + {1, 2} * index directly, and 3 * index is a
// second register.
constexpr int most_rows_per_base = 4;
// A way of an x86 CPU's L1 is as large as a page.
constexpr std::uint64_t way_bytes = 4096;

llvm::Value* next_rows(codegen::Builder& builder, const TileRows& tile, std::int64_t most_elements,
                       std::uint64_t ahead_in_rows) {
  llvm::Value* is_deep =
      builder.CreateICmpSGT(builder.CreateMul(tile.rows, tile.k),
                            builder.getInt64(static_cast<std::uint64_t>(most_elements)));
  llvm::Value* ahead = builder.CreateSelect(is_deep, builder.getInt64(ahead_in_rows),
                                            builder.CreateMul(tile.rows, tile.stride));
  return builder.CreateSelect(tile.is_only, builder.getInt64(0), ahead);
}

}  // namespace

llvm::Value* rows_ahead(codegen::Builder& builder, const TileRows& tile) {
  return next_rows(
      builder, tile, choice::default_calibration().prefetch_near_elements,
      static_cast<std::uint64_t>(choice::default_calibration().prefetch_elements_in_rows));
}

llvm::Value* called_rows_ahead(codegen::Builder& builder, const TileRows& tile) {
  // Rows that lie an odd multiple of 2^i bytes apart have (bytes of a way) / 2^i places in it, this
  // tile's and the next one's.
  llvm::Value* bytes = builder.CreateShl(tile.stride, 2);
  llvm::Value* step = builder.CreateAnd(bytes, builder.CreateNeg(bytes));
  llvm::Value* fit = builder.CreateICmpULE(
      builder.CreateMul(builder.CreateShl(tile.rows, 1), step),
      builder.getInt64(way_bytes * static_cast<std::uint64_t>(
                                       choice::default_calibration().prefetch_most_ways)));
  return builder.CreateSelect(fit, rows_ahead(builder, tile), builder.getInt64(0));
}

llvm::Value* far_rows_ahead(codegen::Builder& builder, const TileRows& tile) {
  llvm::Value* elements = builder.CreateMul(tile.rows, tile.k);
  llvm::Value* tiles = builder.CreateUDiv(builder.getInt64(static_cast<std::uint64_t>(
                                              choice::default_calibration().prefetch_far_elements)),
                                          builder.CreateAdd(elements, builder.getInt64(1)));
  return builder.CreateMul(
      rows_ahead(builder, tile),
      builder.CreateBinaryIntrinsic(llvm::Intrinsic::umax, tiles, builder.getInt64(1)));
}

llvm::Value* dot_rows_ahead(codegen::Builder& builder, const TileRows& tile) {
  return next_rows(builder, tile, choice::default_calibration().prefetch_near_dot_elements, 0);
}

TileLoop::TileLoop(codegen::Builder& builder, const codegen::Isa& isa, const Tile& tile,
                   const TileStrides& strides, const Factors& factors)
    : builder_(builder),
      isa_(isa),
      rows_(tile.rows),
      columns_(tile.columns),
      vectors_(tile.columns / isa.f32_lanes),
      rows_per_base_(strides.a_row == nullptr ? 1 : most_rows_per_base),
      packed_b_(strides.packed_b),
      factors_(factors),
      weights_(factors.step_dtype()),
      vector_(llvm::FixedVectorType::get(codegen::memory_type(builder.getContext(), factors.sums()),
                                         static_cast<unsigned>(isa.f32_lanes))) {
  llvm::Value* row_bytes =
      strides.a_row == nullptr ? builder_.getInt64(0) : builder_.CreateShl(strides.a_row, 2);
  row_offsets_ = multiples(row_bytes);
  group_bytes_ = builder_.CreateShl(row_bytes, 2);
  panel_bytes_ = bytes_of(builder_, factors, strides.panel);
  if (factors.coded()) return;
  llvm::Value* step_bytes = bytes_of(builder_, weights_, strides.b_k);
  step_offsets_ = multiples(step_bytes);
  unrolled_bytes_ = builder_.CreateShl(step_bytes, 2);
  const std::size_t row_of_panel_bytes =
      size_of(weights_) * static_cast<std::size_t>(isa_.panel_f32);
  const choice::Calibration& fitted = choice::default_calibration();
  const std::int64_t bytes_ahead = rows_ >= fitted.prefetch_tall_rows
                                       ? fitted.prefetch_bytes_of_tall_tiles
                                       : fitted.prefetch_bytes;
  near_ahead_ = builder_.CreateMul(
      step_bytes, builder_.getInt64(static_cast<std::size_t>(bytes_ahead) / row_of_panel_bytes));
}

TileLoop::Values TileLoop::emit(const Values& a, llvm::Value* b, llvm::Value* k, const Ahead& ahead,
                                const Values& accumulators) {
  rows_ahead_ = ahead.rows == nullptr ? nullptr : builder_.CreateShl(ahead.rows, 2);
  Values state;
  if (a.size() > 1)
    state = a;
  else
    append_series(state, a.front(), group_bytes_, static_cast<int>(row_groups()));
  append_series(state, b, panel_bytes_, panel_count());
  if (shares_asking()) {
    llvm::Value* is_near = builder_.CreateICmpEQ(ahead.distance, builder_.getInt64(0));
    llvm::Value* distance =
        builder_.CreateSelect(is_near, near_ahead_, bytes_of(builder_, weights_, ahead.distance));
    asked_step_ =
        builder_.CreateSelect(is_near, unrolled_bytes_, bytes_of(builder_, weights_, ahead.step));
    state.push_back(add_bytes(b, distance));
  }
  state.insert(state.end(), accumulators.begin(), accumulators.end());
  if (factors_.coded()) {
    state = emit_blocks(state, k);
    return {state.begin() + static_cast<std::ptrdiff_t>(pointer_count()), state.end()};
  }
  if (unroll() > 1) {
    llvm::Value* whole = builder_.CreateAnd(k, builder_.getInt64(~std::uint64_t{k_unroll - 1}));
    state = emit_loop(state, whole, k_unroll, "k4");
    k = builder_.CreateSub(k, whole);
  }
  state = emit_loop(state, k, 1, "k1");
  return {state.begin() + static_cast<std::ptrdiff_t>(pointer_count()), state.end()};
}

// Conversions take long, so LLVM begins those of the next step early where steps stand in one
// block: with more accumulators it spills.
int TileLoop::unroll() const {
  constexpr int most_accumulators_of_f16 = 26;
  return weights_ == DType::f16 && rows_ * vectors_ > most_accumulators_of_f16 ? 1 : k_unroll;
}

std::size_t TileLoop::row_groups() const {
  return static_cast<std::size_t>((rows_ + rows_per_base_ - 1) / rows_per_base_);
}

llvm::BasicBlock* TileLoop::block(const char* name) {
  return llvm::BasicBlock::Create(builder_.getContext(), name,
                                  builder_.GetInsertBlock()->getParent());
}

TileLoop::Values TileLoop::multiples(llvm::Value* bytes) {
  return {builder_.getInt64(0), bytes, builder_.CreateShl(bytes, 1),
          builder_.CreateMul(bytes, builder_.getInt64(3))};
}

llvm::Value* TileLoop::add_bytes(llvm::Value* pointer, llvm::Value* bytes) {
  return builder_.CreateGEP(builder_.getInt8Ty(), pointer, bytes);
}

llvm::Value* TileLoop::advance(llvm::Value* pointer, int elements) {
  return builder_.CreateConstGEP1_64(builder_.getFloatTy(), pointer,
                                     static_cast<std::uint64_t>(elements));
}

void TileLoop::append_series(Values& pointers, llvm::Value* first, llvm::Value* step_bytes,
                             int count) {
  for (int i = 0; i < count; ++i) {
    pointers.push_back(first);
    first = add_bytes(first, step_bytes);
  }
}

// `count` steps of K, `steps` at a time; state is the pointers of A's row groups and B's panels,
// then the accumulators. The test stands in the header, so that the values after the loop are its
// phis: a second set of phis would make the register allocator permute full register files through
// the stack.
TileLoop::Values TileLoop::emit_loop(const Values& state, llvm::Value* count, int steps,
                                     const char* name) {
  auto* before = builder_.GetInsertBlock();
  auto* header = block("header");
  auto* body = block(name);
  auto* after = block("after");
  builder_.CreateBr(header);
  builder_.SetInsertPoint(header);
  auto* remaining = builder_.CreatePHI(builder_.getInt64Ty(), 2);
  remaining->addIncoming(count, before);
  std::vector<llvm::PHINode*> phis;
  for (llvm::Value* value : state) {
    phis.push_back(builder_.CreatePHI(value->getType(), 2));
    phis.back()->addIncoming(value, before);
  }
  Values current(phis.begin(), phis.end());
  builder_.CreateCondBr(builder_.CreateICmpSGT(remaining, builder_.getInt64(0)), body, after);
  builder_.SetInsertPoint(body);
  if (steps > 1 && rows_ahead_ != nullptr) prefetch_rows(current, remaining);
  if (factors_.coded() && steps == 1) code_ = builder_.CreateSub(count, remaining);
  for (int step = 0; step < steps; ++step) emit_step(current, step);
  if (steps > 1 && asks()) prefetch_panels(current);
  for (std::size_t i = 0; i < row_groups(); ++i) current[i] = advance(current[i], steps);
  for (std::size_t i = row_groups(); i < first_asked(); ++i)
    current[i] = add_bytes(current[i], bytes_of_steps(steps));
  for (std::size_t i = first_asked(); steps > 1 && i < pointer_count(); ++i)
    current[i] = add_bytes(current[i], asked_step_);
  remaining->addIncoming(
      builder_.CreateSub(remaining, builder_.getInt64(static_cast<std::uint64_t>(steps))), body);
  for (std::size_t i = 0; i < phis.size(); ++i) phis[i]->addIncoming(current[i], body);
  builder_.CreateBr(header);
  builder_.SetInsertPoint(after);
  return {phis.begin(), phis.end()};
}

int TileLoop::steps_of_words() const { return std::max(steps_of_word(), k_unroll); }

// Where the next steps of K begin in B: single steps find their codes by themselves.
llvm::Value* TileLoop::bytes_of_steps(int steps) {
  if (!factors_.coded()) return steps == 1 ? step_offsets_[1] : unrolled_bytes_;
  return builder_.getInt64(
      static_cast<std::uint64_t>(steps == 1 ? 0 : bytes_of_words(steps / steps_of_word())));
}

// One block of K after the other: the scales of its columns, then whole words, then single steps.
TileLoop::Values TileLoop::emit_blocks(const Values& first, llvm::Value* k) {
  const auto number = [&](std::int64_t value) {
    return builder_.getInt64(static_cast<std::uint64_t>(value));
  };
  const int block = factors_.block_steps();
  llvm::Value* count = builder_.CreateUDiv(builder_.CreateAdd(k, number(block - 1)), number(block));
  codegen::CountedLoop blocks(builder_, number(0), count, number(1), "block", first);
  Values state;
  for (std::size_t i = 0; i < first.size(); ++i) state.push_back(blocks.carried(i));
  scales_ = take_numbers(state);
  if (factors_.coding.zero_points) {
    zeros_ = take_numbers(state);
    for (std::size_t i = 0; factors_.grouped() && i < zeros_.size(); ++i)
      zeros_[i] = zeros_of_group(builder_, isa_, factors_.group, zeros_[i]);
  }
  if (scales_sums()) start_sums(state);
  llvm::Value* left = builder_.CreateSub(k, builder_.CreateMul(blocks.index(), number(block)));
  llvm::Value* is_whole = builder_.CreateICmpSGE(left, number(block));
  llvm::Value* rest = builder_.CreateAnd(left, number(steps_of_words() - 1));
  state = emit_loop(state,
                    builder_.CreateSelect(is_whole, number(block), builder_.CreateSub(left, rest)),
                    steps_of_words(), "words");
  state = emit_loop(state, builder_.CreateSelect(is_whole, number(0), rest), 1, "k1");
  code_ = nullptr;
  if (scales_sums()) {
    const auto exact_number = [&](llvm::Value* sum) {
      return sum->getType() == vector_ ? sum : builder_.CreateSIToFP(sum, vector_);
    };
    for (std::size_t i = pointer_count(); i < state.size(); ++i)
      state[i] = codegen::multiply_add(builder_, isa_.fma, scales_of(i), exact_number(state[i]),
                                       blocks.carried(i));
  }
  return blocks.close(state);
}

llvm::Type* TileLoop::block_sums() const {
  const DType dtype = rkernel::Factors(factors_.group).sums();
  return codegen::lanes_of(codegen::memory_type(builder_.getContext(), dtype), isa_.f32_lanes);
}

void TileLoop::start_sums(Values& state) {
  std::fill(state.begin() + static_cast<std::ptrdiff_t>(pointer_count()), state.end(),
            llvm::Constant::getNullValue(block_sums()));
}

// Numbers of a block's columns, one for each; B's pointers move behind them.
TileLoop::Values TileLoop::take_numbers(Values& state) {
  const DType dtype = factors_.coding.scale;
  Values numbers;
  for (int vector = 0; vector < vectors_; ++vector) {
    const int column = vector * isa_.f32_lanes;
    llvm::Value* panel = state[row_groups() + static_cast<std::size_t>(column / isa_.panel_f32)];
    numbers.push_back(load_widened(
        builder_, dtype,
        element_of(builder_, dtype, panel,
                   builder_.getInt64(static_cast<std::uint64_t>(column % isa_.panel_f32))),
        isa_.f32_lanes));
  }
  const std::size_t bytes = size_of(dtype) * static_cast<std::size_t>(isa_.panel_f32);
  for (std::size_t i = row_groups(); i < first_asked(); ++i)
    state[i] = add_bytes(state[i], builder_.getInt64(bytes));
  return numbers;
}

// A vector of each column's code of a step, times its scale.
llvm::Value* TileLoop::load_codes(const Values& state, int step, int vector) {
  const int column = vector * isa_.f32_lanes;
  llvm::Value* panel = state[row_groups() + static_cast<std::size_t>(column / isa_.panel_f32)];
  llvm::Type* words = codegen::lanes_of(builder_.getInt32Ty(), isa_.f32_lanes);
  const auto number = [&](std::int64_t value) {
    return builder_.getInt64(static_cast<std::uint64_t>(value));
  };
  llvm::Value* at = code_ == nullptr ? number(step) : code_;
  llvm::Value* first = builder_.CreateMul(builder_.CreateUDiv(at, number(steps_of_word())),
                                          number(bytes_of_words(1)));
  llvm::Value* code = builder_.CreateURem(at, number(steps_of_word()));
  llvm::Value* word = builder_.CreateAlignedLoad(
      words, advance(add_bytes(panel, first), column % isa_.panel_f32), llvm::Align(sizeof(float)));
  const auto i = static_cast<std::size_t>(vector);
  if (factors_.grouped())
    return group_of_codes(builder_, isa_, factors_, word, code,
                          factors_.coding.zero_points ? zeros_[i] : nullptr);
  llvm::Value* whole = numbers_of_codes(builder_, isa_, factors_.coding.bits, word, code);
  if (factors_.coding.zero_points) whole = builder_.CreateFSub(whole, zeros_[i]);
  return scales_sums() ? whole : builder_.CreateFMul(whole, scales_[i]);
}

// The lines of B that a later iteration reads. Packed panels lie one after the other, so that the
// end of one asks for the start of the next; addresses beyond the last are only hints. Hardware
// prefetchers stop at pages, and fall behind where few rows leave little time for each line.
void TileLoop::prefetch_panels(const Values& state) {
  if (factors_.coded()) return prefetch_codes(state);
  const int line_elements = static_cast<int>(line_bytes) / static_cast<int>(size_of(weights_));
  // Steps of K share a line where a panel's row is shorter.
  const int steps_of_line = std::max(1, line_elements / isa_.panel_f32);
  const int tile_columns = std::min(columns_, isa_.panel_f32);
  for (int panel = 0; panel < panel_count(); ++panel) {
    llvm::Value* asked =
        shares_asking()
            ? state[first_asked()]
            : add_bytes(state[row_groups() + static_cast<std::size_t>(panel)], near_ahead_);
    for (int step = 0; step < k_unroll; step += steps_of_line) {
      for (int column = 0; column < tile_columns; column += line_elements) {
        llvm::Value* row = add_bytes(asked, step_offsets_[static_cast<std::size_t>(step)]);
        llvm::Value* address = element_of(builder_, weights_, row,
                                          builder_.getInt64(static_cast<std::uint64_t>(column)));
        codegen::prefetch(builder_, address);
      }
      if (rows_ >= choice::default_calibration().prefetch_last_line_rows && factors_ == Factors() &&
          !packed_b_) {
        llvm::Value* row = add_bytes(asked, step_offsets_[static_cast<std::size_t>(step)]);
        codegen::prefetch(
            builder_, element_of(builder_, weights_, row,
                                 builder_.getInt64(static_cast<std::uint64_t>(tile_columns - 1))));
      }
    }
  }
}

// A line of each row of A comes into use every 16 steps of K, in all rows at once, and hardware
// does not follow that many rows. Each iteration asks for the lines of one group of rows, before
// its steps: after them LLVM spills accumulators.
void TileLoop::prefetch_rows(const Values& state, llvm::Value* remaining) {
  const std::uint64_t groups = std::bit_ceil(row_groups());
  llvm::Value* row = builder_.CreateAnd(builder_.CreateNeg(remaining),
                                        builder_.getInt64((groups - 1) * rows_per_base_));
  llvm::Value* asked =
      add_bytes(add_bytes(state[0], rows_ahead_), builder_.CreateMul(row, row_offsets_[1]));
  for (int i = 0; i < std::min(rows_, rows_per_base_); ++i)
    codegen::prefetch(builder_, add_bytes(asked, row_offsets_[static_cast<std::size_t>(i)]));
}

// Hardware follows the words of a panel, but stops at pages.
void TileLoop::prefetch_codes(const Values& state) {
  const std::int64_t bytes = bytes_of_words(steps_of_words() / steps_of_word());
  for (std::size_t i = row_groups(); i < first_asked(); ++i) {
    for (std::int64_t line = 0; line < bytes; line += line_bytes)
      codegen::prefetch(builder_,
                        builder_.CreateConstGEP1_64(
                            builder_.getInt8Ty(), state[i],
                            static_cast<std::uint64_t>(
                                choice::default_calibration().prefetch_bytes_of_codes + line)));
  }
}

llvm::Value* TileLoop::load_b(const Values& state, int step, int vector) {
  if (factors_.coded()) return load_codes(state, step, vector);
  const int column = vector * isa_.f32_lanes;
  llvm::Value* panel = state[row_groups() + static_cast<std::size_t>(column / isa_.panel_f32)];
  llvm::Value* row = add_bytes(panel, step_offsets_[static_cast<std::size_t>(step)]);
  llvm::Value* address =
      element_of(builder_, weights_, row,
                 builder_.getInt64(static_cast<std::uint64_t>(column % isa_.panel_f32)));
  return load_widened(builder_, weights_, address, isa_.f32_lanes);
}

// One step of K: B's vectors, then for each row a broadcast of A and its multiply-adds. A single
// row takes each vector of B when it needs it.
void TileLoop::emit_step(Values& state, int step) {
  Values b;
  for (int vector = 0; rows_ > 1 && vector < vectors_; ++vector)
    b.push_back(load_b(state, step, vector));
  for (int row = 0; row < rows_; ++row) {
    llvm::Value* base = state[static_cast<std::size_t>(row / rows_per_base_)];
    llvm::Value* address =
        add_bytes(base, row_offsets_[static_cast<std::size_t>(row % rows_per_base_)]);
    llvm::Value* a = builder_.CreateAlignedLoad(
        factors_.grouped() ? static_cast<llvm::Type*>(builder_.getInt32Ty())
                           : builder_.getFloatTy(),
        advance(address, step), llvm::Align(factors_.grouped() ? 1 : 4));
    llvm::Value* broadcast = builder_.CreateVectorSplat(static_cast<unsigned>(isa_.f32_lanes), a);
    for (int vector = 0; vector < vectors_; ++vector) {
      llvm::Value*& accumulator =
          state[pointer_count() + static_cast<std::size_t>(row * vectors_ + vector)];
      llvm::Value* factor =
          rows_ > 1 ? b[static_cast<std::size_t>(vector)] : load_b(state, step, vector);
      accumulator =
          factors_.grouped()
              ? add_products(builder_, isa_, factors_.group, broadcast, factor, accumulator)
              : codegen::multiply_add(builder_, isa_.fma, broadcast, factor, accumulator);
    }
  }
}

}  // namespace dyn::cpu
