#include "targets/cpu/recurrence/quantised_states.hpp"

#include "src/base/bytes.hpp"
#include "src/base/rounding.hpp"

namespace dyn::cpu {
namespace {

using codegen::CountedLoop;
using llvm::Value;
using rkernel::Group;

constexpr double steps = 255;
constexpr std::int64_t zero_point_at = float_bytes, elements_at = line_bytes;

std::int64_t element_bytes(Group group) { return float_bytes / rkernel::elements_of(group); }

}  // namespace

std::int64_t quantised_row_bytes(const codegen::Isa& isa, Group group, std::int64_t hidden) {
  return elements_at + round_up(round_up(hidden, isa.f32_lanes) * element_bytes(group), line_bytes);
}

QuantisedStates::QuantisedStates(RecurrenceFunction& function)
    : function_(function), builder_(function.builder), code_(function.code) {
  Value* elements = code_.round_up(function.extent(function.recurrence.k), code_.lanes());
  Value* bytes =
      builder_.CreateMul(elements, code_.number(element_bytes(function.recurrence.group)));
  row_bytes_ = builder_.CreateAdd(code_.round_up(bytes, line_bytes), code_.number(elements_at));
}

Value* QuantisedStates::row_at(Value* row) {
  Value* rows = builder_.CreateGEP(builder_.getInt8Ty(), function_.scratch,
                                   function_.operands.slot(function_.strategy.quantised));
  return builder_.CreateGEP(builder_.getInt8Ty(), rows, builder_.CreateMul(row, row_bytes_));
}

Value* QuantisedStates::elements(Value* row) {
  return builder_.CreateGEP(builder_.getInt8Ty(), row_at(row), code_.number(elements_at));
}

QuantisedStates::Numbers QuantisedStates::numbers(Value* row) {
  Value* at = row_at(row);
  Value* zero_point = builder_.CreateAlignedLoad(
      builder_.getInt32Ty(),
      builder_.CreateGEP(builder_.getInt8Ty(), at, code_.number(zero_point_at)), llvm::Align(4));
  return {code_.splat(code_.load(at)), code_.splat(zero_point)};
}

void QuantisedStates::emit(Value* states, Value* count) {
  CountedLoop rows(builder_, code_.number(0), count, code_.number(1), "quantised");
  Value *from = function_.state(states, rows.index(), code_.number(0)), *to = row_at(rows.index());
  const Numbers numbers = emit_numbers(from);
  code_.store(numbers.scale, to);
  Value* place = builder_.CreateGEP(builder_.getInt8Ty(), to, code_.number(zero_point_at));
  builder_.CreateAlignedStore(builder_.CreateFPToSI(numbers.zero_point, builder_.getInt32Ty()),
                              place, llvm::Align(4));
  emit_elements(from, numbers, elements(rows.index()));
  rows.close();
}

/// As scalars of f32; the zero point is whole, and 0 where the scale is NaN.
QuantisedStates::Numbers QuantisedStates::emit_numbers(Value* states) {
  Value *count = function_.extent(function_.recurrence.k), *none = code_.splat(0.0);
  const auto smaller = [&](Value* next, Value* so_far) {
    return builder_.CreateSelect(builder_.CreateFCmpOLT(next, so_far), next, so_far);
  };
  const auto larger = [&](Value* next, Value* so_far) { return code_.larger(next, so_far); };
  const auto sum = [&](Value* next, Value* so_far) { return builder_.CreateFAdd(next, so_far); };
  const auto folded = [&](const char* name, const VectorCode::Combine& combine, bool cleared) {
    Value* lanes = code_.fold(
        count, none, name,
        [&](Value* at, Value* mask, Value* so_far) {
          Value* next = code_.load_vector(code_.element(states, at), mask);
          return combine(cleared ? builder_.CreateFMul(next, none) : next, so_far);
        },
        combine);
    return code_.across(lanes, combine);
  };
  Value *least = folded("least", smaller, false), *greatest = folded("greatest", larger, false),
        *nothing = folded("nan", sum, true);  // 0, or NaN
  const auto number = [&](double value) {
    return llvm::ConstantFP::get(builder_.getFloatTy(), value);
  };
  Value* reach = builder_.CreateFDiv(builder_.CreateFSub(greatest, least), number(steps));
  Value* scale = builder_.CreateSelect(builder_.CreateFCmpOEQ(reach, number(0)), number(1), reach);
  scale = builder_.CreateFAdd(scale, nothing);
  Value* zero_point = function_.math.round(builder_.CreateFDiv(builder_.CreateFNeg(least), scale));
  // A NaN is not within these bounds either.
  const auto within = [&](Value* x, Value* condition, double bound) {
    return builder_.CreateSelect(condition, x, number(bound));
  };
  zero_point = within(zero_point, builder_.CreateFCmpOGT(zero_point, number(0)), 0);
  zero_point = within(zero_point, builder_.CreateFCmpOLT(zero_point, number(steps)), steps);
  return {scale, zero_point};
}

/// Groups of bytes hold the elements themselves, others the elements less the zero point.
void QuantisedStates::emit_elements(Value* states, const Numbers& numbers, Value* to) {
  const Group group = function_.recurrence.group;
  Value *scale = code_.splat(numbers.scale), *zero_point = code_.splat(numbers.zero_point),
        *least = code_.splat(0.0), *greatest = code_.splat(steps);
  llvm::Type* integers = codegen::lanes_of(builder_.getInt32Ty(), code_.lanes());
  llvm::Type* elements = codegen::lanes_of(
      builder_.getIntNTy(static_cast<unsigned>(8 * element_bytes(group))), code_.lanes());
  Value* all = code_.round_up(function_.extent(function_.recurrence.k), code_.lanes());
  CountedLoop vectors(builder_, code_.number(0), all, code_.number(code_.lanes()), "elements");
  Value* x = code_.load_vector(code_.element(states, vectors.index()));
  x = builder_.CreateFAdd(function_.math.round(builder_.CreateFDiv(x, scale)), zero_point);
  x = builder_.CreateSelect(builder_.CreateFCmpOGT(x, least), x, least);
  x = builder_.CreateSelect(builder_.CreateFCmpOLT(x, greatest), x, greatest);
  Value* whole = builder_.CreateFPToSI(
      group == Group::Bytes ? x : builder_.CreateFSub(x, zero_point), integers);
  Value* place =
      builder_.CreateGEP(builder_.getInt8Ty(), to,
                         builder_.CreateMul(vectors.index(), code_.number(element_bytes(group))));
  builder_.CreateAlignedStore(builder_.CreateTrunc(whole, elements), place,
                              llvm::Align(static_cast<std::uint64_t>(element_bytes(group))));
  vectors.close();
}

}  // namespace dyn::cpu
