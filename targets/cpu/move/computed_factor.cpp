#include "targets/cpu/move/computed_factor.hpp"

#include <fmt/format.h>
#include <llvm/IR/Module.h>

#include <array>

#include "targets/cpu/x86/functions.hpp"
#include "targets/llvm/code/loops.hpp"
#include "targets/llvm/problem/expr_compiler.hpp"
#include "targets/llvm/problem/instruction_counts.hpp"
#include "targets/llvm/problem/structure_key.hpp"

namespace dyn::cpu {
namespace {

using codegen::axis_bit;
using codegen::Builder;
using codegen::Conditional;
using codegen::CountedLoop;

enum FactorArgument : unsigned {
  args_of_kernel,
  first_row_of_block,
  rows_of_block,
  first_column_of_block,
  columns_of_block,
  place_of_block,
  last_of_block,
  first_batch_index
};

llvm::FunctionType* factor_type(Builder& builder, std::size_t batch_axes) {
  llvm::Type *pointer = builder.getPtrTy(), *i64 = builder.getInt64Ty();
  std::vector<llvm::Type*> types{pointer, i64, i64, i64, i64, pointer, i64};
  types.resize(types.size() + batch_axes, i64);
  return llvm::FunctionType::get(builder.getVoidTy(), types, false);
}

int value_of_factor(const rkernel::Problem& problem, Factor factor) {
  return factor == Factor::Left ? problem.contraction->a_value : problem.contraction->b_value;
}

/// The axes of a factor's rows and columns.
int row_axis(const rkernel::Contraction& of, Factor factor) {
  return factor == Factor::Left ? of.m : of.k;
}
int column_axis(const rkernel::Contraction& of, Factor factor) {
  return factor == Factor::Left ? of.k : of.n;
}

class FactorEmitter {
 public:
  FactorEmitter(Builder& builder, const rkernel::Problem& problem, Factor factor,
                const codegen::Isa& isa, codegen::Operands& operands, llvm::Function& function)
      : builder_(builder),
        problem_(problem),
        factor_(factor),
        isa_(isa),
        operands_(operands),
        compiler_(builder, problem, operands, codegen::MathOptions{.fma = isa.fma}),
        function_(function),
        root_{value_of_factor(problem, factor)} {}

  void emit() {
    const codegen::AxisSet rows = axis_bit(row_axis(*problem_.contraction, factor_)),
                           lanes = axis_bit(problem_.lane_axis);
    compiler_.enter(rows | lanes, root_);
    factor_ == Factor::Left ? emit_rows(lanes) : emit_all_panels(lanes);
    compiler_.leave();
  }

 private:
  llvm::Value* argument(unsigned index) const { return function_.getArg(index); }
  llvm::ConstantInt* number(std::int64_t value) const {
    return builder_.getInt64(static_cast<std::uint64_t>(value));
  }
  llvm::Value* lanes_below(llvm::Value* count) {
    return builder_.CreateICmpSLT(codegen::iota(builder_, builder_.getInt64Ty(), isa_.f32_lanes),
                                  codegen::broadcast(builder_, count, isa_.f32_lanes));
  }

  /// The row number `index` of the block.
  void enter_row(llvm::Value* index, codegen::AxisSet lanes) {
    operands_.set_index(row_axis(*problem_.contraction, factor_),
                        builder_.CreateAdd(argument(first_row_of_block), index));
    compiler_.enter(lanes, root_);
  }

  /// The vector from `column` of the block on goes to `to`; 0 in lanes that are masked.
  void emit_vector(llvm::Value* column, llvm::Value* mask, llvm::Value* to) {
    operands_.set_index(problem_.lane_axis,
                        builder_.CreateAdd(argument(first_column_of_block), column));
    operands_.set_mask(mask);
    compiler_.enter(0);
    llvm::Value* value = compiler_.compile(root_[0]);
    compiler_.leave();
    operands_.set_mask(nullptr);
    if (mask != nullptr)
      value = builder_.CreateSelect(mask, value, llvm::Constant::getNullValue(value->getType()));
    builder_.CreateAlignedStore(value, to, llvm::Align(4));
  }

  // Rows have room for whole vectors.
  void emit_rows(codegen::AxisSet lanes) {
    llvm::Value* width = number(isa_.f32_lanes);
    llvm::Value* whole = builder_.CreateAnd(argument(columns_of_block), builder_.CreateNeg(width));
    llvm::Value* rest = builder_.CreateSub(argument(columns_of_block), whole);
    CountedLoop rows(builder_, number(0), argument(rows_of_block), number(1), "factor_row");
    enter_row(rows.index(), lanes);
    llvm::Value* to = builder_.CreateGEP(builder_.getFloatTy(), argument(place_of_block),
                                         builder_.CreateMul(rows.index(), argument(last_of_block)));
    const auto place = [&](llvm::Value* column) {
      return builder_.CreateGEP(builder_.getFloatTy(), to, column);
    };
    CountedLoop vectors(builder_, number(0), whole, width, "factor_vector");
    emit_vector(vectors.index(), nullptr, place(vectors.index()));
    vectors.close();
    Conditional tail(builder_, builder_.CreateICmpSGT(rest, number(0)), "factor_tail");
    emit_vector(whole, lanes_below(rest), place(whole));
    tail.close();
    compiler_.leave();
    rows.close();
  }

