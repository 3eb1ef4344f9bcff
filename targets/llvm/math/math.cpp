#include "targets/llvm/math/math.hpp"

#include <llvm/IR/IntrinsicInst.h>

#include <cmath>
#include <optional>
#include <string>

#include "dyn/error.hpp"
#include "graph/ir/codes.hpp"
#include "targets/llvm/math/half.hpp"

namespace dyn::codegen {

using rkernel::ExprOp;

namespace {

[[noreturn]] void refuse(ExprOp op, DType dtype) {
  throw Error(ErrorKind::unsupported, "no code can be generated for " + std::string(name_of(op)) +
                                          " of " + std::string(name_of(dtype)) + " values");
}

/// True where order depends on the upper bit as a sign.
constexpr bool has_sign(DType dtype) { return dtype != DType::boolean && !is_unsigned(dtype); }

}  // namespace

llvm::Constant* Math::constant(DType dtype, double number, std::int64_t integer) {
  llvm::Type* type = register_type(builder_.getContext(), dtype);
  if (type->isFloatingPointTy()) return llvm::ConstantFP::get(type, number);
  if (dtype == DType::boolean) return builder_.getInt1(integer != 0);
  if (is_unsigned(dtype)) return llvm::ConstantInt::get(type, static_cast<std::uint64_t>(integer));
  return llvm::ConstantInt::getSigned(type, integer);
}

llvm::Value* Math::cast(DType from, DType to, llvm::Value* value) {
  if (from == to) return value;
  if (graph::is_narrow_float(from))
    return cast(DType::f32, to, half_to_float(builder_, from, value));
  if (graph::is_narrow_float(to)) return float_to_half(builder_, to, cast(from, DType::f32, value));
  if (is_code(from)) return cast(graph::is_signed_code(from) ? DType::i8 : DType::u8, to, value);
  if (is_code(to)) return integer_code(to, cast(from, DType::i32, value));
  llvm::Type* type = lanes_of(register_type(builder_.getContext(), to), width_of(value));
  llvm::Constant* zero = llvm::Constant::getNullValue(value->getType());
  if (to == DType::boolean)
    return is_float(from) ? builder_.CreateFCmpUNE(value, zero)
                          : builder_.CreateICmpNE(value, zero);
  if (is_float(from) && is_float(to)) return builder_.CreateFPCast(value, type);
  if (from == DType::boolean)
    return is_float(to) ? builder_.CreateUIToFP(value, type) : builder_.CreateZExt(value, type);
  if (is_float(to))
    return is_unsigned(from) ? builder_.CreateUIToFP(value, type)
                             : builder_.CreateSIToFP(value, type);
  const bool is_narrow = size_of(to) < sizeof(std::int32_t) || to == DType::i32;
  if (is_float(from) && is_narrow && width_of(value) > 1) return saturated_lanes(to, value);
  if (is_float(from)) {
    const llvm::Intrinsic::ID to_integer =
        is_unsigned(to) ? llvm::Intrinsic::fptoui_sat : llvm::Intrinsic::fptosi_sat;
    return builder_.CreateIntrinsic(to_integer, {type, value->getType()}, {value});
  }
  return builder_.CreateIntCast(value, type, !is_unsigned(from));
}

namespace {

/// The number of all lanes of a constant; nullptr: it is none.
const llvm::ConstantFP* known_number(llvm::Value* value) {
  const auto* lanes = llvm::dyn_cast<llvm::Constant>(value);
  if (lanes == nullptr) return nullptr;
  return llvm::dyn_cast_or_null<llvm::ConstantFP>(
      lanes->getType()->isVectorTy() ? lanes->getSplatValue() : lanes);
}

bool is_known_number(llvm::Value* value) {
  const llvm::ConstantFP* number = known_number(value);
  return number != nullptr && !number->isNaN();
}

/// A sum of f32 with a whole number, which is 0 where there is none: round(x) + added.
struct RoundedSum {
  llvm::Value* x;
  double added;
};

std::optional<RoundedSum> rounded_sum(llvm::Value* value) {
  double added = 0;
  if (auto* sum = llvm::dyn_cast<llvm::BinaryOperator>(value);
      sum != nullptr && sum->getOpcode() == llvm::Instruction::FAdd) {
    const llvm::ConstantFP* number = known_number(sum->getOperand(1));
    if (number == nullptr || !number->getValueAPF().isInteger()) return std::nullopt;
    added = number->getValueAPF().convertToDouble();
    constexpr double most = 1 << 20;  // bounds are exact floats
    if (std::abs(added) > most) return std::nullopt;
    value = sum->getOperand(0);
  }
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(value);
  if (call == nullptr || call->getIntrinsicID() != llvm::Intrinsic::roundeven ||
      !value->getType()->getScalarType()->isFloatTy())
    return std::nullopt;
  return RoundedSum{call->getArgOperand(0), added};
}

}  // namespace

/// A whole number of the dtype's bounds, taken before x is rounded, bounds the sum. The conversion
/// rounds: kernels run with rounding to nearest, ties to even.
llvm::Value* Math::saturated_sum(DType to, llvm::Value* x, double added) {
  const double least = static_cast<double>(graph::least(to)) - added,
               greatest = static_cast<double>(graph::greatest(to)) - added;
  llvm::Value *low = llvm::ConstantFP::get(x->getType(), least),
              *high = llvm::ConstantFP::get(x->getType(), greatest);
  llvm::Value* bounded = builder_.CreateSelect(builder_.CreateFCmpOGT(x, low), x, low);
  bounded = builder_.CreateSelect(builder_.CreateFCmpOLT(bounded, high), bounded, high);
  auto* wide = lanes_of(builder_.getInt32Ty(), width_of(x));
  llvm::Value* whole = options_.lrint ? builder_.CreateIntrinsic(llvm::Intrinsic::lrint,
                                                                 {wide, x->getType()}, {bounded})
                                      : builder_.CreateFPToSI(round(bounded), wide);
  if (added != 0)
    whole = builder_.CreateAdd(
        whole, llvm::ConstantInt::getSigned(wide, static_cast<std::int64_t>(added)));
  return zero_for_nan(to, x, whole);
}

/// Bounds give NaN the least number, which is 0 in dtypes without a sign.
llvm::Value* Math::zero_for_nan(DType to, llvm::Value* x, llvm::Value* whole) {
  if (graph::least(to) != 0)
    whole = builder_.CreateSelect(builder_.CreateFCmpORD(x, x), whole,
                                  llvm::Constant::getNullValue(whole->getType()));
  return builder_.CreateTrunc(whole,
                              lanes_of(register_type(builder_.getContext(), to), width_of(x)));
}

/// Lanes of floats as integers of at most 32 bits, the nearest ones that the dtype has, and 0 for
/// NaN: LLVM makes its intrinsic for that one element at a time.
llvm::Value* Math::saturated_lanes(DType to, llvm::Value* value) {
  if (size_of(to) < sizeof(std::int32_t)) {
    if (const std::optional<RoundedSum> sum = rounded_sum(value))
      return saturated_sum(to, sum->x, sum->added);
  }
  const auto number = [&](double of) { return llvm::ConstantFP::get(value->getType(), of); };
  const auto least = static_cast<double>(graph::least(to)),
             greatest = static_cast<double>(graph::greatest(to));
  // In f32 the numbers of 24 bits above it are the last ones before a bound of i32.
  constexpr double last_below_i32 = 2147483520;
  const bool is_short = size_of(to) < sizeof(std::int32_t);
  const double last =
      is_short || value->getType()->getScalarType()->isDoubleTy() ? greatest : last_below_i32;
  llvm::Value* low = number(least);
  llvm::Value* bounded =
      builder_.CreateSelect(builder_.CreateFCmpOGT(value, low), value, low, "above_least");
  llvm::Value* high = number(last);
  bounded = builder_.CreateSelect(builder_.CreateFCmpOLT(bounded, high), bounded, high);
  auto* wide = lanes_of(builder_.getInt32Ty(), width_of(value));
  llvm::Value* whole = builder_.CreateFPToSI(bounded, wide);
  if (!is_short)
    whole = builder_.CreateSelect(builder_.CreateFCmpOGT(value, high),
                                  llvm::ConstantInt::getSigned(wide, graph::greatest(to)), whole);
  return zero_for_nan(to, value, whole);
}

llvm::Value* Math::integer_code(DType to, llvm::Value* value) {
  const int bits = graph::packed_bits(to);
  llvm::Value* byte = builder_.CreateTrunc(value, lanes_of(builder_.getInt8Ty(), width_of(value)));
  if (!graph::is_signed_code(to))
    return builder_.CreateAnd(byte, static_cast<std::uint64_t>((1 << bits) - 1));
  const auto unused = static_cast<std::uint64_t>(8 - bits);
  return builder_.CreateAShr(builder_.CreateShl(byte, unused), unused);
}

llvm::Value* Math::bit_cast(DType from, DType to, llvm::Value* value) {
  if (from == DType::boolean)
    value = builder_.CreateZExt(value, lanes_of(builder_.getInt8Ty(), width_of(value)));
  if (to == DType::boolean)
    return builder_.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType()));
  // Codes of less than a byte differ in the bits above.
  if (graph::packed_bits(to) > 0) return integer_code(to, value);
  return builder_.CreateBitCast(
      value, lanes_of(register_type(builder_.getContext(), to), width_of(value)));
}

