#pragma once
// Bodies of one vector, and the loops over reduction axes around them.

#include <functional>
#include <optional>
#include <span>

#include "targets/cpu/loop/context.hpp"

namespace dyn::cpu {

/// One vector, at the lanes [begin, begin + width).
struct LoopBody {
  llvm::Value* begin;
  llvm::Value* mask;  ///< nullptr: all lanes exist
  BoundExprs bound;
};

/// Where passes over one row keep values in scratch.
struct KeptRow {
  llvm::Value* value_elements;  ///< from the elements of one expression to those of the next
  llvm::Value* start;           ///< of the row among the elements of one expression
};

class LoopBodies {
 public:
  explicit LoopBodies(const LoopContext& context) : context_(context), builder_(context.builder) {}

  /// Calls `emit_it` in the scope of a body, with its indices and mask.
  void in_body(const LoopBody& body, const std::function<void()>& emit_it) const;
  /// One vector of a pass. There are `count` accumulators for each reduction, of which this takes
  /// number `index`; returns all of them. `kept`: for passes that save or load values.
  LoopValues sweep(const codegen::LoopPass& pass, const LoopBody& body, std::size_t index,
                   std::size_t count, const LoopValues& accumulators,
                   const std::optional<KeptRow>& kept) const;
  void store_all(const std::vector<int>& stores) const;
  /// `count` vectors for each reduction of a pass.
  LoopValues neutral(const codegen::LoopPass& pass, int count) const;

  /// Emits the innermost code from the accumulators there, and the index among all points of the
  /// serial axes; returns the accumulators after it.
  using Innermost = std::function<LoopValues(const LoopValues& accumulators, llvm::Value* point)>;
  /// Loops over reduction axes without lanes, the first outermost; `ranges` as for
  /// LoopContext::range_of. `point` is the index of the first point; nullptr: nobody asks for it.
  LoopValues over_serial_axes(const codegen::LoopPass& pass, std::span<const int> axes,
                              const AxisRanges& ranges, const LoopValues& accumulators,
                              llvm::Value* point, const Innermost& innermost) const;

 private:
  /// An accumulator of the reduction `expr` with the element at the current indices.
  llvm::Value* reduced(int expr, llvm::Value* accumulator, llvm::Value* mask) const;
  LoopValues over_axis(const codegen::LoopPass& pass, std::span<const int> axes,
                       codegen::AxisSet inner, const AxisRanges& ranges,
                       const LoopValues& accumulators, llvm::Value* point,
                       const Innermost& innermost) const;
  /// Place in scratch of the element of a kept expression: all elements of the reduction axes, the
  /// lane axis padded to whole blocks.
  llvm::Value* kept_at(int expr, const KeptRow& kept, llvm::Value* lane) const;

  const LoopContext& context_;
  codegen::Builder& builder_;
};

}  // namespace dyn::cpu
