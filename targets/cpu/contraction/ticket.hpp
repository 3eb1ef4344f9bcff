#pragma once
// Where a ticket of a contraction stands: the kernel's strategy as values, and the blocks of each
// axis, as IR.

#include <llvm/IR/Module.h>

#include <map>
#include <vector>

#include "src/rkernel/tree/layer.hpp"
#include "targets/cpu/contraction/emitter.hpp"
#include "targets/llvm/code/loops.hpp"
#include "targets/llvm/problem/operands.hpp"

namespace dyn::cpu {

/// What a kernel's code is made from; all must outlive the emitter.
struct ContractionSource {
  const rkernel::RKernel& kernel;
  const codegen::Isa& isa;
  const codegen::SlotTable& slots;
  const StrategySlots& strategy;
  const ContractionClass& shape_class;
};

class ContractionBlocks {
 protected:
  ContractionBlocks(llvm::Module& module, const ContractionSource& source)
      : builder_(module.getContext()),
        kernel_(source.kernel),
        problem_(*source.kernel.problem),
        contraction_(*problem_.contraction),
        isa_(source.isa),
        slots_(source.slots),
        strategy_(source.strategy),
        class_(source.shape_class) {}

  llvm::ConstantInt* number(std::int64_t value) {
    return builder_.getInt64(static_cast<std::uint64_t>(value));
  }
  llvm::Value* slot(int index) {
    return index == codegen::SlotTable::none ? number(0) : operands_->slot(index);
  }
  /// Of a strategy slot of the ticket's region.
  llvm::Value* region_slot(int index) {
    return builder_.CreateAlignedLoad(
        builder_.getInt64Ty(),
        builder_.CreateConstGEP1_64(builder_.getInt64Ty(), region_ints_,
                                    static_cast<std::uint64_t>(index)),
        llvm::Align(8));
  }
  llvm::Value* extent(int axis) { return slot(slots_.extent(axis)); }
  llvm::Value* stride(int operand, int axis) { return slot(slots_.stride(operand, axis)); }
  llvm::Value* minimum(llvm::Value* a, llvm::Value* b) {
    return builder_.CreateSelect(builder_.CreateICmpSLT(a, b), a, b);
  }
  llvm::Value* element(llvm::Value* base, llvm::Value* index) {
    return builder_.CreateGEP(builder_.getFloatTy(), base, index);
  }
  llvm::Value* scratch(llvm::Value* byte_offset) {
    return builder_.CreateGEP(builder_.getInt8Ty(), function_->getArg(3), byte_offset);
  }

  codegen::Part part(llvm::Value* value, llvm::Value* parts, llvm::Value* index) {
    return codegen::equal_part(builder_, value, parts, index);
  }
  static std::size_t at(int axis) { return static_cast<std::size_t>(axis); }
  bool exchanged() const { return problem_.lane_axis != contraction_.n; }
  bool a_packed() const {
    return problem_.operands[at(contraction_.a)].form == rkernel::Form::Packed;
  }
  DType dtype_of(int operand) const { return problem_.operands[at(operand)].dtype; }
  bool packed() const {
    return problem_.operands[at(contraction_.b)].form == rkernel::Form::Packed;
  }

  /// Loads what holds for all tickets, at the builder's place (the entry block).
  void load_strategy(const codegen::KernelArgsValues& args);
  /// Finds the ticket's region, loads its strategy, and the block of each axis of the threads
  /// layer: the last loop's runs fastest.
  void locate_ticket(llvm::Value* ticket);
  llvm::Value* find_region(llvm::Value* ticket);
  void load_region();
  /// Where the ticket's block of this axis lies.
  void open_block(int axis);
  /// Pointer to element (batch, 0, 0) of an operand of the contraction.
  llvm::Value* batch_base(int operand);

  codegen::Builder builder_;
  const rkernel::RKernel& kernel_;
  const rkernel::Problem& problem_;
  const rkernel::Contraction& contraction_;
  const codegen::Isa& isa_;
  const codegen::SlotTable& slots_;
  const StrategySlots& strategy_;
  const ContractionClass& class_;
  llvm::Function* function_ = nullptr;
  codegen::Operands* operands_ = nullptr;

  std::map<int, llvm::Value*> bases_, block_index_;
  std::vector<llvm::Value*> extents_;
  llvm::Value *m_blocks_ = nullptr, *n_blocks_ = nullptr, *tile_rows_ = nullptr,
              *tile_panels_ = nullptr, *block_k_ = nullptr, *k_blocks_ = nullptr,
              *copy_a_ = nullptr, *a_row_ = nullptr, *wide_table_ = nullptr,
              *narrow_table_ = nullptr, *half_table_ = nullptr, *direct_b_ = nullptr,
              *a_scratch_ = nullptr, *b_scratch_ = nullptr, *ints_ = nullptr,
              *region_ints_ = nullptr, *ask_ahead_ = nullptr, *k_slices_ = nullptr,
              *sums_row_ = nullptr, *shared_ = nullptr, *rest_columns_ = nullptr,
              *has_rest_ = nullptr;
  codegen::Part m_part_{}, n_part_{}, k_part_{};
  llvm::Value *first_rows_ = nullptr, *first_tiles_ = nullptr, *second_rows_ = nullptr;
  llvm::Value *m_tiles_ = nullptr, *wide_tiles_ = nullptr, *cut_panels_ = nullptr,
              *n_tiles_ = nullptr;
};

}  // namespace dyn::cpu