llvm::Value* Math::apply(ExprOp op, DType from, DType to, llvm::Value* a, llvm::Value* b,
                         llvm::Value* c) {
  switch (op) {
    case ExprOp::Select: return builder_.CreateSelect(a, b, c);
    case ExprOp::Cast: return cast(from, to, a);
    case ExprOp::BitCast: return bit_cast(from, to, a);
    case ExprOp::RoundF16:
    case ExprOp::RoundBf16:
      if (from != DType::f32) refuse(op, from);
      return nearest_half(builder_, op == ExprOp::RoundF16 ? DType::f16 : DType::bf16, a);
    default: return scalar(op, from, a, b);
  }
}

llvm::Value* Math::scalar(ExprOp op, DType dtype, llvm::Value* x, [[maybe_unused]] llvm::Value* y) {
  const std::optional<graph::ScalarOp> known = rkernel::scalar_op(op);
  if (!known) refuse(op, dtype);
  const graph::ScalarOpInfo& info = graph::info_of(*known);
  if (dtype == DType::boolean && !info.has(graph::Logic)) refuse(op, dtype);
  if (x->getType()->getScalarType()->isDoubleTy() && !info.libm.empty())
    return call(info.libm, {x});
  const bool of_floats = is_float(dtype);
  const auto none = [&]() -> llvm::Value* { refuse(op, dtype); };
  switch (op) {
#define DYN_SCALAR_OP(name, text, operands, takes, traits, instructions, onnx, libm, value, \
                      integer, float_code, integer_code, summary)                           \
  case ExprOp::name:                                                                        \
    return of_floats ? static_cast<llvm::Value*>(float_code)                                \
                     : static_cast<llvm::Value*>(integer_code);
#include "graph/ops/scalar_ops.def"
    default: refuse(op, dtype);
  }
}

