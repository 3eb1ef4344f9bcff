#pragma once
// Device operations: everything that a kernel may do beside arithmetic and plain memory access,
// with PTX's own operands. An operation that is not in this table does not exist.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "targets/llvm/code/types.hpp"
#include "targets/ptx/ir/op.hpp"

namespace dyn::ptx {

struct DeviceOp {
  Op op;
  std::string_view name;       ///< name of the function: "dyn.dev.mma.m16n8k16.bf16"
  std::string_view signature;  ///< "result(arguments)", one letter each, see device_ops.def
  std::string_view ptx;        ///< the instruction that it becomes
  std::string_view text;       ///< what it does
};
std::span<const DeviceOp> device_ops();
const DeviceOp* find_device_op(std::string_view name);  ///< nullptr: there is none

llvm::FunctionType* function_type(llvm::LLVMContext& context, const DeviceOp& op);
/// Emits a call at the builder's place; declares the operation in its module. Several results come
/// as a struct.
llvm::CallInst* call(codegen::Builder& builder, Op op,
                     std::span<llvm::Value* const> arguments = {});
inline llvm::CallInst* call(codegen::Builder& builder, Op op,
                            std::initializer_list<llvm::Value*> arguments) {
  return call(builder, op, std::span<llvm::Value* const>(arguments.begin(), arguments.size()));
}
/// The results of a call as separate values.
std::vector<llvm::Value*> results(codegen::Builder& builder, llvm::CallInst* call);

}  // namespace dyn::ptx
