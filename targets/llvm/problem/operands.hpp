#pragma once
// Operands of a problem in generated code: addresses, loads, stores, guards, gathers. Shared by all
// emitters.

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "src/rkernel/problem/problem.hpp"
#include "targets/llvm/code/types.hpp"
#include "targets/llvm/problem/slots.hpp"
#include "targets/llvm/problem/variation.hpp"

namespace dyn::codegen {

/// The fields of KernelArgs, loaded. All are pointers of one address space, in which the operands
/// lie too.
struct KernelArgsValues {
  llvm::Value *pointers = nullptr, *ints = nullptr, *status = nullptr;
};
/// Loads them from the kernel's first argument at the builder's place (the entry block).
KernelArgsValues load_kernel_args(Builder& builder, llvm::Value* kernel_args);
/// KernelArgs::shared, for host kernels of two stages.
llvm::Value* load_shared_memory(Builder& builder, llvm::Value* kernel_args);

/// Emits accesses at the current indices. The emitter sets the index of each axis (along the lane
/// axis: of lane 0) as its loops open, and the mask of lanes that exist. Memory is never touched
/// for lanes that are masked, outside a guard, or whose gathered index is out of range.
class Operands {
 public:
  /// `width`: lanes of the vectors that the emitter works with.
  Operands(Builder& builder, const rkernel::Problem& problem, const SlotTable& slots,
           std::vector<StrideClass> lane_classes, KernelArgsValues args, int width);

  /// An i64; or an i32, where that holds all indices, offsets, sums of the products of indices with
  /// strides and with factors of guards, and the bounds of guards.
  void set_index(int axis, llvm::Value* index) { indices_[static_cast<std::size_t>(axis)] = index; }
  /// <width x i1>, for width 1 an i1; nullptr: all lanes exist.
  void set_mask(llvm::Value* mask) { mask_ = mask; }
  llvm::Value* mask() const { return mask_; }

  /// Guards along the lane axis are alike for all lanes of each body.
  void set_segmented(bool segmented) { segmented_ = segmented; }
  /// Whole vectors are of consecutive elements, aligned to their size, and exist for all lanes or
  /// for none: they are loaded and stored without masks of lanes.
  void set_aligned(bool aligned) { aligned_ = aligned; }
  /// The emitter makes sure that these guards of one operand hold: they are not tested.
  void set_held(int operand, std::vector<int> guards) {
    held_operand_ = operand, held_guards_ = std::move(guards);
  }
  /// The range within [begin, end) of an axis without lanes where a guard holds, with all other
  /// indices fixed; the guard's factor for that axis is 1.
  struct Range {
    llvm::Value *begin, *end;
  };
  Range indices_within(int operand, int guard, int axis);
  /// The index of lane 0.
  llvm::Value* lane_start() const { return indices_[static_cast<std::size_t>(problem_.lane_axis)]; }

  /// The i64 in a slot.
  llvm::Value* slot(int slot);
  /// Indices along `axis`: along the lane axis ascending lanes, else one scalar.
  llvm::Value* index(int axis);

  /// The elements at the current indices, as registers hold them (f16 and bf16 as float): one
  /// scalar where `lanes` is false (the emitter's width is 1, or the element does not vary along
  /// the lane axis), else a vector. `gather` is nullptr, or the gathered index, i64.
  llvm::Value* load(int operand, llvm::Value* gather, bool lanes);
  /// Loads from one of several operands of one dtype, fill and class of stride: the first whose
  /// condition, a scalar, holds (the last one's is nullptr). A vector is loaded from the one chosen
  /// place: a choice between loaded vectors would become masked loads, which keep hardware from
  /// reading ahead.
  struct Choice {
    llvm::Value* condition = nullptr;
    int operand = 0;
  };
  llvm::Value* load_one_of(std::span<const Choice> choices);
  bool are_alike(int first, int second) const;
  /// Stores a vector, or one scalar; float values are rounded where the operand is f16 or bf16.
  void store(int operand, llvm::Value* value);

  /// Holds back the stores of whole vectors to consecutive elements until release_stores().
  void hold_stores() { holding_ = true; }
  /// Writes the stores that were held back, past the caches where `streams` (an i1; nullptr:
  /// nowhere) says so: each vector, or each 64 bytes of a larger one, must then be aligned to its
  /// size, and the kernel must end with a store fence.
  void release_stores(llvm::Value* streams);

