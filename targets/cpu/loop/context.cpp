#include "targets/cpu/loop/context.hpp"

#include <llvm/IR/Module.h>

#include "targets/cpu/x86/functions.hpp"

namespace dyn::cpu {

using codegen::StrideClass;
using llvm::Value;

codegen::MathOptions math_options(const codegen::Isa& isa) {
  constexpr int avx512_lanes = 16;
  return {.fma = isa.fma, .scalef = isa.f32_lanes == avx512_lanes};
}

RegisterLoops::RegisterLoops(const LoopProblem& loop) {
  for (const rkernel::Loop& step : loop.tree.layers.front().loops) {
    inner |= codegen::axis_bit(step.axis);
    if (step.axis == loop.problem.lane_axis)
      block = static_cast<int>(step.tile);
    else if (step.axis != loop.steps_axis())
      serial_axes.push_back(step.axis);
  }
}

LoopFunction::LoopFunction(llvm::Module& module, const std::string& symbol, const LoopProblem& loop,
                           const LoopClass& loop_class)
    : builder(module.getContext()),
      function(create_kernel_function(builder, module, symbol, loop.isa)),
      operands(builder, loop.problem, loop.slots, loop_class.lane_classes,
               codegen::load_kernel_args(builder, function->getArg(0)), loop.isa.f32_lanes),
      compiler(builder, loop.problem, operands, math_options(loop.isa)),
      shared(loop.sliced ? codegen::load_shared_memory(builder, function->getArg(0)) : nullptr) {
  function->setDoesNotThrow();
}

LoopContext::LoopContext(LoopFunction& written, const LoopProblem& source,
                         const LoopClass& made_for, LoopStage of)
    : loop(source),
      problem(source.problem),
      loop_class(made_for),
      stage(of),
      width(source.isa.f32_lanes),
      passes(codegen::plan_passes(problem, source.slots, made_for.lane_classes,
                                  made_for.scratch_values > 0)),
      registers(source),
      builder(written.builder),
      operands(written.operands),
      compiler(written.compiler),
      function(written.function),
      scratch(function->getArg(3)),
      shared(written.shared) {}

bool LoopContext::is_streamed_in(int index) const {
  const rkernel::Operand& source = operand(index);
  return loop_class.lane_classes[static_cast<std::size_t>(index)] == StrideClass::Unit &&
         !source.written && !source.gathers;
}

int LoopContext::next_ticket_axis() const {
  int axis = -1;
  for (const rkernel::Loop& step : loop.tree.layers.back().loops)
    if (step.axis != problem.lane_axis && step.axis != loop.steps_axis() && !is_reduced(step.axis))
      axis = step.axis;
  return axis;
}

LoopRange LoopContext::range_of(const AxisRanges& ranges, int axis) const {
  for (const auto& [known, range] : ranges)
    if (known == axis) return range;
  return {number(0), extent(axis)};
}

Value* LoopContext::rounded_down(Value* count, std::int64_t multiple) const {
  const bool power_of_two = (multiple & (multiple - 1)) == 0;
  return power_of_two ? builder.CreateAnd(count, number(-multiple))
                      : builder.CreateSub(count, builder.CreateURem(count, number(multiple)));
}

Value* LoopContext::mask_until(Value* begin, Value* end) const {
  Value* left = builder.CreateBinaryIntrinsic(llvm::Intrinsic::smin, builder.CreateSub(end, begin),
                                              number(width));
  llvm::Type* narrow = builder.getInt32Ty();
  Value* count = codegen::broadcast(builder, builder.CreateTrunc(left, narrow), width);
  return builder.CreateICmpSLT(codegen::iota(builder, narrow, width), count);
}

codegen::Reduction LoopContext::reduction(int index) const {
  return {builder, math_options(loop.isa), expr(index)};
}

}  // namespace dyn::cpu