llvm::Value* Math::sqrt(llvm::Value* x) {
  return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x);
}

llvm::Value* Math::inverse(llvm::Value* x) { return builder_.CreateFDiv(number(x, 1), x); }

llvm::Value* Math::relu(llvm::Value* x) { return at_least(x, 0); }

llvm::Value* Math::sign(llvm::Value* x) {
  llvm::Value* one = copysign(number(x, 1), x);
  return builder_.CreateSelect(builder_.CreateFCmpONE(x, number(x, 0)), one, x);
}

llvm::Value* Math::integer_sign(DType dtype, llvm::Value* x) {
  llvm::Value* zero = bits(x, 0);
  if (is_unsigned(dtype)) return builder_.CreateZExt(builder_.CreateICmpNE(x, zero), x->getType());
  return builder_.CreateSub(builder_.CreateZExt(builder_.CreateICmpSGT(x, zero), x->getType()),
                            builder_.CreateZExt(builder_.CreateICmpSLT(x, zero), x->getType()));
}

llvm::Value* Math::of_truths(DType dtype, llvm::Instruction::BinaryOps operation, llvm::Value* a,
                             llvm::Value* b) {
  llvm::Value* left = cast(dtype, DType::boolean, a);
  llvm::Value* right = cast(dtype, DType::boolean, b);
  return cast(DType::boolean, dtype, builder_.CreateBinOp(operation, left, right));
}

llvm::Value* Math::integer_extremum(DType dtype, bool greater, llvm::Value* a, llvm::Value* b) {
  if (dtype == DType::boolean) return greater ? builder_.CreateOr(a, b) : builder_.CreateAnd(a, b);
  if (is_unsigned(dtype))
    return builder_.CreateBinaryIntrinsic(greater ? llvm::Intrinsic::umax : llvm::Intrinsic::umin,
                                          a, b);
  return builder_.CreateBinaryIntrinsic(greater ? llvm::Intrinsic::smax : llvm::Intrinsic::smin, a,
                                        b);
}

llvm::Value* Math::extremum(bool greater, llvm::Value* a, llvm::Value* b) {
  if (has_extremum(a))
    return builder_.CreateBinaryIntrinsic(
        greater ? llvm::Intrinsic::maximum : llvm::Intrinsic::minimum, a, b);
  // One instruction, whose result is the second number where either is NaN.
  const auto chosen = [&](llvm::Value* first, llvm::Value* second) {
    return builder_.CreateSelect(
        greater ? builder_.CreateFCmpOGT(first, second) : builder_.CreateFCmpOLT(first, second),
        first, second);
  };
  if (is_known_number(b)) return chosen(b, a);
  if (is_known_number(a)) return chosen(a, b);
  return builder_.CreateSelect(builder_.CreateFCmpUNO(a, a), a, chosen(a, b));
}

