#include "targets/ptx/lowering/ptx_instructions.hpp"

#include <fmt/format.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>

#include <algorithm>

#include "dyn/error.hpp"
#include "targets/ptx/ir/device_module.hpp"
#include "targets/ptx/ir/device_ops.hpp"

namespace dyn::ptx {
namespace {

using llvm::Intrinsic::ID;

/// Operations that are an intrinsic. `order`: for each argument of the intrinsic, the argument of
/// the operation; "": the same order.
struct IntrinsicRule {
  Op op;
  ID id;
  const char* order = "";
};
constexpr IntrinsicRule intrinsic_rules[] = {
    {Op::Thread, llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x},
    {Op::Block, llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x},
    {Op::Blocks, llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x},
    {Op::Lane, llvm::Intrinsic::nvvm_read_ptx_sreg_laneid},
    {Op::NamedBarrier, llvm::Intrinsic::nvvm_barrier_sync_cnt},
    {Op::WarpSync, llvm::Intrinsic::nvvm_bar_warp_sync},
    {Op::ShuffleBfly, llvm::Intrinsic::nvvm_shfl_sync_bfly_i32, "3012"},
    {Op::ShuffleDown, llvm::Intrinsic::nvvm_shfl_sync_down_i32, "3012"},
    {Op::ShuffleIndex, llvm::Intrinsic::nvvm_shfl_sync_idx_i32, "3012"},
    {Op::Ballot, llvm::Intrinsic::nvvm_vote_ballot_sync, "10"},
    {Op::CopyAsync4, llvm::Intrinsic::nvvm_cp_async_ca_shared_global_4_s},
    {Op::CopyAsync8, llvm::Intrinsic::nvvm_cp_async_ca_shared_global_8_s},
    {Op::CopyAsync16, llvm::Intrinsic::nvvm_cp_async_cg_shared_global_16_s},
    {Op::CopyCommit, llvm::Intrinsic::nvvm_cp_async_commit_group},
    {Op::CopyWait, llvm::Intrinsic::nvvm_cp_async_wait_group},
    {Op::CopyArrive, llvm::Intrinsic::nvvm_cp_async_mbarrier_arrive_noinc_shared},
    {Op::BarrierInit, llvm::Intrinsic::nvvm_mbarrier_init_shared},
    {Op::BarrierArrive, llvm::Intrinsic::nvvm_mbarrier_arrive_shared},
    {Op::BarrierInvalidate, llvm::Intrinsic::nvvm_mbarrier_inval_shared},
    {Op::Permute, llvm::Intrinsic::nvvm_prmt},
    {Op::Exp2, llvm::Intrinsic::nvvm_ex2_approx_ftz_f},
    {Op::Reciprocal, llvm::Intrinsic::nvvm_rcp_approx_ftz_f},
};

enum class Order {
  Free,
  Convergent,
  Memory
};  ///< Convergent: keeps its place in control flow; Memory: also keeps its place among accesses

/// Operations that are one instruction of inline assembly, with the operation's results and
/// arguments in order. LLVM 19 does not mark ldmatrix and mma.sync as convergent, nor that ldmatrix
/// reads at other lanes' addresses.
struct AssemblyRule {
  Op op;
  const char* text;
  const char* constraints;
  Order order;
};
constexpr const char *mma_constraints = "=f,=f,=f,=f,r,r,r,r,r,r,f,f,f,f",
                     *byte_mma_constraints = "=r,=r,=r,=r,r,r,r,r,r,r,r,r,r,r";
#define DYN_MMA(instruction) \
  instruction " {$0, $1, $2, $3}, {$4, $5, $6, $7}, {$8, $9}, {$10, $11, $12, $13};"
#define DYN_LDMATRIX(kind) "ldmatrix.sync.aligned.m8n8." kind ".shared.b16 "
constexpr AssemblyRule assembly_rules[] = {
    {Op::LoadMatrix1, DYN_LDMATRIX("x1") "{$0}, [$1];", "=r,r", Order::Memory},
    {Op::LoadMatrix2, DYN_LDMATRIX("x2") "{$0, $1}, [$2];", "=r,=r,r", Order::Memory},
    {Op::LoadMatrix4, DYN_LDMATRIX("x4") "{$0, $1, $2, $3}, [$4];", "=r,=r,=r,=r,r", Order::Memory},
    {Op::LoadMatrix2Trans, DYN_LDMATRIX("x2.trans") "{$0, $1}, [$2];", "=r,=r,r", Order::Memory},
    {Op::LoadMatrix4Trans, DYN_LDMATRIX("x4.trans") "{$0, $1, $2, $3}, [$4];", "=r,=r,=r,=r,r",
     Order::Memory},
    {Op::MmaF16, DYN_MMA("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"), mma_constraints,
     Order::Convergent},
    {Op::MmaBf16, DYN_MMA("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"), mma_constraints,
     Order::Convergent},
    {Op::MmaTf32, DYN_MMA("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"), mma_constraints,
     Order::Convergent},
    {Op::MmaU8U8, DYN_MMA("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32"), byte_mma_constraints,
     Order::Convergent},
    {Op::MmaU8I8, DYN_MMA("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32"), byte_mma_constraints,
     Order::Convergent},
    {Op::MmaI8U8, DYN_MMA("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32"), byte_mma_constraints,
     Order::Convergent},
    {Op::MmaI8I8, DYN_MMA("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"), byte_mma_constraints,
     Order::Convergent},
    {Op::BarrierTestWait, "mbarrier.test_wait.parity.shared.b64 $0, [$1], $2;", "=b,r,r",
     Order::Memory},
    {Op::Fence, "fence.acq_rel.gpu;", "", Order::Memory},
    {Op::AtomicAdd, "atom.relaxed.gpu.global.add.u32 $0, [$1], $2;", "=r,l,r", Order::Memory},
    {Op::ToBf16, "cvt.rn.bf16.f32 $0, $1;", "=h,f", Order::Free},
    {Op::ToF16, "cvt.rn.f16.f32 $0, $1;", "=h,f", Order::Free},
    {Op::FromF16, "cvt.f32.f16 $0, $1;", "=f,h", Order::Free},
};
#undef DYN_LDMATRIX
#undef DYN_MMA

template <class Rule, std::size_t count>
const Rule* find_rule(const Rule (&rules)[count], Op op) {
  const Rule* found = std::ranges::find(rules, op, &Rule::op);
  return found == std::end(rules) ? nullptr : found;
}

std::vector<llvm::Value*> arguments_of(const llvm::CallInst& call) {
  return {call.arg_begin(), call.arg_end()};
}

llvm::Value* emit(codegen::Builder& builder, const IntrinsicRule& rule,
                  const llvm::CallInst& call) {
  std::vector<llvm::Value*> arguments = arguments_of(call);
  for (std::size_t i = 0; rule.order[i] != 0; ++i)
    arguments[i] = call.getArgOperand(static_cast<unsigned>(rule.order[i] - '0'));
  return builder.CreateIntrinsic(rule.id, {}, arguments);
}

llvm::Value* emit(codegen::Builder& builder, const AssemblyRule& rule, const llvm::CallInst& call) {
  std::vector<llvm::Value*> arguments = arguments_of(call);
  std::vector<llvm::Type*> types;
  for (llvm::Value*& argument : arguments) {
    // Instructions take the address within shared memory, 32 bits, or in global memory, 64.
    if (argument->getType()->isPointerTy()) {
      const bool shared = argument->getType()->getPointerAddressSpace() == shared_space;
      argument =
          builder.CreatePtrToInt(argument, shared ? builder.getInt32Ty() : builder.getInt64Ty());
    }
    types.push_back(argument->getType());
  }
  const bool memory = rule.order == Order::Memory;
  auto* type = llvm::FunctionType::get(call.getType(), types, false);
  std::string constraints = rule.constraints;
  if (memory) constraints += constraints.empty() ? "~{memory}" : ",~{memory}";
  llvm::CallInst* result =
      builder.CreateCall(llvm::InlineAsm::get(type, rule.text, constraints, memory), arguments);
  result->setDoesNotThrow();
  if (rule.order != Order::Free) result->setConvergent();
  if (!memory) result->setDoesNotAccessMemory();
  return result;
}

/// The first byte of the shared memory whose size each launch gives: alignment as device_ops.def
/// promises.
llvm::Value* dynamic_shared(llvm::Module& module) {
  constexpr const char* name = "dyn_shared";
  if (llvm::GlobalVariable* known = module.getNamedGlobal(name)) return known;
  auto* type = llvm::ArrayType::get(llvm::Type::getInt8Ty(module.getContext()), 0);
  auto* memory =
      new llvm::GlobalVariable(module, type, false, llvm::GlobalValue::ExternalLinkage, nullptr,
                               name, nullptr, llvm::GlobalValue::NotThreadLocal, shared_space);
  memory->setAlignment(llvm::Align(128));
  return memory;
}

llvm::Value* emit(llvm::CallInst& call, const DeviceOp& op) {
  codegen::Builder builder(&call);
  if (op.op == Op::Shared) return dynamic_shared(*call.getModule());
  if (op.op == Op::Barrier)
    return builder.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier_sync, {}, {builder.getInt32(0)});
  if (const IntrinsicRule* rule = find_rule(intrinsic_rules, op.op))
    return emit(builder, *rule, call);
  if (const AssemblyRule* rule = find_rule(assembly_rules, op.op))
    return emit(builder, *rule, call);
  throw Error(ErrorKind::internal, fmt::format("{} has no instruction of PTX", op.name));
}

}  // namespace

void replace_device_ops(llvm::Module& module) {
  for (llvm::Function& function : llvm::make_early_inc_range(module)) {
    const DeviceOp* op = find_device_op(function.getName());
    if (op == nullptr) continue;
    for (llvm::User* user : llvm::make_early_inc_range(function.users())) {
      auto* call = llvm::cast<llvm::CallInst>(user);
      call->replaceAllUsesWith(emit(*call, *op));
      call->eraseFromParent();
    }
    function.eraseFromParent();
  }
}

}  // namespace dyn::ptx
