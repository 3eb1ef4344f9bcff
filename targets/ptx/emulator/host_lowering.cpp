#include "targets/ptx/emulator/host_lowering.hpp"

#include <fmt/format.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/ModuleSlotTracker.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Support/xxhash.h>

#include <algorithm>
#include <optional>

#include "dyn/error.hpp"
#include "targets/ptx/emulator/memory/poison.hpp"
#include "targets/ptx/ir/device_module.hpp"
#include "targets/ptx/ir/device_ops.hpp"

namespace dyn::ptx::emulation {
namespace {

using codegen::Builder;

constexpr const char* entry_name = "dyn_emulated_kernel";

const llvm::Value* pointer_of(const llvm::Instruction& instruction) {
  return llvm::getLoadStorePointerOperand(&instruction);
}

/// Memory that threads share; the rest are constants of the module.
bool is_checked_access(const llvm::Instruction& instruction) {
  const llvm::Value* pointer = pointer_of(instruction);
  return pointer != nullptr && pointer->getType()->getPointerAddressSpace() != 0;
}

bool orders_finely(Op op) {
  return op == Op::NamedBarrier || op == Op::WarpSync || op == Op::BarrierArrive ||
         op == Op::BarrierTestWait || op == Op::CopyArrive;
}

bool orders_blocks(Op op) { return op == Op::Fence || op == Op::AtomicAdd; }

bool waits(Op op) {
  const bool shuffles = op >= Op::WarpSync && op <= Op::Ballot,
             fragments = op >= Op::LoadMatrix1 && op <= Op::MmaI8I8;
  return shuffles || fragments || op == Op::Barrier || op == Op::NamedBarrier ||
         op == Op::BarrierTestWait || op == Op::AtomicAdd;
}

/// Fills in the tables of the kernel from the module as it was written.
void survey(llvm::Module& module, llvm::Function& function, EmulatedKernel& kernel) {
  llvm::ModuleSlotTracker slots(&module);
  slots.incorporateFunction(function);
  const llvm::DataLayout& layout = module.getDataLayout();
  std::uint32_t block = 0;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    const DeviceOp* op = device_op_of(instruction);
    Site site;
    site.block = block;
    block += instruction.isTerminator() ? 1 : 0;
    if (is_checked_access(instruction)) {
      site.bytes = static_cast<std::uint32_t>(
          layout.getTypeStoreSize(llvm::getLoadStoreType(&instruction)).getFixedValue());
      site.alignment =
          static_cast<std::uint32_t>(llvm::getLoadStoreAlignment(&instruction).value());
      const std::uint32_t unit = std::min({site.alignment, site.bytes & (0u - site.bytes), 4u});
      const bool shared =
          pointer_of(instruction)->getType()->getPointerAddressSpace() == shared_space;
      unsigned& shift = shared ? kernel.shared_cell_shift : kernel.global_cell_shift;
      shift = std::min(shift, unit == 4 ? 2u : unit == 2 ? 1u : 0u);
    } else if (op == nullptr) {
      continue;
    } else {
      kernel.waits |= waits(op->op);
      kernel.orders.finely |= orders_finely(op->op);
      kernel.orders.between_blocks |= orders_blocks(op->op);
    }
    std::string text;
    llvm::raw_string_ostream stream(text);
    instruction.print(stream, slots);
    site.text = static_cast<std::uint32_t>(kernel.texts.size());
    kernel.texts.push_back(text.substr(std::min(text.find_first_not_of(' '), text.size())));
    kernel.sites.push_back(site);
  }
}

llvm::Type* host_type(llvm::Type* type) {
  if (type->isPtrOrPtrVectorTy() && type->getPointerAddressSpace() == 0) return type;
  if (type->isPointerTy()) return llvm::PointerType::get(type->getContext(), 0);
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type))
    return llvm::FixedVectorType::get(host_type(vector->getElementType()),
                                      vector->getNumElements());
  return type;
}

/// A constant without pointers to a GPU's address spaces, and without undefined parts.
llvm::Constant* host_constant(llvm::Constant* constant) {
  llvm::Type* type = host_type(constant->getType());
  if (llvm::isa<llvm::UndefValue>(constant)) return poison_of(type);
  if (type != constant->getType()) return llvm::Constant::getNullValue(type);
  if (auto* aggregate = llvm::dyn_cast<llvm::ConstantAggregate>(constant)) {
    if (!aggregate->containsUndefOrPoisonElement()) return constant;
    llvm::SmallVector<llvm::Constant*, 8> parts;
    for (llvm::Use& part : aggregate->operands())
      parts.push_back(host_constant(llvm::cast<llvm::Constant>(part.get())));
    return llvm::ConstantVector::get(parts);
  }
  return constant;
}

