#include "targets/cpu/move/image_work.hpp"

#include <fmt/format.h>
#include <llvm/IR/Module.h>

#include <array>

#include "targets/cpu/move/computed_factor.hpp"
#include "targets/cpu/x86/functions.hpp"
#include "targets/llvm/code/loops.hpp"
#include "targets/llvm/problem/expr_compiler.hpp"
#include "targets/llvm/problem/structure_key.hpp"

namespace dyn::cpu {
namespace {

using codegen::axis_bit;
using codegen::Builder;
using codegen::Conditional;
using codegen::CountedLoop;
using llvm::Value;

enum WorkArgument : unsigned { work_args, work_elements, work_channel, work_count, work_channels };

llvm::FunctionType* work_type(Builder& builder) {
  llvm::Type *pointer = builder.getPtrTy(), *i64 = builder.getInt64Ty();
  return llvm::FunctionType::get(builder.getVoidTy(), {pointer, pointer, i64, i64, i64}, false);
}

/// The problem as the work sees it: lanes run along channels, and the image's elements, which are
/// given, vary along them.
rkernel::Problem along_channels(rkernel::Problem problem) {
  const rkernel::Contraction& contraction = *problem.contraction;
  problem.lane_axis = contraction.k;
  problem.axes[static_cast<std::size_t>(contraction.k)].kind = rkernel::AxisKind::Parallel;
  for (rkernel::Expr& expr : problem.exprs) {
    if (expr.op != rkernel::ExprOp::Load || expr.operand != contraction.a) continue;
    expr.op = rkernel::ExprOp::Accumulator;
    expr.operand = -1;
  }
  return problem;
}

class WorkEmitter {
 public:
  WorkEmitter(Builder& builder, const rkernel::Problem& problem, const codegen::Isa& isa,
              codegen::Operands& operands, llvm::Function& function)
      : builder_(builder),
        problem_(problem),
        isa_(isa),
        operands_(operands),
        compiler_(builder, problem, operands, codegen::MathOptions{.fma = isa.fma}),
        function_(function),
        root_{problem.contraction->a_value},
        vector_(llvm::FixedVectorType::get(builder.getFloatTy(),
                                           static_cast<unsigned>(isa.f32_lanes))) {}

  /// One pixel after the other, as far as the elements have its channels.
  void emit() {
    compiler_.enter(axis_bit(problem_.lane_axis), root_);
    Value* count = argument(work_channels);
    Value* end = builder_.CreateAdd(argument(work_channel), argument(work_count));
    CountedLoop pixels(builder_, number(0), end, count, "pixel");
    Value* low = larger(builder_.CreateSub(argument(work_channel), pixels.index()), number(0));
    Value* high = smaller(builder_.CreateSub(end, pixels.index()), count);
    emit_channels(low, high, builder_.CreateSub(pixels.index(), argument(work_channel)));
    pixels.close();
    compiler_.leave();
  }

 private:
  Value* argument(unsigned index) const { return function_.getArg(index); }
  Value* number(std::int64_t value) const {
    return builder_.getInt64(static_cast<std::uint64_t>(value));
  }
  Value* smaller(Value* a, Value* b) {
    return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b);
  }
  Value* larger(Value* a, Value* b) {
    return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, a, b);
  }

  /// Channels [low, high) of a pixel, whose first one lies `before` elements behind the first of
  /// all.
  void emit_channels(Value* low, Value* high, Value* before) {
    Value* whole = builder_.CreateAdd(
        low, builder_.CreateAnd(builder_.CreateSub(high, low), number(-isa_.f32_lanes)));
    CountedLoop vectors(builder_, low, whole, number(isa_.f32_lanes), "channels");
    emit_vector(vectors.index(), builder_.CreateAdd(before, vectors.index()), nullptr);
    vectors.close();
    Conditional tail(builder_, builder_.CreateICmpSLT(whole, high), "last_channels");
    Value* left = codegen::broadcast(builder_, builder_.CreateSub(high, whole), isa_.f32_lanes);
    emit_vector(whole, builder_.CreateAdd(before, whole),
                builder_.CreateICmpSLT(
                    codegen::iota(builder_, builder_.getInt64Ty(), isa_.f32_lanes), left));
    tail.close();
  }

  void emit_vector(Value* channel, Value* offset, Value* mask) {
    Value* place = builder_.CreateGEP(builder_.getFloatTy(), argument(work_elements), offset);
    operands_.set_index(problem_.lane_axis, channel);
    operands_.set_mask(mask);
    compiler_.enter(0);
    Value* element = nullptr;
    if (mask == nullptr)
      element = builder_.CreateAlignedLoad(vector_, place, llvm::Align(4));
    else
      element = builder_.CreateMaskedLoad(vector_, place, llvm::Align(4), mask,
                                          llvm::Constant::getNullValue(vector_));
    compiler_.bind_accumulator(element);
    Value* value = compiler_.compile(root_[0]);
    compiler_.leave();
    operands_.set_mask(nullptr);
    if (mask == nullptr)
      builder_.CreateAlignedStore(value, place, llvm::Align(4));
    else
      builder_.CreateMaskedStore(value, place, llvm::Align(4), mask);
  }

  Builder& builder_;
  const rkernel::Problem& problem_;
  const codegen::Isa& isa_;
  codegen::Operands& operands_;
  codegen::ExprCompiler compiler_;
  llvm::Function& function_;
  const std::array<int, 1> root_;
  llvm::FixedVectorType* const vector_;
};

void emit_image_work(llvm::Module& module, const std::string& symbol, const rkernel::Problem& whole,
                     const codegen::Isa& isa, const codegen::SlotTable& slots) {
  const rkernel::Problem problem = along_channels(whole);
  Builder builder(module.getContext());
  llvm::Function* function =
      llvm::Function::Create(work_type(builder), llvm::Function::ExternalLinkage, symbol, module);
  allow_rounding(*function, isa);
  builder.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", function));
  codegen::Operands operands(builder, problem, slots, classes_along(problem, problem.lane_axis),
                             codegen::load_kernel_args(builder, function->getArg(work_args)),
                             isa.f32_lanes);
  WorkEmitter(builder, problem, isa, operands, *function).emit();
  builder.CreateRetVoid();
}

}  // namespace

codegen::KernelSource image_work_source(const rkernel::Problem& problem, const codegen::Isa& isa,
                                        const codegen::SlotTable& slots) {
  return {fmt::format("image work {} {}",
                      codegen::class_letters(classes_along(problem, problem.contraction->k)),
                      codegen::structure_key(problem, slots)),
          [&problem, &isa, &slots](llvm::Module& module, const std::string& symbol) {
            emit_image_work(module, symbol, problem, isa, slots);
          }};
}

void call_image_work(Builder& builder, const ImageWork& work, Value* elements, Value* channel,
                     Value* count) {
  const auto pointer = [&](Value* address) {
    return builder.CreateIntToPtr(address, builder.getPtrTy());
  };
  builder.CreateCall(work_type(builder), pointer(work.function),
                     {pointer(work.kernel_args), elements, channel, count, work.channels});
}

}  // namespace dyn::cpu
