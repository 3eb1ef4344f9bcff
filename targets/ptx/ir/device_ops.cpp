#include "targets/ptx/ir/device_ops.hpp"

#include <fmt/format.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/ModRef.h>

#include <algorithm>

#include "dyn/error.hpp"
#include "targets/ptx/ir/device_module.hpp"

namespace dyn::ptx {
namespace {

constexpr DeviceOp table[] = {
#define DYN_DEVICE_OP(id, name, signature, ptx, text) {Op::id, name, signature, ptx, text},
#include "targets/ptx/ir/device_ops.def"
#undef DYN_DEVICE_OP
};

llvm::Type* type_of(llvm::LLVMContext& context, char letter) {
  switch (letter) {
    case 'v': return llvm::Type::getVoidTy(context);
    case 'i':
    case 'I': return llvm::Type::getInt32Ty(context);
    case 'l': return llvm::Type::getInt64Ty(context);
    case 'h': return llvm::Type::getInt16Ty(context);
    case 'b': return llvm::Type::getInt1Ty(context);
    case 'f': return llvm::Type::getFloatTy(context);
    case 's': return llvm::PointerType::get(context, shared_space);
    case 'g': return llvm::PointerType::get(context, global_space);
    default:
      throw Error(ErrorKind::internal,
                  fmt::format("'{}' is no letter of a device operation's signature", letter));
  }
}

/// A compiler may assume this of calls. All return to their caller without unwinding.
enum class Effects {
  Pure,        ///< depends on its arguments and the thread alone
  Collective,  ///< depends on the arguments of all lanes that reach this very place together
  Exchange,    ///< the same, and waits for these lanes
  Memory,      ///< reads, writes or orders memory that no argument names, now or later
  Waits        ///< as Memory, and goes on only when other threads have reached this very place
};

Effects effects_of(Op op) {
  switch (op) {
    case Op::Thread:
    case Op::Block:
    case Op::Blocks:
    case Op::Lane:
    case Op::Shared:
    case Op::Permute:
    case Op::ToBf16:
    case Op::ToF16:
    case Op::FromF16:
    case Op::Exp2:
    case Op::Reciprocal: return Effects::Pure;
    case Op::MmaF16:
    case Op::MmaBf16:
    case Op::MmaTf32:
    case Op::MmaU8U8:
    case Op::MmaU8I8:
    case Op::MmaI8U8:
    case Op::MmaI8I8: return Effects::Collective;
    case Op::ShuffleBfly:
    case Op::ShuffleDown:
    case Op::ShuffleIndex:
    case Op::Ballot: return Effects::Exchange;
    case Op::Barrier:
    case Op::NamedBarrier:
    case Op::WarpSync:
    case Op::LoadMatrix1:
    case Op::LoadMatrix2:
    case Op::LoadMatrix4:
    case Op::LoadMatrix2Trans:
    case Op::LoadMatrix4Trans: return Effects::Waits;
    default: return Effects::Memory;
  }
}

void set_attributes(llvm::Function& function, Effects effects) {
  function.setDoesNotThrow();
  switch (effects) {
    case Effects::Pure:
      function.setDoesNotAccessMemory();
      function.addFnAttr(llvm::Attribute::WillReturn);
      break;
    case Effects::Collective:
      function.setDoesNotAccessMemory();
      function.addFnAttr(llvm::Attribute::WillReturn);
      function.setConvergent();
      break;
    case Effects::Exchange:
      function.setOnlyAccessesInaccessibleMemory();
      function.setConvergent();
      break;
    case Effects::Memory: function.addFnAttr(llvm::Attribute::WillReturn); break;
    case Effects::Waits: function.setConvergent(); break;
  }
}

llvm::Function* declare(llvm::Module& module, const DeviceOp& op) {
  if (llvm::Function* known = module.getFunction(op.name)) return known;
  auto* function = llvm::Function::Create(function_type(module.getContext(), op),
                                          llvm::GlobalValue::ExternalLinkage, op.name, module);
  set_attributes(*function, effects_of(op.op));
  return function;
}

}  // namespace

std::span<const DeviceOp> device_ops() { return table; }

const DeviceOp* find_device_op(std::string_view name) {
  const auto* found = std::ranges::find(table, name, &DeviceOp::name);
  return found == std::end(table) ? nullptr : found;
}

llvm::FunctionType* function_type(llvm::LLVMContext& context, const DeviceOp& op) {
  const std::size_t open = op.signature.find('(');
  std::vector<llvm::Type*> results, arguments;
  for (const char letter : op.signature.substr(0, open))
    results.push_back(type_of(context, letter));
  for (const char letter : op.signature.substr(open + 1, op.signature.size() - open - 2))
    arguments.push_back(type_of(context, letter));
  llvm::Type* result =
      results.size() == 1 ? results.front() : llvm::StructType::get(context, results);
  return llvm::FunctionType::get(result, arguments, false);
}

llvm::CallInst* call(codegen::Builder& builder, Op op, std::span<llvm::Value* const> arguments) {
  const DeviceOp& definition = table[static_cast<std::size_t>(op)];
  llvm::Function* function = declare(*builder.GetInsertBlock()->getModule(), definition);
  const llvm::FunctionType* type = function->getFunctionType();
  bool fits = arguments.size() == type->getNumParams();
  for (unsigned i = 0; fits && i < type->getNumParams(); ++i)
    fits = arguments[i]->getType() == type->getParamType(i);
  if (!fits)
    throw Error(ErrorKind::internal,
                fmt::format("{} is not called with {}", definition.name, definition.signature));
  return builder.CreateCall(function,
                            llvm::ArrayRef<llvm::Value*>(arguments.data(), arguments.size()));
}

std::vector<llvm::Value*> results(codegen::Builder& builder, llvm::CallInst* call) {
  if (call->getType()->isVoidTy()) return {};
  const auto* fields = llvm::dyn_cast<llvm::StructType>(call->getType());
  if (fields == nullptr) return {call};
  std::vector<llvm::Value*> values;
  for (unsigned i = 0; i < fields->getNumElements(); ++i)
    values.push_back(builder.CreateExtractValue(call, i));
  return values;
}

}  // namespace dyn::ptx