  void emit_all_panels(codegen::AxisSet lanes) {
    llvm::Value *panels = argument(last_of_block), *columns = argument(columns_of_block);
    llvm::Value* existing = builder_.CreateUDiv(columns, number(isa_.panel_f32));
    llvm::Value* whole =
        builder_.CreateSelect(builder_.CreateICmpSLT(existing, panels), existing, panels);
    CountedLoop wholes(builder_, number(0), whole, number(1), "factor_panel");
    emit_panel(wholes.index(), lanes, nullptr);
    wholes.close();
    Conditional cut(builder_, builder_.CreateICmpSLT(whole, panels), "factor_cut_panel");
    emit_panel(whole, lanes,
               builder_.CreateSub(columns, builder_.CreateMul(whole, number(isa_.panel_f32))));
    cut.close();
  }

  // `left`: columns that exist; nullptr: all of the panel's.
  void emit_panel(llvm::Value* panel, codegen::AxisSet lanes, llvm::Value* left) {
    CountedLoop rows(builder_, number(0), argument(rows_of_block), number(1), "factor_row");
    enter_row(rows.index(), lanes);
    llvm::Value* row =
        builder_.CreateAdd(builder_.CreateMul(panel, argument(rows_of_block)), rows.index());
    for (int lane = 0; lane < isa_.panel_f32; lane += isa_.f32_lanes) {
      llvm::Value* column =
          builder_.CreateAdd(builder_.CreateMul(panel, number(isa_.panel_f32)), number(lane));
      llvm::Value* at =
          builder_.CreateAdd(builder_.CreateMul(row, number(isa_.panel_f32)), number(lane));
      emit_vector(column,
                  left == nullptr ? nullptr : lanes_below(builder_.CreateSub(left, number(lane))),
                  builder_.CreateGEP(builder_.getFloatTy(), argument(place_of_block), at));
    }
    compiler_.leave();
    rows.close();
  }

  Builder& builder_;
  const rkernel::Problem& problem_;
  const Factor factor_;
  const codegen::Isa& isa_;
  codegen::Operands& operands_;
  codegen::ExprCompiler compiler_;
  llvm::Function& function_;
  const std::array<int, 1> root_;
};

void emit_computed_factor(llvm::Module& module, const std::string& symbol, rkernel::Problem problem,
                          Factor factor, const codegen::Isa& isa, const codegen::SlotTable& slots) {
  Builder builder(module.getContext());
  const std::vector<int> batch = batch_axes(problem);
  llvm::Function* function = llvm::Function::Create(
      factor_type(builder, batch.size()), llvm::Function::ExternalLinkage, symbol, module);
  allow_rounding(*function, isa);
  builder.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", function));
  problem.lane_axis = column_axis(*problem.contraction, factor);
  codegen::Operands operands(builder, problem, slots, classes_along(problem, problem.lane_axis),
                             codegen::load_kernel_args(builder, function->getArg(args_of_kernel)),
                             isa.f32_lanes);
  for (std::size_t i = 0; i < batch.size(); ++i)
    operands.set_index(batch[i], function->getArg(first_batch_index + static_cast<unsigned>(i)));
  FactorEmitter(builder, problem, factor, isa, operands, *function).emit();
  builder.CreateRetVoid();
}

}  // namespace

std::vector<codegen::StrideClass> classes_along(const rkernel::Problem& problem, int axis) {
  std::vector<codegen::StrideClass> classes;
  for (const rkernel::Operand& operand : problem.operands) {
    const auto possible =
        codegen::possible_classes(operand.strides[static_cast<std::size_t>(axis)]);
    classes.push_back(possible.size() == 1 ? possible.front() : codegen::StrideClass::Any);
  }
  return classes;
}

codegen::KernelSource computed_factor_source(const rkernel::Problem& problem, Factor factor,
                                             const codegen::Isa& isa,
                                             const codegen::SlotTable& slots) {
  const int axis = column_axis(*problem.contraction, factor);
  return {fmt::format("computed {} factor {} {}", factor == Factor::Left ? "left" : "right",
                      codegen::class_letters(classes_along(problem, axis)),
                      codegen::structure_key(problem, slots)),
          [&problem, factor, &isa, &slots](llvm::Module& module, const std::string& symbol) {
            emit_computed_factor(module, symbol, problem, factor, isa, slots);
          }};
}

double operations_of_factor(const rkernel::Problem& problem, Factor factor) {
  const int root = value_of_factor(problem, factor);
  if (root < 0) return 0;
  const std::vector<codegen::StrideClass> classes =
      classes_along(problem, column_axis(*problem.contraction, factor));
  const std::vector<bool> reached = rkernel::reached_exprs(problem.exprs, {&root, 1});
  double operations = 0;
  for (std::size_t i = 0; i < problem.exprs.size(); ++i) {
    const rkernel::Expr& expr = problem.exprs[i];
    if (reached[i])
      operations += codegen::instructions_of(problem, expr,
                                             expr.operand < 0
                                                 ? codegen::StrideClass::Unit
                                                 : classes[static_cast<std::size_t>(expr.operand)]);
  }
  return operations;
}

void call_computed_factor(Builder& builder, llvm::Value* function, llvm::Value* kernel_args,
                          const FactorBlock& block, std::span<llvm::Value* const> batch) {
  std::vector<llvm::Value*> arguments{kernel_args,        block.first_row, block.rows,
                                      block.first_column, block.columns,   block.to,
                                      block.last};
  arguments.insert(arguments.end(), batch.begin(), batch.end());
  builder.CreateCall(factor_type(builder, batch.size()), function, arguments);
}

}  // namespace dyn::cpu
