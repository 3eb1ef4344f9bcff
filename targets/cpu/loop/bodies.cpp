// Bodies of one vector, ranges of lanes, serial loops and scratch.

#include <algorithm>
#include <bit>

#include "src/base/bytes.hpp"
#include "targets/cpu/loop/code.hpp"

namespace dyn::cpu {

using codegen::axis_bit;
using codegen::AxisSet;
using codegen::CountedLoop;
using codegen::LoopPass;
using codegen::StrideClass;
using llvm::Value;

void LoopCode::in_body(const Body& body, const std::function<void()>& emit_it) {
  operands_->set_index(problem_.lane_axis, body.begin);
  operands_->set_mask(body.mask);
  compiler_->enter(0);
  for (const auto& [expr, value] : body.bound) compiler_->bind(expr, value);
  emit_it();
  compiler_->leave();
  operands_->set_mask(nullptr);
  operands_->set_index(problem_.lane_axis, nullptr);
}

Value* LoopCode::mask_until(Value* begin, Value* end) {
  Value* left = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin,
                                               builder_.CreateSub(end, begin), number(width_));
  llvm::Type* narrow = builder_.getInt32Ty();
  Value* count = codegen::broadcast(builder_, builder_.CreateTrunc(left, narrow), width_);
  return builder_.CreateICmpSLT(codegen::iota(builder_, narrow, width_), count);
}

void LoopCode::sweep(const LoopPass& pass, const Body& body, std::size_t index, std::size_t count,
                     Values& accumulators, Value* row) {
  in_body(body, [&] {
    for (const int expr : pass.loaded)
      compiler_->bind(expr, load_scratch(problem_.exprs[static_cast<std::size_t>(expr)].dtype,
                                         kept(expr, row, body.begin)));
    for (std::size_t r = 0; r < pass.reductions.size(); ++r) {
      Value*& accumulator = accumulators[r * count + index];
      Value* next =
          compiler_->compile(problem_.exprs[static_cast<std::size_t>(pass.reductions[r])].args[0]);
      // Lanes that do not exist matter only where lanes are merged.
      accumulator =
          reduction(pass.reductions[r])
              .masked_step(accumulator, next, loop_.lanes_reduced() ? body.mask : nullptr);
    }
    for (const int expr : pass.saved)
      store_scratch(compiler_->compile(expr), kept(expr, row, body.begin));
    store_all(pass.stores);
  });
}

void LoopCode::store_all(const std::vector<int>& stores) {
  for (const int store : stores) compiler_->store(problem_.stores[static_cast<std::size_t>(store)]);
}

LoopCode::Values LoopCode::neutral(const LoopPass& pass, int count) {
  Values values;
  for (const int expr : pass.reductions)
    values.insert(values.end(), static_cast<std::size_t>(count), reduction(expr).neutral(width_));
  return values;
}

bool LoopCode::is_streamed(int store) const {
  const auto operand =
      static_cast<std::size_t>(problem_.stores[static_cast<std::size_t>(store)].operand);
  return class_.lane_classes[operand] == StrideClass::Unit &&
         problem_.operands[operand].guards.empty();
}

bool LoopCode::is_streamed_in(int operand) const {
  const rkernel::Operand& source = problem_.operands[static_cast<std::size_t>(operand)];
  return class_.lane_classes[static_cast<std::size_t>(operand)] == StrideClass::Unit &&
         !source.written && !source.gathers;
}

LoopCode::Streaming LoopCode::streaming(const std::vector<int>& stores, const Part& lanes) {
  Streaming result;
  llvm::Type* i64 = builder_.getInt64Ty();
  operands_->set_index(problem_.lane_axis, lanes.begin);
  for (const int store : stores) {
    if (!is_streamed(store)) continue;
    const int operand = problem_.stores[static_cast<std::size_t>(store)].operand;
    const auto bytes = static_cast<std::int64_t>(
        size_of(problem_.operands[static_cast<std::size_t>(operand)].dtype));
    Value* address = builder_.CreatePtrToInt(operands_->pointer(operand), i64);
    if (result.streams == nullptr) {
      result.streams = builder_.CreateICmpNE(operands_->slot(loop_.stream_slot), number(0));
      Value* to_line = builder_.CreateAnd(builder_.CreateNeg(address), number(line_bytes - 1));
      Value* head =
          builder_.CreateLShr(to_line, number(std::countr_zero(static_cast<std::uint64_t>(bytes))));
      result.head = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, head,
                                                   builder_.CreateSub(lanes.end, lanes.begin));
      continue;
    }
    Value* at_head = builder_.CreateAdd(address, builder_.CreateMul(result.head, number(bytes)));
    Value* beside = builder_.CreateAnd(at_head, number(std::min(line_bytes, width_ * bytes) - 1));
    result.streams = builder_.CreateAnd(result.streams, builder_.CreateICmpEQ(beside, number(0)));
  }
  operands_->set_index(problem_.lane_axis, nullptr);
  if (result.streams != nullptr)
    result.head = builder_.CreateSelect(result.streams, result.head, number(0));
  return result;
}

