#pragma once
// Where a ticket of a contraction stands: its region's strategy, and its block of each axis, as IR.

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

  const rkernel::Problem& problem() const { return *kernel.problem; }
  const rkernel::Contraction& contraction() const { return *problem().contraction; }
  const rkernel::Operand& operand(int index) const {
    return problem().operands[static_cast<std::size_t>(index)];
  }
  const rkernel::Operand& a() const { return operand(contraction().a); }
  const rkernel::Operand& b() const { return operand(contraction().b); }
  /// As wide as what one step of K reads of a row of A, and of a column of B.
  DType a_step() const { return grouped() ? DType::i32 : rkernel::left_dtype(problem()); }
  DType b_step() const { return factors().step_dtype(); }
  /// The elements that strides count: of a right side that is not packed, and of the left one.
  DType b_element() const { return grouped() ? b().dtype : DType::f32; }
  DType a_element() const { return contraction().is_ragged() ? a().dtype : DType::f32; }
  rkernel::Factors factors() const { return rkernel::factors_of(problem()); }
  bool grouped() const { return contraction().group != rkernel::Group::None; }
  /// Right sides, each with sums of its own: panels of as many take turns.
  std::int64_t sides() const { return static_cast<std::int64_t>(contraction().others.size()) + 1; }
  bool a_packed() const { return a().form == rkernel::Form::Packed; }
  bool b_packed() const { return b().form == rkernel::Form::Packed; }
  /// Lanes run along the rows of the problem as it came.
  bool exchanged() const { return problem().lane_axis != contraction().n; }
};

/// The strategy of a region, as its slots have it; the names are those of StrategySlots.
struct RegionValues {
  llvm::Value* ints;  ///< the region's slots
  llvm::Value *m_blocks, *n_blocks, *k_slices, *tile_rows, *tile_panels, *block_k, *k_blocks;
  llvm::Value *copy_a, *ask_ahead, *a_row, *wide_table, *narrow_table, *half_table, *direct_b;
  llvm::Value *a_scratch, *b_scratch;  ///< pointers
  llvm::Value* rest_columns;
  llvm::Value* sides_table;
};

/// The columns of a ticket's block, in panels.
struct ColumnBlock {
  codegen::Part panels;
  llvm::Value* has_rest;    ///< dots compute columns of its last panel
  llvm::Value* cut_panels;  ///< 1: its last panel is a tile of its own, 0: it is none
  llvm::Value *wide_tiles, *tiles;
};

/// The rows of a ticket's block: a run of tiles of first_rows rows, then others of second_rows.
struct RowBlock {
  codegen::Part rows;
  llvm::Value *first_rows, *first_tiles, *second_rows, *tiles;
};

struct Ticket {
  RegionValues region;
  std::map<int, llvm::Value*> index;  ///< its block's, along each axis of the threads layer
  codegen::Part slice;                ///< its part of K
  ColumnBlock columns;
  RowBlock rows;
};

/// A kernel's function while it is written, with what its entry block loads for all tickets.
class ContractionFunction {
 public:
  /// Loads at the builder's place, the entry block. What it is made from must outlive it.
  ContractionFunction(const ContractionSource& source, codegen::Builder& builder,
                      llvm::Function* function, codegen::Operands& operands,
                      const codegen::KernelArgsValues& args);

  const ContractionSource& source() const { return source_; }
  codegen::Builder& builder() const { return builder_; }

  llvm::Value* kernel_args() const { return function_->getArg(0); }
  llvm::Value* ints() const { return ints_; }      ///< KernelArgs::ints
  llvm::Value* shared() const { return shared_; }  ///< KernelArgs::shared
  llvm::Value* extent(int axis) const { return extents_[static_cast<std::size_t>(axis)]; }
  llvm::Value* sums_row() const { return sums_row_; }
  /// Blocks of codes along K, the last of which may be cut.
  llvm::Value* blocks_of_codes() const;
  llvm::Value* tiles() const { return function_->getArg(3); }  ///< where scratch begins
  llvm::Value* scratch(llvm::Value* byte_offset) const {
    return builder_.CreateGEP(builder_.getInt8Ty(), function_->getArg(3), byte_offset);
  }
  /// The first element of A or B.
  llvm::Value* base(int operand) const {
    return operand == source_.contraction().a ? a_base_ : b_base_;
  }

  llvm::ConstantInt* number(std::int64_t value) const {
    return builder_.getInt64(static_cast<std::uint64_t>(value));
  }
  llvm::Value* slot(int index) const {
    return index == codegen::SlotTable::none ? number(0) : operands_.slot(index);
  }
  llvm::Value* stride(int operand, int axis) const {
    return slot(source_.slots.stride(operand, axis));
  }
  /// The ticket's index along each batch axis, in their order.
  std::vector<llvm::Value*> batch_of(const Ticket& ticket) const;
  llvm::Value* region_slot(llvm::Value* region_ints, int index) const {
    return builder_.CreateAlignedLoad(
        builder_.getInt64Ty(),
        builder_.CreateConstGEP1_64(builder_.getInt64Ty(), region_ints,
                                    static_cast<std::uint64_t>(index)),
        llvm::Align(8));
  }
  llvm::Value* region_slot(const RegionValues& region, int index) const {
    return region_slot(region.ints, index);
  }
  llvm::Value* minimum(llvm::Value* a, llvm::Value* b) const {
    return builder_.CreateSelect(builder_.CreateICmpSLT(a, b), a, b);
  }
  llvm::Value* element(llvm::Value* base, llvm::Value* index) const {
    return builder_.CreateGEP(builder_.getFloatTy(), base, index);
  }

 private:
  std::vector<llvm::Value*> load_extents() const;
  llvm::Value* load_base(llvm::Value* pointers, int operand) const;

  const ContractionSource& source_;
  codegen::Builder& builder_;
  llvm::Function* function_;
  codegen::Operands& operands_;
  llvm::Value *ints_, *shared_;
  std::vector<llvm::Value*> extents_;
  llvm::Value *sums_row_, *a_base_, *b_base_;
};

/// Finds the ticket's region, and its block of each axis of the threads layer: the last loop's runs
/// fastest.
Ticket locate_ticket(const ContractionFunction& code, llvm::Value* ticket);

/// Pointer to element (batch, 0, 0) of A or B.
llvm::Value* matrix_of_batch(const ContractionFunction& code, const Ticket& ticket, int operand);

}  // namespace dyn::cpu
