// The second stage of a contraction whose K was split: sums of the slices, in their order, then the
// epilogue.

#include <llvm/IR/Module.h>

#include "targets/cpu/contraction/emitter.hpp"
#include "targets/cpu/contraction/full_tiles.hpp"
#include "targets/cpu/tile/epilogue.hpp"
#include "targets/cpu/x86/functions.hpp"
#include "targets/llvm/code/loops.hpp"

namespace dyn::cpu {
namespace {

using codegen::CountedLoop;
using llvm::Value;

class ContractionMergeEmitter {
 public:
  ContractionMergeEmitter(llvm::Module& module, const std::string& symbol,
                          const rkernel::Problem& problem, const codegen::Isa& isa,
                          const codegen::SlotTable& slots, const StrategySlots& strategy,
                          const ContractionClass& shape_class)
      : builder_(module.getContext()),
        problem_(problem),
        contraction_(*problem.contraction),
        isa_(isa),
        function_(create_kernel_function(builder_, module, symbol)),
        operands_(builder_, problem, slots, shape_class.lanes,
                  codegen::load_kernel_args(builder_, function_->getArg(0)), isa.f32_lanes),
        compiler_(builder_, problem, operands_, codegen::MathOptions{.fma = isa.fma}),
        epilogue_(builder_, problem, isa, operands_, compiler_),
        strategy_(strategy) {}

  void emit() {
    const Sums sums = load_sums();
    Value* block_rows = operands_.slot(strategy_.merge_rows);
    Value* blocks = builder_.CreateUDiv(
        builder_.CreateAdd(sums.rows, builder_.CreateSub(block_rows, number(1))), block_rows);
    CountedLoop tickets(builder_, function_->getArg(1),
                        builder_.CreateAdd(function_->getArg(1), function_->getArg(2)), number(1),
                        "ticket");
    Value* first = builder_.CreateMul(builder_.CreateURem(tickets.index(), blocks), block_rows);
    Value* beyond = builder_.CreateAdd(first, block_rows);
    const Batch batch = enter_batch(builder_.CreateUDiv(tickets.index(), blocks));
    CountedLoop rows(
        builder_, first,
        builder_.CreateSelect(builder_.CreateICmpSLT(beyond, sums.rows), beyond, sums.rows),
        number(1), "row");
    add_slices(sums, batch, rows.index());
    epilogue_.emit({contraction_.m, contraction_.n, rows.index(), number(1), number(0),
                    extent(contraction_.n), function_->getArg(3), sums.row});
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
    Value *index, *count;  ///< a matrix's place, and how many there are
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
    return {start, rows, operands_.slot(strategy_.sums_row)};
  }

  // Sets the index along each axis of the batch.
  Batch enter_batch(Value* index) {
    Value *left = index, *count = number(1);
    const std::vector<int> axes = batch_axes(problem_);
    for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
      Value* trips = extent(*axis);
      operands_.set_index(*axis, builder_.CreateURem(left, trips));
      left = builder_.CreateUDiv(left, trips);
      count = builder_.CreateMul(count, trips);
    }
    return {index, count};
  }

  // Adds up one row of all slices into scratch.
  void add_slices(const Sums& sums, const Batch& batch, Value* row) {
    Value* row_of_batch = builder_.CreateAdd(builder_.CreateMul(batch.index, sums.rows), row);
    Value* first = element(sums.start, builder_.CreateMul(row_of_batch, sums.row));
    Value* slice_size = builder_.CreateMul(builder_.CreateMul(batch.count, sums.rows), sums.row);
    auto* vector =
        llvm::FixedVectorType::get(builder_.getFloatTy(), static_cast<unsigned>(isa_.f32_lanes));
    CountedLoop columns(builder_, number(0), sums.row, number(isa_.f32_lanes), "column");
    Value* zero = llvm::Constant::getNullValue(vector);
    CountedLoop slices(builder_, number(0), operands_.slot(strategy_.k_slices), number(1), "slice",
                       std::span(&zero, 1));
    Value* offset =
        builder_.CreateAdd(builder_.CreateMul(slices.index(), slice_size), columns.index());
    Value* next = builder_.CreateFAdd(
        slices.carried(0),
        builder_.CreateAlignedLoad(vector, element(first, offset), llvm::Align(4)));
    Value* total = slices.close(std::span(&next, 1))[0];
    builder_.CreateAlignedStore(total, element(function_->getArg(3), columns.index()),
                                llvm::Align(4));
    columns.close();
  }

  codegen::Builder builder_;
  const rkernel::Problem& problem_;
  const rkernel::Contraction& contraction_;
  const codegen::Isa& isa_;
  llvm::Function* function_;
  codegen::Operands operands_;
  codegen::ExprCompiler compiler_;
  ContractionEpilogue epilogue_;
  const StrategySlots& strategy_;
};

}  // namespace

void emit_contraction_merge(llvm::Module& module, const std::string& symbol,
                            const rkernel::Problem& problem, const codegen::Isa& isa,
                            const codegen::SlotTable& slots, const StrategySlots& strategy,
                            const ContractionClass& shape_class) {
  ContractionMergeEmitter(module, symbol, problem, isa, slots, strategy, shape_class).emit();
}

}  // namespace dyn::cpu
