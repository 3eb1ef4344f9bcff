#include "targets/ptx/emulator/counters/survey.hpp"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <optional>

#include "targets/ptx/ir/device_module.hpp"
#include "targets/ptx/ir/device_ops.hpp"

namespace dyn::ptx::emulation {
namespace {

using Class = InstructionClass;

struct Counted {
  Class kind = Class::Integer;
  int instructions = 0;
};

Counted count_of(Op op) {
  switch (op) {
    case Op::Shared: return {};
    case Op::Thread:
    case Op::Block:
    case Op::Blocks:
    case Op::Lane:
    case Op::Permute: return {Class::Integer, 1};
    case Op::ShuffleBfly:
    case Op::ShuffleDown:
    case Op::ShuffleIndex:
    case Op::Ballot: return {Class::Shuffle, 1};
    case Op::CopyAsync4:
    case Op::CopyAsync8:
    case Op::CopyAsync16: return {Class::AsyncCopy, 1};
    case Op::LoadMatrix1:
    case Op::LoadMatrix2:
    case Op::LoadMatrix4:
    case Op::LoadMatrix2Trans:
    case Op::LoadMatrix4Trans: return {Class::MatrixLoad, 1};
    case Op::MmaF16:
    case Op::MmaBf16: return {Class::Mma, 1};
    case Op::MmaTf32: return {Class::MmaTf32, 1};
    case Op::MmaU8U8:
    case Op::MmaU8I8:
    case Op::MmaI8U8:
    case Op::MmaI8I8: return {Class::MmaBytes, 1};
    case Op::ToBf16:
    case Op::ToF16:
    case Op::FromF16: return {Class::Conversion, 1};
    case Op::Exp2:
    case Op::Reciprocal: return {Class::Special, 1};
    default: return {Class::Synchronisation, 1};
  }
}

Counted count_of_intrinsic(const llvm::IntrinsicInst& intrinsic) {
  switch (intrinsic.getIntrinsicID()) {
    case llvm::Intrinsic::fma:
    case llvm::Intrinsic::fmuladd: return {Class::Fma, 1};
    case llvm::Intrinsic::sqrt:
    case llvm::Intrinsic::exp2:
    case llvm::Intrinsic::exp:
    case llvm::Intrinsic::log:
    case llvm::Intrinsic::log2:
    case llvm::Intrinsic::sin:
    case llvm::Intrinsic::cos: return {Class::Special, 1};
    case llvm::Intrinsic::assume:
    case llvm::Intrinsic::lifetime_start:
    case llvm::Intrinsic::lifetime_end: return {};
    default: break;
  }
  return {intrinsic.getType()->isFPOrFPVectorTy() ? Class::Float : Class::Integer, 1};
}

}  // namespace

const DeviceOp* device_op_of(const llvm::Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  return call == nullptr || call->getCalledFunction() == nullptr
             ? nullptr
             : find_device_op(call->getCalledFunction()->getName());
}

int words_of(const llvm::Type* type) {
  if (type->isVoidTy() || type->isLabelTy() || type->isMetadataTy()) return 0;
  if (type->isIntegerTy(1)) return 0;  // a predicate
  if (const auto* fields = llvm::dyn_cast<llvm::StructType>(type)) {
    int words = 0;
    for (const llvm::Type* field : fields->elements()) words += words_of(field);
    return words;
  }
  if (const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type))
    return static_cast<int>(vector->getNumElements()) * words_of(vector->getElementType());
  // An address within shared memory has 32 bits.
  if (type->isPointerTy()) return type->getPointerAddressSpace() == shared_space ? 1 : 2;
  return type->getPrimitiveSizeInBits() > 32 ? 2 : 1;
}