class HostLowering {
 public:
  HostLowering(llvm::Module& module, llvm::Function& device)
      : module_(module), builder_(module.getContext()), pointer_(builder_.getPtrTy()) {
    auto* type = llvm::FunctionType::get(builder_.getVoidTy(), {pointer_}, false);
    function_ =
        llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, entry_name, module);
    function_->splice(function_->begin(), &device);
    context_ = function_->getArg(0);
    builder_.SetInsertPoint(&*function_->getEntryBlock().getFirstInsertionPt());
    functions_ = field(offsetof(ThreadContext, functions), pointer_);
    constexpr std::size_t offsets[] = {offsetof(ThreadContext, pointers),
                                       offsetof(ThreadContext, ints),
                                       offsetof(ThreadContext, status)};
    for (unsigned i = 0; i < 3; ++i) {
      llvm::Argument* argument = device.getArg(i);
      // The types agree when the address spaces have gone.
      llvm::Instruction* value = field(offsets[i], pointer_);
      value->mutateType(argument->getType());
      argument->replaceAllUsesWith(value);
    }
    device.eraseFromParent();
  }

  void run() {
    count_blocks();
    std::vector<llvm::Instruction*> instructions;
    for (llvm::Instruction& instruction : llvm::instructions(function_))
      instructions.push_back(&instruction);
    std::uint32_t site = 0;
    for (llvm::Instruction* instruction : instructions) {
      builder_.SetInsertPoint(instruction);
      if (is_checked_access(*instruction)) {
        check(*instruction, site++);
      } else if (const DeviceOp* op = device_op_of(*instruction)) {
        call(llvm::cast<llvm::CallInst>(*instruction), *op, site++);
      } else if (auto* cast = llvm::dyn_cast<llvm::CastInst>(instruction)) {
        convert(*cast);
      }
    }
    for (llvm::Instruction& instruction : llvm::instructions(function_)) forget_spaces(instruction);
    for (llvm::Function& function : llvm::make_early_inc_range(module_)) {
      if (function.isDeclaration() && function.use_empty()) function.eraseFromParent();
    }
  }

 private:
  llvm::Instruction* field(std::size_t offset, llvm::Type* type) {
    llvm::Value* address =
        builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), context_, offset);
    return builder_.CreateAlignedLoad(type, address, llvm::Align(4));
  }

  void count_blocks() {
    llvm::Value* executions = field(offsetof(ThreadContext, executions), pointer_);
    std::uint64_t index = 0;
    for (llvm::BasicBlock& block : *function_) {
      // The entry's counter is known only behind the context's fields.
      if (!block.isEntryBlock()) builder_.SetInsertPoint(&*block.getFirstInsertionPt());
      llvm::Value* counter =
          builder_.CreateConstInBoundsGEP1_64(builder_.getInt32Ty(), executions, index++);
      llvm::Value* before =
          builder_.CreateAlignedLoad(builder_.getInt32Ty(), counter, llvm::Align(4));
      builder_.CreateAlignedStore(builder_.CreateAdd(before, builder_.getInt32(1)), counter,
                                  llvm::Align(4));
    }
  }

  llvm::CallInst* call_runtime(std::size_t index, llvm::Type* result,
                               llvm::ArrayRef<llvm::Value*> arguments) {
    llvm::SmallVector<llvm::Type*, 16> types;
    for (llvm::Value* argument : arguments) types.push_back(argument->getType());
    llvm::Value* address = builder_.CreateConstInBoundsGEP1_64(pointer_, functions_, index);
    llvm::Value* function = builder_.CreateAlignedLoad(pointer_, address, llvm::Align(8));
    return builder_.CreateCall(llvm::FunctionType::get(result, types, false), function, arguments);
  }

  void check(llvm::Instruction& access, std::uint32_t site) {
    const bool shared = pointer_of(access)->getType()->getPointerAddressSpace() == shared_space;
    Check kind = shared ? Check::LoadShared : Check::LoadGlobal;
    if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&access)) {
      kind = shared              ? Check::StoreShared
             : store->isAtomic() ? Check::StoreStatus
                                 : Check::StoreGlobal;
    }
    call_runtime(static_cast<std::size_t>(kind), builder_.getVoidTy(),
                 {context_, const_cast<llvm::Value*>(pointer_of(access)), builder_.getInt32(site)});
  }

  /// The field of an index in the context; none for an operation that is a call.
  static std::optional<std::size_t> field_of(Op op) {
    switch (op) {
      case Op::Thread: return offsetof(ThreadContext, thread);
      case Op::Block: return offsetof(ThreadContext, block);
      case Op::Blocks: return offsetof(ThreadContext, blocks);
      case Op::Lane: return offsetof(ThreadContext, lane);
      case Op::Shared: return offsetof(ThreadContext, shared);
      default: return std::nullopt;
    }
  }

  llvm::Value* call_op(const DeviceOp& op, llvm::ArrayRef<llvm::Value*> operands,
                       std::uint32_t site, llvm::Type* type) {
    llvm::SmallVector<llvm::Value*, 16> arguments = {context_, builder_.getInt32(site)};
    for (llvm::Value* operand : operands) {
      llvm::Type* narrow = operand->getType();
      arguments.push_back(narrow->isIntegerTy(1) || narrow->isIntegerTy(16)
                              ? builder_.CreateZExt(operand, builder_.getInt32Ty())
                              : operand);
    }
    const std::size_t index = static_cast<std::size_t>(op.op);
    auto* fields = llvm::dyn_cast<llvm::StructType>(type);
    if (fields == nullptr) {
      const bool narrow = type->isIntegerTy(1) || type->isIntegerTy(16);
      llvm::Value* result = call_runtime(index, narrow ? builder_.getInt32Ty() : type, arguments);
      return narrow ? builder_.CreateTrunc(result, type) : result;
    }
    call_runtime(index, builder_.getVoidTy(), arguments);
    llvm::Value* all = llvm::Constant::getNullValue(type);
    for (unsigned i = 0; i < fields->getNumElements(); ++i) {
      llvm::Value* result =
          field(offsetof(ThreadContext, results) + 4 * i, fields->getElementType(i));
      all = builder_.CreateInsertValue(all, result, i);
    }
    return all;
  }

  void call(llvm::CallInst& call, const DeviceOp& op, std::uint32_t site) {
    llvm::Value* result;
    if (const auto offset = field_of(op.op)) {
      result = field(*offset, host_type(call.getType()));
      result->mutateType(call.getType());
    } else {
      const llvm::SmallVector<llvm::Value*, 16> operands(call.arg_begin(), call.arg_end());
      result = call_op(op, operands, site, call.getType());
    }
    if (!call.getType()->isVoidTy()) call.replaceAllUsesWith(result);
    call.eraseFromParent();
  }

  /// Conversions of 16-bit floats, for which a host may need a library.
  void convert(llvm::CastInst& cast) {
    llvm::Type *from = cast.getSrcTy(), *to = cast.getDestTy(), *bits = builder_.getInt16Ty();
    llvm::Value* result;
    if (cast.getOpcode() == llvm::Instruction::FPTrunc && (to->isHalfTy() || to->isBFloatTy()) &&
        from->isFloatTy()) {
      const DeviceOp& op =
          device_ops()[static_cast<std::size_t>(to->isHalfTy() ? Op::ToF16 : Op::ToBf16)];
      result = builder_.CreateBitCast(call_op(op, {cast.getOperand(0)}, 0, bits), to);
    } else if (cast.getOpcode() == llvm::Instruction::FPExt && from->isHalfTy() &&
               to->isFloatTy()) {
      const DeviceOp& op = device_ops()[static_cast<std::size_t>(Op::FromF16)];
      result = call_op(op, {builder_.CreateBitCast(cast.getOperand(0), bits)}, 0, to);
    } else if (cast.getOpcode() == llvm::Instruction::FPExt && from->isBFloatTy() &&
               to->isFloatTy()) {
      llvm::Value* wide = builder_.CreateZExt(builder_.CreateBitCast(cast.getOperand(0), bits),
                                              builder_.getInt32Ty());
      result = builder_.CreateBitCast(builder_.CreateShl(wide, 16), to);
    } else {
      return;
    }
    cast.replaceAllUsesWith(result);
    cast.eraseFromParent();
  }

  static void forget_spaces(llvm::Instruction& instruction) {
    instruction.mutateType(host_type(instruction.getType()));
    if (auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction)) {
      address->setSourceElementType(host_type(address->getSourceElementType()));
      address->setResultElementType(host_type(address->getResultElementType()));
    }
    for (llvm::Use& operand : instruction.operands()) {
      auto* constant = llvm::dyn_cast<llvm::Constant>(operand.get());
      if (constant != nullptr && !llvm::isa<llvm::GlobalValue>(constant))
        operand.set(host_constant(constant));
    }
  }

  llvm::Module& module_;
  Builder builder_;
  llvm::Type* pointer_;
  llvm::Function* function_;
  llvm::Value *context_, *functions_;
};

