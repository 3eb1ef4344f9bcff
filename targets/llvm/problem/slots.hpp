#pragma once
// Assigns each i64 of KernelArgs::ints its meaning. The numbering follows from the structure of a
// problem alone, never from its dims, so that problems of one shape class share their code.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/dims/dim.hpp"
#include "src/rkernel/problem/problem.hpp"

namespace dyn::codegen {

/// The class of an operand's stride along the lane axis: it decides which instructions load and
/// store. Any is right for every value, the others included. Two, Three and Four are for elements
/// of four bytes that are known to lie so far apart, such as the real parts of complex numbers or
/// one channel of pixels.
enum class StrideClass : std::uint8_t { Zero, Unit, Two, Three, Four, Any };

char letter_of(StrideClass stride_class) noexcept;  ///< '0', '1', '2', '3', '4', '?'

/// The stride of Two, Three and Four; 0: it is another class.
constexpr int few_of(StrideClass stride_class) noexcept {
  const int value = static_cast<int>(stride_class);
  return value >= static_cast<int>(StrideClass::Two) && stride_class != StrideClass::Any ? value
                                                                                         : 0;
}

/// The classes that a stride may have at run time, but for Two, Three and Four: one where it
/// is proven, else all that are possible.
std::vector<StrideClass> possible_classes(graph::Dim stride);
StrideClass class_of(std::int64_t stride) noexcept;

/// Slots for a rkernel::WindowAxis.
struct WindowAxisSlots {
  int count, size, stride, dilation, before, extent, step;
};
/// Slots for rkernel::WindowRows.
struct WindowSlots {
  std::vector<WindowAxisSlots> axes;
  int channels, channel_step, outside;
};

/// An operand's stride along an axis.
struct OperandAxis {
  int operand, axis;
  bool operator==(const OperandAxis&) const = default;
};

/// The slots of one problem: extents, offsets, strides, guard bounds, gathers, dim values, and
/// those that an emitter adds.
class SlotTable {
 public:
  static constexpr int none = -1;  ///< slot of a value that is provably 0

  /// Without slots: the caller adds them.
  SlotTable() = default;
  explicit SlotTable(const rkernel::Problem& problem);
  /// `reserved` strategy slots stand between those of axes and the first operands, and all others:
  /// where code reads nothing else, problems that begin alike share it.
  /// Strides that `any` names have slots even where they are 0: one more multiplication, and
  /// problems with and without them share code.
  SlotTable(const rkernel::Problem& problem, std::size_t first_operands, int reserved,
            std::span<const OperandAxis> any = {});

  int extent(int axis) const { return extents_[static_cast<std::size_t>(axis)]; }
  /// Of rkernel::Contraction::depth; none: it has none.
  int depth() const { return depth_; }
  int offset(int operand) const { return operand_slots(operand).offset; }
  int stride(int operand, int axis) const {
    return operand_slots(operand).strides[static_cast<std::size_t>(axis)];
  }
  /// none: no index is below it.
  int guard_low(int operand, int guard) const { return guard_slots(operand, guard).low; }
  /// none: no index is above it.
  int guard_high(int operand, int guard) const { return guard_slots(operand, guard).high; }
  /// none: the factor is 1.
  int guard_factor(int operand, int guard, std::size_t term) const {
    return guard_slots(operand, guard).factors[term];
  }
  /// The slots of an operand with windows.
  const WindowSlots& window(int operand) const { return *operand_slots(operand).window; }
  int gather_extent(int operand) const { return operand_slots(operand).gather; }
  int gather_stride(int operand) const { return operand_slots(operand).gather + 1; }
  int dim_value(int expr) const { return dim_values_[static_cast<std::size_t>(expr)]; }

  /// A slot for the value of a dim.
  int add(graph::Dim dim);
  /// A slot whose value the plan chooses (chunk sizes, tiles); evaluate() leaves 0 there.
  int add_strategy_slot();
  int first_reserved() const noexcept { return first_reserved_; }
  int size() const noexcept { return static_cast<int>(program_slots_.size()); }

  /// The values of all slots for these symbols.
  std::vector<std::int64_t> evaluate(std::span<const std::int64_t> symbols) const;

 private:
  struct GuardSlots {
    int low = none, high = none;
    std::vector<int> factors;
  };
  struct OperandSlots {
    int offset = none, gather = none;
    std::vector<int> strides;
    std::vector<GuardSlots> guards;
    std::optional<WindowSlots> window;
  };
  const GuardSlots& guard_slots(int operand, int guard) const {
    return operand_slots(operand).guards[static_cast<std::size_t>(guard)];
  }
  const OperandSlots& operand_slots(int operand) const {
    return operands_[static_cast<std::size_t>(operand)];
  }
  void add_operand(const rkernel::Problem& problem, int index, std::span<const OperandAxis> any);
  int add_unless_zero(graph::Dim dim);
  WindowSlots add_window(const rkernel::WindowRows& rows);
  GuardSlots add_guard(const rkernel::Problem& problem, const rkernel::Guard& guard);

  std::vector<int> extents_, dim_values_;
  int depth_ = none;
  int first_reserved_ = none;
  std::vector<OperandSlots> operands_;
  std::vector<int> program_slots_;  ///< by slot; none: a strategy slot
  graph::DimProgram program_;
};

/// The value of a slot among those of SlotTable::evaluate().
inline std::int64_t value_of(int slot, std::span<const std::int64_t> ints) {
  return slot == SlotTable::none ? 0 : ints[static_cast<std::size_t>(slot)];
}

}  // namespace dyn::codegen