  /// The address of the element at the current indices (along the lane axis: of lane 0), whatever
  /// the guards say; nothing is gathered.
  llvm::Value* pointer(int operand);
  /// `count` elements that lie side by side from the current place on, as memory holds them:
  /// whatever the guards say, aligned to the size of all.
  llvm::Value* load_run(int operand, int count);
  /// Converts elements as they lie in memory to elements as registers hold them.
  llvm::Value* in_register(int operand, llvm::Value* stored, llvm::Value* mask = nullptr);
  /// Prefetches the line of the element `steps` ahead along `axis`; it need not exist.
  void prefetch_ahead(int operand, int axis, llvm::Value* steps, CacheLevel to = CacheLevel::First);
  /// The same as pointer(), but for the slice that a gathered index, one scalar, chooses. Where the
  /// index is out of range, the address means nothing.
  llvm::Value* gathered_pointer(int operand, llvm::Value* gather);
  /// Makes loads of whole vectors of consecutive elements also prefetch the line some KiB further
  /// on, where the operand's next row may lie: hardware loses a stream at the end of a row, a page,
  /// or a run of stores.
  void set_reading_ahead(bool reading_ahead) { reading_ahead_ = reading_ahead; }
  /// Checks a gathered index that is one scalar and computes its distance now, for the loads in
  /// this scope and inside of it.
  void prepare_gather(int operand, llvm::Value* gather);

  /// Sums the known part of each address: offset and the terms of all axes that have an index and
  /// are not in `inner`. leave() forgets the sums made since the matching enter().
  void enter(AxisSet inner);
  void leave();

  /// Reports Status::IndexOutOfRange where `bad`, an i1 or a vector of them, is true.
  void report_where(llvm::Value* bad);

  const rkernel::Problem& problem() const { return problem_; }
  const SlotTable& slots() const { return slots_; }
  std::span<const StrideClass> lane_classes() const { return lane_classes_; }
  int width() const { return width_; }

 private:
  struct Address {
    llvm::Value* base = nullptr;  ///< pointer to the element with the summed axes' terms
    AxisSet summed = 0;
    llvm::Value* steps = nullptr;  ///< for strides of class Any: iota * stride along the lane axis
  };
  struct Gathered {
    llvm::Value *distance = nullptr, *inside = nullptr;
  };
  struct HeldStore {
    llvm::Value *value = nullptr, *pointer = nullptr;
    std::uint64_t element_bytes = 0;
  };
  struct Access {
    llvm::Value* pointer = nullptr;  ///< one, or one for each lane
    llvm::Value* mask = nullptr;     ///< nullptr: all lanes
    llvm::Value* all = nullptr;      ///< an i1: true where the lanes exist at all; nullptr: they do
  };
  StrideClass lane_class(int operand) const {
    return lane_classes_[static_cast<std::size_t>(operand)];
  }
  const rkernel::Operand& operand_at(int operand) const {
    return problem_.operands[static_cast<std::size_t>(operand)];
  }
  llvm::Type* element_type(int operand) const;
  /// The number in a slot, of the type of an index (or of its lanes).
  llvm::Value* slot_like(int slot, llvm::Value* index);
  bool is_narrow() const;  ///< indices are i32
  llvm::Align align_of(int operand, int width) const;
  /// No operand of the problem writes to its memory.
  bool is_read_only(int operand) const;
  llvm::Value* in_memory(int operand, llvm::Value* value);
  llvm::Value* with_terms(int operand, Address& address, AxisSet inner);
  Access access(int operand, llvm::Value* gather, bool lanes);
  void add_guards(int operand, Access& access, bool lanes);
  llvm::Value* guarded_place(int operand, int guard, bool lanes);
  /// The conjunction of mask and `all`.
  llvm::Value* whole_mask(const Access& access);
  llvm::Value* lanes_between(llvm::Value* low, llvm::Value* high);
  llvm::Value* checked_gather(int operand, llvm::Value* gather, Access& access);
  /// Elements from the operand's start to the slice at an index in range.
  llvm::Value* gather_distance(int operand, llvm::Value* index);
  Gathered check_gather(int operand, llvm::Value* gather, llvm::Value* mask);
  llvm::Value* load_vector(int operand, const Access& from);
  llvm::Value* load_apart(int operand, const Access& from);
  llvm::Value* load_aligned(int operand, const Access& from);
  void store_apart(int operand, llvm::Value* value, const Access& to);
  /// A vector of the operand's fill in memory.
  llvm::Value* fill_block(int operand, llvm::Constant* fill);

  Builder& builder_;
  const rkernel::Problem& problem_;
  const SlotTable& slots_;
  std::vector<StrideClass> lane_classes_;
  KernelArgsValues args_;
  int width_;
  std::vector<llvm::Value*> indices_;
  llvm::Value* mask_ = nullptr;
  std::vector<std::vector<Address>> addresses_;  ///< a stack, one entry for each enter()
  using Gathers = std::map<std::pair<int, llvm::Value*>, Gathered>;
  std::vector<Gathers> gathers_;  ///< prepared; a stack as well
  int held_operand_ = 0;
  std::vector<int> held_guards_;
  bool holding_ = false, segmented_ = false, aligned_ = false, reading_ahead_ = false;
  std::vector<HeldStore> held_stores_;
};

}  // namespace dyn::codegen
