#pragma once
// Numbers of a launch, and addresses of its operands, as a kernel reads them.

#include <cstdint>

#include "targets/llvm/problem/operands.hpp"

namespace dyn::ptx {

class LaunchValues {
 public:
  /// All must outlive it.
  LaunchValues(codegen::Builder& builder, const rkernel::Problem& problem,
               const codegen::SlotTable& slots, const codegen::KernelArgsValues& args,
               codegen::Operands& operands)
      : builder_(builder), problem_(problem), slots_(slots), args_(args), operands_(operands) {}

  llvm::ConstantInt* wide(std::int64_t value) const;
  /// The i64 in a slot; 0 where there is none.
  llvm::Value* slot(int index) const;
  /// The low word of a slot, i32, or all of it: loaded where it is used, so that it takes no
  /// register before.
  llvm::Value* loaded(int index) const;
  llvm::Value* loaded_wide(int index) const;
  llvm::Value* extent(int axis) const { return slot(slots_.extent(axis)); }
  llvm::Value* stride(int operand, int axis) const { return slot(slots_.stride(operand, axis)); }
  /// Counts the existing elements among `size` from `first` on, of `extent`, both i64, as i32.
  llvm::Value* existing(llvm::Value* extent, llvm::Value* first, int size) const;
  /// Element `index` (i64) of an operand, counted from the one at `base`.
  llvm::Value* element(int operand, llvm::Value* base, llvm::Value* index) const;
  /// The operand's element with index 0 along all axes.
  llvm::Value* base(int operand) const;

 private:
  codegen::Builder& builder_;
  const rkernel::Problem& problem_;
  const codegen::SlotTable& slots_;
  const codegen::KernelArgsValues& args_;
  codegen::Operands& operands_;
};

}  // namespace dyn::ptx
