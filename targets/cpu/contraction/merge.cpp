// The second stage of a contraction whose K was split: sums of the slices, in their order, then the
// epilogue.

#include <fmt/format.h>
#include <llvm/IR/Module.h>

#include <utility>
#include <vector>

#include "targets/cpu/contraction/emitter.hpp"
#include "targets/cpu/contraction/epilogue_function.hpp"
#include "targets/cpu/x86/functions.hpp"
#include "targets/llvm/code/loops.hpp"
#include "targets/llvm/problem/structure_key.hpp"

namespace dyn::cpu {
namespace {

using codegen::CountedLoop;
using llvm::Value;

class ContractionMergeEmitter {
 public:
  ContractionMergeEmitter(llvm::Module& module, const std::string& symbol,
                          const rkernel::Problem& factors, const codegen::Isa& isa)
      : builder_(module.getContext()),
        factors_(factors),
        contraction_(*factors.contraction),
        isa_(isa),
        slots_(factors),
        function_(create_kernel_function(builder_, module, symbol, isa)),
        operands_(builder_, factors, slots_.table,
                  std::vector(factors.operands.size(), codegen::StrideClass::Any),
                  codegen::load_kernel_args(builder_, function_->getArg(0)), isa.f32_lanes) {}

  void emit() {
    const Sums sums = load_sums();
    Value* epilogue =
        builder_.CreateIntToPtr(operands_.slot(slots_.strategy.epilogue), builder_.getPtrTy());
    Value* block_rows = operands_.slot(slots_.strategy.merge_rows);
    Value* blocks = builder_.CreateUDiv(
        builder_.CreateAdd(sums.rows, builder_.CreateSub(block_rows, number(1))), block_rows);
    CountedLoop tickets(builder_, function_->getArg(1),
                        builder_.CreateAdd(function_->getArg(1), function_->getArg(2)), number(1),
                        "ticket");
    Value* first = builder_.CreateMul(builder_.CreateURem(tickets.index(), blocks), block_rows);
    Value* beyond = builder_.CreateAdd(first, block_rows);
    const Batch batch = locate_batch(builder_.CreateUDiv(tickets.index(), blocks));
    CountedLoop rows(
        builder_, first,
        builder_.CreateSelect(builder_.CreateICmpSLT(beyond, sums.rows), beyond, sums.rows),
        number(1), "row");
    add_slices(sums, batch, rows.index());
    call_epilogue(builder_, epilogue, function_->getArg(0),
                  {contraction_.m, contraction_.n, rows.index(), number(1), number(0),
                   extent(contraction_.n), function_->getArg(3), sums.row},
                  batch.indices);
    rows.close();
    tickets.close();
    builder_.CreateRetVoid();
  }

 private:
  /// The sums of all slices: [slice][batch][rows][row].
  struct Sums {
    Value *start, *rows, *row;
  };
  struct Batch {
    Value *index, *count;         ///< a matrix's place, and how many there are
    std::vector<Value*> indices;  ///< along each axis of the batch
  };

  llvm::ConstantInt* number(std::int64_t value) {
    return builder_.getInt64(static_cast<std::uint64_t>(value));
  }
  Value* extent(int axis) {
    const int slot = operands_.slots().extent(axis);
    return slot == codegen::SlotTable::none ? number(0) : operands_.slot(slot);
  }
  Value* element(Value* base, Value* index) {
    return builder_.CreateGEP(builder_.getFloatTy(), base, index);
  }

  Sums load_sums() {
    Value* start = codegen::load_shared_memory(builder_, function_->getArg(0));
    Value* rows = extent(contraction_.m);
    return {start, rows, operands_.slot(slots_.strategy.sums_row)};
  }

  Batch locate_batch(Value* index) {
    Value *left = index, *count = number(1);
    const std::vector<int> axes = batch_axes(factors_);
    std::vector<Value*> indices(axes.size());
    for (std::size_t i = axes.size(); i-- > 0;) {
      Value* trips = extent(axes[i]);
      indices[i] = builder_.CreateURem(left, trips);
      left = builder_.CreateUDiv(left, trips);
      count = builder_.CreateMul(count, trips);
    }
    return {index, count, std::move(indices)};
  }

  // Adds up one row of all slices into scratch.
  void add_slices(const Sums& sums, const Batch& batch, Value* row) {
    Value* row_of_batch = builder_.CreateAdd(builder_.CreateMul(batch.index, sums.rows), row);
    Value* first = element(sums.start, builder_.CreateMul(row_of_batch, sums.row));
    Value* slice_size = builder_.CreateMul(builder_.CreateMul(batch.count, sums.rows), sums.row);
    const DType dtype = rkernel::factors_of(factors_).sums();
    auto* vector = llvm::FixedVectorType::get(codegen::memory_type(builder_.getContext(), dtype),
                                              static_cast<unsigned>(isa_.f32_lanes));
    CountedLoop columns(builder_, number(0), sums.row, number(isa_.f32_lanes), "column");
    Value* zero = llvm::Constant::getNullValue(vector);
    CountedLoop slices(builder_, number(0), operands_.slot(slots_.strategy.slices), number(1),
                       "slice", std::span(&zero, 1));
    Value* offset =
        builder_.CreateAdd(builder_.CreateMul(slices.index(), slice_size), columns.index());
    Value* slice = builder_.CreateAlignedLoad(vector, element(first, offset), llvm::Align(4));
    Value* next = is_float(dtype) ? builder_.CreateFAdd(slices.carried(0), slice)
                                  : builder_.CreateAdd(slices.carried(0), slice);
    Value* total = slices.close(std::span(&next, 1))[0];
    builder_.CreateAlignedStore(total, element(function_->getArg(3), columns.index()),
                                llvm::Align(4));
    columns.close();
  }

  codegen::Builder builder_;
  const rkernel::Problem& factors_;
  const rkernel::Contraction& contraction_;
  const codegen::Isa& isa_;
  const ContractionSlots slots_;
  llvm::Function* function_;
  codegen::Operands operands_;
};

}  // namespace

codegen::KernelSource contraction_merge_source(const rkernel::Problem& factors,
                                               const codegen::Isa& isa) {
  return {fmt::format("contraction merge {}",
                      codegen::structure_key(factors, ContractionSlots(factors).table)),
          [&factors, &isa](llvm::Module& module, const std::string& symbol) {
            ContractionMergeEmitter(module, symbol, factors, isa).emit();
          }};
}

}  // namespace dyn::cpu