namespace {

bool divides(unsigned opcode) {
  return opcode == llvm::Instruction::UDiv || opcode == llvm::Instruction::SDiv ||
         opcode == llvm::Instruction::URem || opcode == llvm::Instruction::SRem;
}

/// Where a multiplication or a division by this value is a shift or a few multiplications.
bool is_constant(const llvm::Value* value) {
  return llvm::isa<llvm::ConstantInt, llvm::ConstantDataVector>(value);
}

/// A word that was made wider, or a constant of one word.
bool is_extended_word(const llvm::Value* value) {
  if (const auto* number = llvm::dyn_cast<llvm::ConstantInt>(value))
    return number->getValue().isIntN(32);
  const auto* cast = llvm::dyn_cast<llvm::CastInst>(value);
  return cast != nullptr && llvm::isa<llvm::ZExtInst, llvm::SExtInst>(cast) &&
         cast->getSrcTy()->getScalarSizeInBits() <= 32;
}

/// A shift by a whole word chooses a register.
bool shifts_word(const llvm::BinaryOperator& operation) {
  const auto* distance = llvm::dyn_cast<llvm::ConstantInt>(operation.getOperand(1));
  return operation.getOpcode() == llvm::Instruction::LShr && distance != nullptr &&
         distance->equalsInt(32);
}

/// An add of 64 bits is two instructions, a product four, but one where it is of two words; a
/// division by a constant multiplies by its reciprocal; one by a variable of 32 bits goes through
/// f32.
Counted count_of_integers(const llvm::BinaryOperator& operation) {
  constexpr int constant_division = 4, word_division = 12;
  const int words = words_of(operation.getType()->getScalarType());
  if (divides(operation.getOpcode())) {
    if (is_constant(operation.getOperand(1))) return {Class::Integer, constant_division * words};
    return words == 2 ? Counted{Class::LongDivision, 1} : Counted{Class::Integer, word_division};
  }
  if (operation.getOpcode() == llvm::Instruction::Mul) {
    const bool is_long = words == 2 && !(is_extended_word(operation.getOperand(0)) &&
                                         is_extended_word(operation.getOperand(1)));
    return {Class::Integer, is_long ? 4 : 1};
  }
  if (words == 2 && shifts_word(operation)) return {};
  return {Class::Integer, std::max(words, 1)};
}

Counted count_of_access(const llvm::Instruction& access) {
  const unsigned space =
      llvm::getLoadStorePointerOperand(&access)->getType()->getPointerAddressSpace();
  const bool load = llvm::isa<llvm::LoadInst>(access);
  if (space == shared_space) return {load ? Class::SharedLoad : Class::SharedStore, 1};
  return {load ? Class::GlobalLoad : Class::GlobalStore, 1};
}

Counted count_of_address(const llvm::GetElementPtrInst& address) {
  if (address.hasAllConstantIndices()) return {};  // part of the access
  return {Class::Integer, address.getPointerAddressSpace() == shared_space ? 1 : 2};
}

Counted count_of_cast(const llvm::CastInst& cast) {
  if (cast.getSrcTy()->isFPOrFPVectorTy() != cast.getDestTy()->isFPOrFPVectorTy() &&
      cast.getOpcode() != llvm::Instruction::BitCast)
    return {Class::Conversion, 1};
  switch (cast.getOpcode()) {
    case llvm::Instruction::FPExt:
    case llvm::Instruction::FPTrunc: return {Class::Conversion, 1};
    case llvm::Instruction::SExt: return {Class::Integer, 1};
    default: return {};
  }
}

/// Those of one element.
Counted count_of_element(const llvm::Instruction& instruction) {
  if (const DeviceOp* op = device_op_of(instruction)) return count_of(op->op);
  if (const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction))
    return count_of_intrinsic(*intrinsic);
  if (const auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(&instruction)) {
    if (!operation->getType()->isFPOrFPVectorTy()) return count_of_integers(*operation);
    return {operation->getOpcode() == llvm::Instruction::FDiv ? Class::Special : Class::Float, 1};
  }
  if (const auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction))
    return count_of_address(*address);
  if (const auto* cast = llvm::dyn_cast<llvm::CastInst>(&instruction)) return count_of_cast(*cast);
  switch (instruction.getOpcode()) {
    case llvm::Instruction::Load:
    case llvm::Instruction::Store: return count_of_access(instruction);
    case llvm::Instruction::AtomicRMW:
    case llvm::Instruction::AtomicCmpXchg: return {Class::GlobalStore, 1};
    case llvm::Instruction::FNeg:
    case llvm::Instruction::FCmp: return {Class::Float, 1};
    case llvm::Instruction::ICmp:
      return {Class::Integer,
              std::max(words_of(instruction.getOperand(0)->getType()->getScalarType()), 1)};
    case llvm::Instruction::Select:
      return {Class::Integer, std::max(words_of(instruction.getType()->getScalarType()), 1)};
    case llvm::Instruction::Br:
      return {Class::Branch, llvm::cast<llvm::BranchInst>(instruction).isConditional() ? 1 : 0};
    case llvm::Instruction::Switch:
    case llvm::Instruction::Ret: return {Class::Branch, 1};
    default: return {};
  }
}

/// The elements of a vector are computed one by one, but for accesses.
Counted count_of(const llvm::Instruction& instruction) {
  Counted counted = count_of_element(instruction);
  if (llvm::isa<llvm::LoadInst, llvm::StoreInst>(instruction)) return counted;
  const llvm::Type* type = instruction.getType();
  if (instruction.getNumOperands() > 0 && type->isIntegerTy(1))
    type = instruction.getOperand(0)->getType();
  if (const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type))
    counted.instructions *= static_cast<int>(vector->getNumElements());
  return counted;
}

bool multiplies(const InstructionCounts& counts) {
  return counts[Class::Mma] > 0 || counts[Class::MmaTf32] > 0 || counts[Class::MmaBytes] > 0 ||
         counts[Class::Fma] > 0;
}

}  // namespace

std::vector<CodeBlock> survey_blocks(const llvm::Function& kernel) {
  llvm::DominatorTree dominators(const_cast<llvm::Function&>(kernel));
  const llvm::LoopInfo loops(dominators);
  std::vector<CodeBlock> blocks;
  llvm::DenseMap<const llvm::BasicBlock*, std::size_t> index;
  for (const llvm::BasicBlock& block : kernel) {
    CodeBlock code;
    for (const llvm::Instruction& instruction : block) {
      const Counted counted = count_of(instruction);
      code.instructions[counted.kind] += counted.instructions;
    }
    const llvm::Loop* loop = loops.getLoopFor(&block);
    code.innermost = loop != nullptr && loop->isInnermost();
    index[&block] = blocks.size();
    blocks.push_back(code);
  }
  // The deepest loop whose blocks multiply and wait.
  const llvm::Loop* main_loop = nullptr;
  for (const llvm::Loop* loop : const_cast<llvm::LoopInfo&>(loops).getLoopsInPreorder()) {
    bool multiplied = false, waited = false;
    for (const llvm::BasicBlock* block : loop->blocks()) {
      const InstructionCounts& counts = blocks[index[block]].instructions;
      multiplied |= multiplies(counts);
      waited |= counts[Class::Synchronisation] > 0;
    }
    if (multiplied && waited &&
        (main_loop == nullptr || loop->getLoopDepth() > main_loop->getLoopDepth()))
      main_loop = loop;
  }
  if (main_loop != nullptr)
    for (const llvm::BasicBlock* block : main_loop->blocks()) blocks[index[block]].main_loop = true;
  return blocks;
}

}  // namespace dyn::ptx::emulation
