#include "targets/cpu/move/move_functions.hpp"

#include <fmt/format.h>
#include <llvm/IR/Module.h>

#include <string>

#include "targets/cpu/move/group_panels.hpp"
#include "targets/llvm/code/loops.hpp"

namespace dyn::cpu {
namespace {

using codegen::Builder;

const char* name_of(MoveKind kind) {
  switch (kind) {
    case MoveKind::RowCopy: return "row copy";
    case MoveKind::ColumnsAsRows: return "columns as rows";
    case MoveKind::Panels: return "panels";
    case MoveKind::GroupPanels: return "panels of groups";
    case MoveKind::GroupRows: return "rows of groups";
  }
  return "";
}

llvm::FunctionType* move_type(Builder& builder) {
  llvm::Type *const pointer = builder.getPtrTy(), *const number = builder.getInt64Ty();
  return llvm::FunctionType::get(builder.getVoidTy(),
                                 {pointer, number, number, number, number, pointer, number}, false);
}

void emit_kind(Builder& builder, const codegen::Isa& isa, MoveKind kind, rkernel::Group group,
               const StridedMatrix& from, const llvm::Function& function) {
  llvm::Value *const rows = function.getArg(3), *const columns = function.getArg(4),
                     *const to = function.getArg(5), *const last = function.getArg(6);
  switch (kind) {
    case MoveKind::RowCopy: return emit_row_copy(builder, isa, from, rows, columns, to, last);
    case MoveKind::ColumnsAsRows:
      return emit_columns_as_rows(builder, isa, from, rows, columns, to, last);
    case MoveKind::Panels: return emit_panels(builder, isa, from, rows, last, columns, to);
    case MoveKind::GroupPanels:
      return emit_group_panels(builder, isa, group, from, rows, last, columns, to);
    case MoveKind::GroupRows:
      return emit_group_rows(builder, isa, group, from, rows, columns, to, last);
  }
}

void emit_move(llvm::Module& module, const std::string& symbol, const codegen::Isa& isa,
               MoveKind kind, DType dtype, rkernel::Group group) {
  Builder builder(module.getContext());
  llvm::Function* const function =
      llvm::Function::Create(move_type(builder), llvm::Function::ExternalLinkage, symbol, module);
  builder.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", function));
  llvm::Value* const stride = function->getArg(2);
  llvm::Value* const is_unit = builder.CreateICmpEQ(stride, builder.getInt64(1));
  for (const bool unit : {true, false}) {
    codegen::Conditional columns(builder, unit ? is_unit : builder.CreateNot(is_unit),
                                 unit ? "contiguous" : "apart");
    emit_kind(builder, isa, kind, group,
              {function->getArg(0), function->getArg(1), unit ? builder.getInt64(1) : stride, unit,
               dtype},
              *function);
    columns.close();
  }
  builder.CreateRetVoid();
}

}  // namespace

codegen::KernelSource move_source(const codegen::Isa& isa, MoveKind kind, DType dtype,
                                  rkernel::Group group) {
  const std::string as =
      group == rkernel::Group::None ? "" : " as " + rkernel::Factors(group).name();
  return {fmt::format("move {} {}{}", name_of(kind), name_of(dtype), as),
          [&isa, kind, dtype, group](llvm::Module& module, const std::string& symbol) {
            emit_move(module, symbol, isa, kind, dtype, group);
          }};
}

std::vector<codegen::KernelSource> move_sources(const codegen::Isa& isa) {
  std::vector<codegen::KernelSource> sources{move_source(isa, MoveKind::Panels, DType::f32)};
  for (const MoveKind kind : {MoveKind::RowCopy, MoveKind::ColumnsAsRows}) {
    for (const DType dtype : codegen::widened_dtypes(isa))
      sources.push_back(move_source(isa, kind, dtype));
  }
  return sources;
}

void call_move(Builder& builder, llvm::Value* function, const StridedMatrix& from,
               llvm::Value* rows, llvm::Value* columns, llvm::Value* to, llvm::Value* last) {
  builder.CreateCall(move_type(builder), function,
                     {from.data, from.row_stride, from.column_stride, rows, columns, to, last});
}

}  // namespace dyn::cpu
