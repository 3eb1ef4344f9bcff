// The rules of device IR, beyond those of LLVM.

#include <fmt/format.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>

#include "dyn/error.hpp"
#include "targets/ptx/ir/device_module.hpp"
#include "targets/ptx/ir/device_ops.hpp"

namespace dyn::ptx {
namespace {

/// Intrinsics that targets/llvm emits for scalars, and that both lowerings have code for.
constexpr unsigned known_intrinsics[] = {
    llvm::Intrinsic::fma,        llvm::Intrinsic::sqrt,       llvm::Intrinsic::fabs,
    llvm::Intrinsic::copysign,   llvm::Intrinsic::floor,      llvm::Intrinsic::ceil,
    llvm::Intrinsic::roundeven,  llvm::Intrinsic::smax,       llvm::Intrinsic::smin,
    llvm::Intrinsic::umax,       llvm::Intrinsic::umin,       llvm::Intrinsic::abs,
    llvm::Intrinsic::fptosi_sat, llvm::Intrinsic::fptoui_sat, llvm::Intrinsic::maximum,
    llvm::Intrinsic::minimum,    llvm::Intrinsic::ctpop};

std::string text_of(const llvm::Instruction& instruction) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  instruction.print(stream);
  return text.substr(std::min(text.find_first_not_of(' '), text.size()));
}

[[noreturn]] void refuse(const llvm::Instruction& instruction, const std::string& reason) {
  throw Error(ErrorKind::internal,
              fmt::format("device IR does not allow: {}: {}", text_of(instruction), reason));
}

void verify_operation(const llvm::CallInst& call, const DeviceOp& op) {
  if (call.getFunctionType() != function_type(call.getContext(), op)) {
    refuse(call, fmt::format("the signature of {} is {}", op.name, op.signature));
  }
  const std::string_view letters = op.signature.substr(op.signature.find('(') + 1);
  for (unsigned i = 0; i < call.arg_size(); ++i) {
    if (letters[i] == 'I' && !llvm::isa<llvm::ConstantInt>(call.getArgOperand(i))) {
      refuse(call, fmt::format("argument {} of {} must be a constant", i, op.name));
    }
  }
}

void verify_call(const llvm::CallInst& call) {
  const llvm::Function* callee = call.getCalledFunction();
  if (callee == nullptr) refuse(call, "only device operations and intrinsics can be called");
  if (callee->isIntrinsic()) {
    if (std::ranges::find(known_intrinsics, callee->getIntrinsicID()) ==
        std::end(known_intrinsics)) {
      refuse(call, "not an intrinsic that every lowering has");
    }
    return;
  }
  const DeviceOp* op = find_device_op(callee->getName());
  if (op == nullptr)
    refuse(call, "there is no such device operation; docs/device_operations.md lists them");
  verify_operation(call, *op);
}

/// Accesses go to global and shared memory, and to constants of the module.
void verify_space(const llvm::Instruction& access, const llvm::Value* pointer) {
  const unsigned space = pointer->getType()->getPointerAddressSpace();
  if (space == global_space || space == shared_space) return;
  const auto* table = llvm::dyn_cast<llvm::GlobalVariable>(llvm::getUnderlyingObject(pointer));
  if (table == nullptr || !llvm::isa<llvm::LoadInst>(access))
    refuse(access, "memory is global (address space 1) or shared (3)");
}

bool is_short_float(const llvm::Type* type) {
  return type->getScalarType()->isHalfTy() || type->getScalarType()->isBFloatTy();
}

void verify_arithmetic(const llvm::Instruction& instruction) {
  if (llvm::isa<llvm::FPMathOperator>(instruction) && instruction.getFastMathFlags().any()) {
    refuse(instruction, "every lowering must give the same bits, so there is no fast-math");
  }
  bool short_float = is_short_float(instruction.getType());
  for (const llvm::Value* operand : instruction.operands())
    short_float |= is_short_float(operand->getType());
  if (short_float) refuse(instruction, "f16 and bf16 numbers are the bits of an i16");
}

void verify_instruction(const llvm::Instruction& instruction) {
  verify_arithmetic(instruction);
  if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) return verify_call(*call);
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
    if (load->isAtomic()) refuse(instruction, "the only atomic access is a monotonic store");
    return verify_space(instruction, load->getPointerOperand());
  }
  if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
    if (store->isAtomic() && store->getOrdering() != llvm::AtomicOrdering::Monotonic) {
      refuse(instruction, "the only atomic access is a monotonic store");
    }
    return verify_space(instruction, store->getPointerOperand());
  }
  if (llvm::isa<llvm::AllocaInst>(instruction)) refuse(instruction, "a thread has no stack");
  if (llvm::isa<llvm::AddrSpaceCastInst>(instruction))
    refuse(instruction, "pointers stay in their address space");
  if (instruction.mayReadOrWriteMemory() || instruction.mayThrow())
    refuse(instruction, "not an access that every lowering has");
  if (instruction.isTerminator() &&
      !llvm::isa<llvm::BranchInst, llvm::SwitchInst, llvm::ReturnInst, llvm::UnreachableInst>(
          instruction)) {
    refuse(instruction, "not a jump that every lowering has");
  }
}

void verify_kernel(const llvm::Function& kernel, const KernelShape& shape) {
  llvm::Type* global = llvm::PointerType::get(kernel.getContext(), global_space);
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(kernel.getContext()),
                                       {global, global, global}, false);
  if (kernel.getFunctionType() != type || !kernel.hasExternalLinkage()) {
    throw Error(ErrorKind::internal,
                fmt::format("the device kernel {} must be external, and void(pointers, ints, "
                            "status), each ptr addrspace(1)",
                            shape.symbol));
  }
  if (shape.threads < 1)
    throw Error(ErrorKind::internal,
                fmt::format("the device kernel {} has no threads", shape.symbol));
}

}  // namespace

std::span<const unsigned> device_intrinsics() { return known_intrinsics; }

void verify_device_module(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (llvm::verifyModule(module, &stream))
    throw Error(ErrorKind::internal, "device IR is not valid: " + text);
  if (module.getTargetTriple() != device_triple ||
      module.getDataLayoutStr() != device_data_layout) {
    throw Error(ErrorKind::internal, "the device module " + module.getModuleIdentifier() +
                                         " has not the triple and data layout of device IR");
  }
  const KernelShape shape = kernel_shape(module);
  const llvm::Function& kernel = *module.getFunction(shape.symbol);
  verify_kernel(kernel, shape);
  for (const llvm::GlobalVariable& global : module.globals()) {
    if (!global.isConstant() || !global.hasInitializer()) {
      throw Error(ErrorKind::internal,
                  fmt::format("device IR does not allow the variable {}: globals are constants",
                              global.getName().str()));
    }
  }
  for (const llvm::Instruction& instruction : llvm::instructions(kernel))
    verify_instruction(instruction);
}

}  // namespace dyn::ptx