void LoopCode::over_range(const Part& lanes, const Streaming& streaming, int count,
                          const EmitVectors& emit) {
  const std::int64_t block = static_cast<std::int64_t>(count) * width_;
  // Two rounds of one code: the lanes before the first line that is stored whole, where there are
  // any, and the others.
  std::optional<CountedLoop> rounds;
  Value *begin = lanes.begin, *end = lanes.end, *whole = nullptr;
  if (streaming.streams != nullptr) {
    Value* none = builder_.CreateICmpEQ(streaming.head, number(0));
    rounds.emplace(builder_, builder_.CreateZExt(none, builder_.getInt64Ty()), number(2), number(1),
                   "round");
    Value* is_head = builder_.CreateICmpEQ(rounds->index(), number(0));
    Value* first_line = builder_.CreateAdd(lanes.begin, streaming.head);
    begin = builder_.CreateSelect(is_head, lanes.begin, first_line);
    end = builder_.CreateSelect(is_head, first_line, lanes.end);
    whole = builder_.CreateSelect(
        is_head, begin,
        builder_.CreateAdd(begin, rounded_down(builder_.CreateSub(end, begin), block)));
  } else {
    whole = builder_.CreateAdd(begin, rounded_down(builder_.CreateSub(end, begin), block));
  }
  CountedLoop main(builder_, begin, whole, number(block), "lanes");
  operands_->hold_stores();
  emit(main.index(), count, nullptr);
  operands_->release_stores(streaming.streams);
  main.close();
  CountedLoop rest(builder_, whole, end, number(width_), "last_lanes");
  emit(rest.index(), 1, mask_until(rest.index(), end));
  rest.close();
  if (rounds) rounds->close();
}

LoopCode::Values LoopCode::over_serial_axes(const LoopPass& pass, std::size_t depth,
                                            const Values& accumulators, Value* row,
                                            const Innermost& innermost) {
  if (depth == serial_axes_.size())
    return innermost(accumulators,
                     row == nullptr ? nullptr : builder_.CreateMul(row, padded_lanes_));
  const int axis = serial_axes_[depth];
  const Part part = part_of(axis);
  CountedLoop loop(builder_, part.begin, part.end, number(1), "reduce", accumulators);
  operands_->set_index(axis, loop.index());
  AxisSet inner = inner_;
  for (std::size_t i = 0; i <= depth; ++i) inner &= ~axis_bit(serial_axes_[i]);
  compiler_->enter(inner, pass.roots);
  Values carried;
  for (std::size_t i = 0; i < accumulators.size(); ++i) carried.push_back(loop.carried(i));
  Value* inner_row = row == nullptr
                         ? nullptr
                         : builder_.CreateAdd(builder_.CreateMul(row, extent(axis)), loop.index());
  const Values next = over_serial_axes(pass, depth + 1, carried, inner_row, innermost);
  compiler_->leave();
  operands_->set_index(axis, nullptr);
  return loop.close(next);
}

Value* LoopCode::element_at(Value* memory, Value* element) {
  return builder_.CreateGEP(scratch_unit(), memory, element);
}

llvm::Type* LoopCode::scratch_unit() {
  return builder_.getIntNTy(static_cast<unsigned>(loop_.scratch_element_bytes) * 8);
}

Value* LoopCode::load_units(DType dtype, Value* address, int width) {
  llvm::Type* element = codegen::register_type(builder_.getContext(), dtype);
  llvm::Type* type = codegen::lanes_of(element, width);
  if (element->getScalarSizeInBits() == scratch_unit()->getScalarSizeInBits())
    return builder_.CreateAlignedLoad(type, address, scratch_alignment());
  Value* units = builder_.CreateAlignedLoad(codegen::lanes_of(scratch_unit(), width), address,
                                            scratch_alignment());
  Value* bits = builder_.CreateTrunc(
      units, codegen::lanes_of(builder_.getIntNTy(element->getScalarSizeInBits()), width));
  return builder_.CreateBitCast(bits, type);
}

void LoopCode::store_units(Value* value, Value* address) {
  const unsigned size = value->getType()->getScalarSizeInBits();
  const int width = codegen::width_of(value);
  if (size != scratch_unit()->getScalarSizeInBits()) {
    Value* bits = builder_.CreateBitCast(value, codegen::lanes_of(builder_.getIntNTy(size), width));
    value = builder_.CreateZExt(bits, codegen::lanes_of(scratch_unit(), width));
  }
  builder_.CreateAlignedStore(value, address, scratch_alignment());
}

}  // namespace dyn::cpu