std::string key_of(const std::string& hash, const std::string& text) {
  return fmt::format("emulator {} {:016x}", hash, llvm::xxh3_64bits(text));
}

}  // namespace

HostCode lower_to_host(std::unique_ptr<llvm::Module> module) {
  HostCode code;
  const KernelShape shape = kernel_shape(*module);
  code.kernel.threads = shape.threads;
  code.kernel.shared_bytes = shape.shared_bytes;
  code.kernel.hash = module_hash(*module);
  llvm::Function& device = *module->getFunction(shape.symbol);
  survey(*module, device, code.kernel);
  code.kernel.blocks = survey_blocks(device);
  code.kernel.live_words = live_words(device);
  HostLowering(*module, device).run();
  module->setDataLayout("");
  module->setTargetTriple("");
  module->setModuleIdentifier("");
  module->setSourceFileName("");
  std::string text = module_text(*module);
  code.source.key = key_of(code.kernel.hash, text);
  code.source.emit = [text = std::move(text)](llvm::Module& target, const std::string& symbol) {
    auto host = parse_device_module(target.getContext(), text);
    host->setDataLayout(target.getDataLayout());
    host->setTargetTriple(target.getTargetTriple());
    host->getFunction(entry_name)->setName(symbol);
    if (llvm::Linker::linkModules(target, std::move(host)))
      throw Error(ErrorKind::internal, "the host code of a device module does not link");
  };
  return code;
}

}  // namespace dyn::ptx::emulation
