#pragma once
// The emitter of loop kernels. Its parts: tickets (loop_emitter.cpp), bodies of one vector and
// ranges of them (bodies.cpp), lanes along a parallel axis (chunks.cpp) over few elements each
// (sliding_windows.cpp), along a reduction axis (rows.cpp), slices of reductions (partials.cpp), transposed
// blocks (tiles.cpp).

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "targets/cpu/loop/class.hpp"
#include "targets/llvm/code/loops.hpp"
#include "targets/llvm/problem/expr_compiler.hpp"
#include "targets/llvm/problem/loop_passes.hpp"
#include "targets/llvm/problem/reduction.hpp"

namespace dyn::cpu {

/// Which function of a kernel: the one that every problem has, or the second stage of one whose
/// reductions may be cut in slices.
enum class LoopStage : std::uint8_t { First, Merge };

class LoopCode final : public rkernel::Emitter {
 public:
  LoopCode(llvm::Module& module, const std::string& symbol, const LoopProblem& loop,
           const LoopClass& loop_class, LoopStage stage);
  void emit();

  void open(int layer, const rkernel::Loop& loop) override;
  void close(int layer, const rkernel::Loop& loop) override;
  void move(int, const rkernel::Move&) override {}
  void leaf(const rkernel::Layer& registers) override;

 private:
  using Value = llvm::Value;
  using Values = std::vector<Value*>;

  Value* number(std::int64_t value) { return builder_.getInt64(static_cast<std::uint64_t>(value)); }
  Value* extent(int axis) { return operands_->slot(loop_.slots.extent(axis)); }
  Value* rounded_down(Value* count, std::int64_t multiple) {
    const bool power_of_two = (multiple & (multiple - 1)) == 0;
    return power_of_two ? builder_.CreateAnd(count, number(-multiple))
                        : builder_.CreateSub(count, builder_.CreateURem(count, number(multiple)));
  }
  int vectors() const { return block_ / width_; }
  codegen::Reduction reduction(int expr) {
    return {builder_, math_, problem_.exprs[static_cast<std::size_t>(expr)]};
  }

  // Tickets.

  /// What one ticket covers of an axis that tickets divide.
  struct Part {
    Value *begin = nullptr, *end = nullptr;
  };
  /// The loops over tickets, the slowest first.
  std::vector<rkernel::Loop> ticket_loops() const;
  std::vector<int> digit_slots() const;
  int chunk_slot() const { return merging_ ? loop_.sliced->merge_chunk : loop_.chunk_slot; }
  /// The axis along which the next ticket has the next index, where it is not the lanes' or the
  /// turned one; -1: there is none.
  int next_ticket_axis() const;
  Values digits_of(Value* ticket);
  Values following_digits();
  void fence_streams();

  // Bodies: one vector each, at the lanes [begin, begin + width), masked or full.

  struct Body {
    Value* begin = nullptr;
    Value* mask = nullptr;                      ///< nullptr: all lanes
    std::vector<std::pair<int, Value*>> bound;  ///< values of expressions that come from elsewhere
  };
  void in_body(const Body& body, const std::function<void()>& emit_it);
  /// The first lanes, up to `end`.
  Value* mask_until(Value* begin, Value* end);
  /// One vector of a pass; accumulator `index` of `count` for each reduction.
  void sweep(const codegen::LoopPass& pass, const Body& body, std::size_t index, std::size_t count,
             Values& accumulators, Value* row);
  void store_all(const std::vector<int>& stores);
  Values neutral(const codegen::LoopPass& pass, int count);

  /// How a range of lanes is stored. Whole vectors go past the caches where `streams` holds, from
  /// `head` lanes after the begin on.
  struct Streaming {
    Value* streams = nullptr;  ///< nullptr: never
    Value* head = nullptr;
  };
  Streaming streaming(const std::vector<int>& stores, const Part& lanes);
  bool is_streamed(int store) const;
  bool is_streamed_in(
      int operand) const;  ///< read, element by element along the lanes, at no gathered place
  /// Calls `emit` for blocks of all lanes, in code for `count` whole vectors and for one that is
  /// masked, and releases the stores.
  using EmitVectors = std::function<void(Value* begin, int count, Value* mask)>;
  void over_range(const Part& lanes, const Streaming& streaming, int count,
                  const EmitVectors& emit);

  using Innermost = std::function<Values(const Values& accumulators, Value* scratch_row)>;
  /// The loops over all reduction axes without lanes, from number `depth` on.
  Values over_serial_axes(const codegen::LoopPass& pass, std::size_t depth,
                          const Values& accumulators, Value* row, const Innermost& innermost);

  llvm::Type* scratch_unit();
  Value* element_at(Value* memory, Value* element);
  Value* scratch_at(Value* element) { return element_at(scratch_, element); }
  llvm::Align scratch_alignment() const {
    return llvm::Align(static_cast<std::uint64_t>(loop_.scratch_element_bytes));
  }
  /// Elements of the dtype in units of LoopProblem::scratch_element_bytes.
  Value* load_units(DType dtype, Value* address, int width);
  void store_units(Value* value, Value* address);
  Value* load_scratch(DType dtype, Value* element) {
    return load_units(dtype, scratch_at(element), width_);
  }
  void store_scratch(Value* value, Value* element) { store_units(value, scratch_at(element)); }