llvm::Value* Math::quotient(DType dtype, llvm::Value* a, llvm::Value* b) {
  llvm::Value* zero = bits(a, 0);
  llvm::Value* by_zero = builder_.CreateICmpEQ(b, zero);
  if (is_unsigned(dtype)) {
    llvm::Value* divisor = builder_.CreateSelect(by_zero, bits(a, 1), b);
    return builder_.CreateSelect(by_zero, zero, builder_.CreateUDiv(a, divisor));
  }
  llvm::Value* by_minus_one = builder_.CreateICmpEQ(b, bits(a, -1));
  llvm::Value* divided = builder_.CreateSDiv(a, safe_divisor(b));
  return builder_.CreateSelect(by_zero, zero,
                               builder_.CreateSelect(by_minus_one, builder_.CreateNeg(a), divided));
}

llvm::Value* Math::remainder(DType dtype, llvm::Value* a, llvm::Value* b) {
  llvm::Value* zero = bits(a, 0);
  if (is_unsigned(dtype))
    return builder_.CreateURem(
        a, builder_.CreateSelect(builder_.CreateICmpEQ(b, zero), bits(a, 1), b));
  llvm::Value* rest = builder_.CreateSRem(a, safe_divisor(b));
  llvm::Value* other_sign = builder_.CreateICmpSLT(builder_.CreateXor(rest, b), zero);
  llvm::Value* wrong = builder_.CreateAnd(builder_.CreateICmpNE(rest, zero), other_sign);
  return builder_.CreateSelect(wrong, builder_.CreateAdd(rest, b), rest);
}

llvm::Value* Math::safe_divisor(llvm::Value* b) {
  llvm::Value* overflows = builder_.CreateOr(builder_.CreateICmpEQ(b, bits(b, 0)),
                                             builder_.CreateICmpEQ(b, bits(b, -1)));
  return builder_.CreateSelect(overflows, bits(b, 1), b);
}

llvm::Value* Math::shift(ExprOp op, DType dtype, llvm::Value* a, llvm::Value* b) {
  // IR defines no shift by as many bits as the type has, or more.
  const std::int64_t width = a->getType()->getScalarSizeInBits();
  llvm::Value* inside = builder_.CreateICmpULT(b, bits(a, width));
  if (op == ExprOp::ShiftRight && !is_unsigned(dtype))
    return builder_.CreateAShr(a, builder_.CreateSelect(inside, b, bits(a, width - 1)));
  llvm::Value* by = builder_.CreateSelect(inside, b, bits(a, 0));
  return builder_.CreateSelect(
      inside, op == ExprOp::ShiftLeft ? builder_.CreateShl(a, by) : builder_.CreateLShr(a, by),
      bits(a, 0));
}

llvm::Value* Math::integer_power(bool is_unsigned, llvm::Value* base, llvm::Value* exponent) {
  // Goes through every bit of the exponent, since powers of odd bases wrap and never end.
  llvm::Value* one = bits(base, 1);
  llvm::Value* result = one;
  llvm::Value* square = base;
  const unsigned width = base->getType()->getScalarSizeInBits();
  for (unsigned bit = 0; bit + (is_unsigned ? 0 : 1) < width; ++bit) {
    // The last bit alone is the least signed integer.
    llvm::Value* mask = bits(
        base,
        static_cast<std::int64_t>((bit + 1 < width ? std::uint64_t{1} : ~std::uint64_t{0}) << bit));
    llvm::Value* set = builder_.CreateICmpNE(builder_.CreateAnd(exponent, mask), bits(base, 0));
    result = builder_.CreateSelect(set, builder_.CreateMul(result, square), result);
    square = builder_.CreateMul(square, square);
  }
  if (is_unsigned) return result;
  llvm::Value* odd = builder_.CreateICmpNE(builder_.CreateAnd(exponent, one), bits(base, 0));
  llvm::Value* is_one = builder_.CreateICmpEQ(base, one);
  llvm::Value* is_minus_one = builder_.CreateICmpEQ(base, bits(base, -1));
  llvm::Value* sign = builder_.CreateSelect(odd, bits(base, -1), one);
  llvm::Value* inverse =
      builder_.CreateSelect(is_minus_one, sign, builder_.CreateSelect(is_one, one, bits(base, 0)));
  return builder_.CreateSelect(builder_.CreateICmpSLT(exponent, bits(base, 0)), inverse, result);
}

}  // namespace dyn::codegen
