#include "targets/cpu/contraction/epilogue_function.hpp"

#include <fmt/format.h>
#include <llvm/IR/Module.h>

#include "targets/cpu/x86/functions.hpp"
#include "targets/llvm/problem/structure_key.hpp"

namespace dyn::cpu {
namespace {

using codegen::Builder;

enum Argument : unsigned {
  kernel_argument,
  first_row_argument,
  rows_argument,
  first_lane_argument,
  lanes_argument,
  tile_argument,
  tile_row_argument,
  batch_argument
};

llvm::FunctionType* epilogue_type(Builder& builder, std::size_t batch_axes) {
  llvm::Type *pointer = builder.getPtrTy(), *i64 = builder.getInt64Ty();
  std::vector<llvm::Type*> types{pointer, i64, i64, i64, i64, pointer, i64};
  types.resize(types.size() + batch_axes, i64);
  return llvm::FunctionType::get(builder.getVoidTy(), types, false);
}

void emit_epilogue(llvm::Module& module, const std::string& symbol, const rkernel::Problem& problem,
                   const codegen::Isa& isa, const codegen::SlotTable& slots,
                   const std::vector<codegen::StrideClass>& lanes) {
  Builder builder(module.getContext());
  const std::vector<int> batch = batch_axes(problem);
  llvm::Function* function = llvm::Function::Create(
      epilogue_type(builder, batch.size()), llvm::Function::ExternalLinkage, symbol, module);
  allow_rounding(*function, isa);
  builder.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", function));
  const auto argument = [&](unsigned index) { return function->getArg(index); };
  codegen::Operands operands(builder, problem, slots, lanes,
                             codegen::load_kernel_args(builder, argument(kernel_argument)),
                             isa.f32_lanes);
  codegen::ExprCompiler compiler(builder, problem, operands, codegen::MathOptions{.fma = isa.fma});
  for (std::size_t i = 0; i < batch.size(); ++i)
    operands.set_index(batch[i], argument(batch_argument + static_cast<unsigned>(i)));
  ContractionEpilogue(builder, problem, isa, operands, compiler)
      .emit({problem.contraction->m, problem.contraction->n, argument(first_row_argument),
             argument(rows_argument), argument(first_lane_argument), argument(lanes_argument),
             argument(tile_argument), argument(tile_row_argument)});
  builder.CreateRetVoid();
}

}  // namespace

codegen::KernelSource epilogue_source(const rkernel::Problem& problem, const codegen::Isa& isa,
                                      const codegen::SlotTable& slots,
                                      const std::vector<codegen::StrideClass>& lanes) {
  return {fmt::format("contraction epilogue {} {}", codegen::class_letters(lanes),
                      codegen::structure_key(problem, slots)),
          [&problem, &isa, &slots, &lanes](llvm::Module& module, const std::string& symbol) {
            emit_epilogue(module, symbol, problem, isa, slots, lanes);
          }};
}

void call_epilogue(Builder& builder, llvm::Value* function, llvm::Value* kernel_args,
                   const TileOutputs& outputs, std::span<llvm::Value* const> batch) {
  std::vector<llvm::Value*> arguments{kernel_args,        outputs.first_row, outputs.rows,
                                      outputs.first_lane, outputs.lanes,     outputs.tile,
                                      outputs.tile_row};
  arguments.insert(arguments.end(), batch.begin(), batch.end());
  builder.CreateCall(epilogue_type(builder, batch.size()), function, arguments);
}

}  // namespace dyn::cpu