  // Lanes along a parallel axis.
  void emit_chunk();
  void emit_segments(const std::vector<int>& borders);
  void emit_lanes_of_chunk(const Part& lanes);
  /// Starts of the slices that a later ticket will gather, by operand.
  std::vector<std::pair<int, Value*>> gathers_ahead();
  void emit_reduced_chunk();
  /// Reductions of so few elements that their accumulators stay in registers from the first to the
  /// last.
  bool reduces_few() const;
  void emit_few_rows(const codegen::LoopPass& pass);
  void bound_windows(const codegen::LoopPass& pass);
  /// Whether a reduction gives the same without the elements for which a guard of the operand does
  /// not hold.
  bool leaves_out(const rkernel::Expr& reduced, int operand) const;
  /// The operand whose elements outside of its guards no reduction of a pass needs; -1: there is
  /// none.
  int operand_left_out(const codegen::LoopPass& pass) const;
  /// The axis of a window, at steps of 1, of which a guard leaves a range; -1: there is none.
  int bounded_axis(const rkernel::Guard& guard) const;
  void accumulate_lanes(const codegen::LoopPass& pass);
  void reduce_rows(const codegen::LoopPass& pass);
  void store_rows(const codegen::LoopPass& pass);
  /// One pass over `count` rows from `first` of a serial axis on.
  void add_rows(const codegen::LoopPass& pass, int axis, Value* first, int count);
  void ask_for_later_rows(const Body& body, int axis);
  Values load_accumulators(const codegen::LoopPass& pass, Value* lane);
  void store_accumulators(const codegen::LoopPass& pass, const Values& accumulators, Value* lane);
  Value* accumulator_at(int reduction, Value* lane);
  void bind_reductions(Body& body, const codegen::LoopPass* before);

  // Lanes along a reduction axis.
  void emit_reduced_row();
  Values reduced_row(const codegen::LoopPass& pass);
  Values over_lanes(const codegen::LoopPass& pass, const Values& initial, Value* row);
  Value* kept(int expr, Value* row, Value* begin);
  /// What the body of vector `index` of a block asks for of the next row.
  void prefetch_next_row(const codegen::LoopPass& pass, const Body& body, int index);

  // Slices of reductions.

  /// What the ticket has of a reduction axis.
  Part part_of(int axis);
  const SliceSlots::Axis* slice_of(int axis) const;
  bool is_reduced(int axis) const {
    return problem_.axes[static_cast<std::size_t>(axis)].kind == rkernel::AxisKind::Reduction;
  }
  /// In code that runs where the results that this ticket has are those of all slices.
  void when_whole(const std::function<void()>& emit_it);
  /// The ticket's slice, and its point of the parallel axes without lanes.
  Value* slice();
  Value* row();
  /// Place in the shared memory of a slice's partial result, in elements of scratch.
  Value* partial_at(std::size_t reduction, Value* slice, Value* lane);
  void accumulate_in_partials();
  void store_partials(const Values& results);
  void merge_lanes(const codegen::LoopPass& pass);
  Values merged_row(const codegen::LoopPass& pass);
  Value* merge_slices(int expr, std::size_t reduction, Value* lane, int width);

  // Transposed blocks.
  void emit_tiles();
  Value* tile_streams();
  Values turned_columns(int operand, const Part& lanes, const Part& steps, bool whole,
                        Value* streams);
  void emit_whole_tile(Value* lane, Value* step, Value* streams);
  void emit_part_of_tile(const Part& lanes, const Part& steps);
  void emit_tile_body(Value* lane, Value* step, Value* mask,
                      const std::vector<std::pair<int, Value*>>& turned);

  const LoopProblem& loop_;
  const rkernel::Problem& problem_;
  const LoopClass& class_;
  int width_;
  codegen::Builder builder_;
  codegen::MathOptions math_;
  codegen::LoopPasses passes_;
  llvm::Function* function_ = nullptr;
  std::optional<codegen::Operands> operands_;
  std::optional<codegen::ExprCompiler> compiler_;

  Values digits_;
  std::size_t next_digit_ = 0;
  std::vector<std::pair<int, Value*>> gathers_ahead_;
  Part lanes_, steps_;            ///< of the ticket, along the lane axis and the turned axis
  int block_ = 0;                 ///< lanes of one unrolled body
  std::vector<int> serial_axes_;  ///< reduction axes without lanes
  codegen::AxisSet inner_ = 0;
  Value *padded_lanes_ = nullptr, *scratch_size_ = nullptr;
  bool merging_;
  Value *scratch_ = nullptr, *shared_ = nullptr;
  Value* accumulators_row_ =
      nullptr;  ///< from the accumulators of one reduction to those of the next
  std::vector<std::pair<int, Part>>
      parts_;  ///< of the ticket, along reduction axes that slices divide
  std::vector<std::pair<int, Value*>> slice_digits_, row_digits_;  ///< of the ticket, by axis
};

}  // namespace dyn::cpu
