#include "targets/llvm/math/math.hpp"

#include <string>

#include "dyn/error.hpp"
#include "targets/llvm/math/half.hpp"

namespace dyn::codegen {

using rkernel::ExprOp;

namespace {

[[noreturn]] void refuse(ExprOp op, DType dtype) {
  throw Error(ErrorKind::unsupported, "no code can be generated for " + std::string(name_of(op)) + " of " +
                                          std::string(name_of(dtype)) + " values");
}

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
  llvm::Type* type = lanes_of(register_type(builder_.getContext(), to), width_of(value));
  llvm::Constant* zero = llvm::Constant::getNullValue(value->getType());
  if (to == DType::boolean)
    return is_float(from) ? builder_.CreateFCmpUNE(value, zero) : builder_.CreateICmpNE(value, zero);
  if (is_float(from) && is_float(to)) return builder_.CreateFPCast(value, type);
  if (from == DType::boolean) return is_float(to) ? builder_.CreateUIToFP(value, type) : builder_.CreateZExt(value, type);
  if (is_float(to)) return is_unsigned(from) ? builder_.CreateUIToFP(value, type) : builder_.CreateSIToFP(value, type);
  if (is_float(from)) {
    const llvm::Intrinsic::ID to_integer = is_unsigned(to) ? llvm::Intrinsic::fptoui_sat : llvm::Intrinsic::fptosi_sat;
    return builder_.CreateIntrinsic(to_integer, {type, value->getType()}, {value});
  }
  return builder_.CreateIntCast(value, type, !is_unsigned(from));
}

llvm::Value* Math::apply(ExprOp op, DType from, DType to, llvm::Value* a, llvm::Value* b, llvm::Value* c) {
  if (op == ExprOp::Select) return builder_.CreateSelect(a, b, c);
  if (op == ExprOp::Cast) return cast(from, to, a);
  if (op >= ExprOp::Equal && op <= ExprOp::GreaterEqual) return compare(op, from, a, b);
  if (b != nullptr) return is_float(from) ? float_binary(op, a, b) : binary(op, from, a, b);
  return is_float(from) ? float_unary(op, a) : unary(op, from, a);
}

llvm::Value* Math::unary(ExprOp op, DType dtype, llvm::Value* x) {
  llvm::Constant* zero = llvm::Constant::getNullValue(x->getType());
  switch (op) {
    case ExprOp::Not: return builder_.CreateICmpEQ(x, zero);
    case ExprOp::IsNan: return llvm::ConstantInt::getFalse(lanes_of(builder_.getInt1Ty(), width_of(x)));
    default: break;
  }
  if (dtype == DType::boolean) refuse(op, dtype);
  switch (op) {
    case ExprOp::Neg: return builder_.CreateNeg(x);
    case ExprOp::BitNot: return builder_.CreateNot(x);
    default: break;
  }
  if (is_unsigned(dtype)) {
    if (op == ExprOp::Abs || op == ExprOp::Relu) return x;
    if (op == ExprOp::Sign) return builder_.CreateZExt(builder_.CreateICmpNE(x, zero), x->getType());
    refuse(op, dtype);
  }
  switch (op) {
    case ExprOp::Abs: return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x, builder_.getFalse());
    case ExprOp::Relu: return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, x, zero);
    case ExprOp::Sign:
      return builder_.CreateSub(builder_.CreateZExt(builder_.CreateICmpSGT(x, zero), x->getType()),
                                builder_.CreateZExt(builder_.CreateICmpSLT(x, zero), x->getType()));
    default: refuse(op, dtype);
  }
}

llvm::Value* Math::float_unary(ExprOp op, llvm::Value* x) {
  if (llvm::Value* result = double_function(op, x)) return result;
  llvm::Value* zero = number(x, 0);
  switch (op) {
    case ExprOp::Neg: return builder_.CreateFNeg(x);
    case ExprOp::Abs: return abs(x);
    case ExprOp::Exp: return exp(x);
    case ExprOp::Log: return log(x);
    case ExprOp::Sqrt: return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x);
    case ExprOp::Rsqrt:
      return builder_.CreateFDiv(number(x, 1), builder_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x));
    case ExprOp::RoundF16: return nearest_half(builder_, DType::f16, x);
    case ExprOp::RoundBf16: return nearest_half(builder_, DType::bf16, x);
    case ExprOp::Reciprocal: return builder_.CreateFDiv(number(x, 1), x);
    case ExprOp::Tanh: return tanh(x);
    case ExprOp::Erf: return erf(x);
    case ExprOp::Sigmoid: return sigmoid(x);
    case ExprOp::Floor: return floor(x);
    case ExprOp::Ceil: return ceil(x);
    case ExprOp::Round: return round(x);
    case ExprOp::Sin: return sin(x);
    case ExprOp::Cos: return cos(x);
    case ExprOp::Tan: return tan(x);
    case ExprOp::Asin: return asin(x);
    case ExprOp::Acos: return acos(x);
    case ExprOp::Atan: return atan(x);
    case ExprOp::Sinh: return sinh(x);
    case ExprOp::Cosh: return cosh(x);
    case ExprOp::Asinh: return asinh(x);
    case ExprOp::Acosh: return acosh(x);
    case ExprOp::Atanh: return atanh(x);
    case ExprOp::Relu: return builder_.CreateSelect(builder_.CreateFCmpOGT(zero, x), zero, x);
    case ExprOp::Sign: {
      llvm::Value* one = copysign(number(x, 1), x);
      return builder_.CreateSelect(builder_.CreateFCmpONE(x, zero), one, x);
    }
    case ExprOp::IsNan: return builder_.CreateFCmpUNO(x, x);
    case ExprOp::Not: return builder_.CreateFCmpOEQ(x, zero);
    default: refuse(op, DType::f32);
  }
}

llvm::Value* Math::binary(ExprOp op, DType dtype, llvm::Value* a, llvm::Value* b) {
  if (op == ExprOp::And || op == ExprOp::Or) {
    llvm::Value* left = cast(dtype, DType::boolean, a);
    llvm::Value* right = cast(dtype, DType::boolean, b);
    return cast(DType::boolean, dtype,
                op == ExprOp::And ? builder_.CreateAnd(left, right) : builder_.CreateOr(left, right));
  }
  if (dtype == DType::boolean) {
    switch (op) {
      case ExprOp::Add:
      case ExprOp::Max: return builder_.CreateOr(a, b);
      case ExprOp::Mul:
      case ExprOp::Min: return builder_.CreateAnd(a, b);
      default: refuse(op, dtype);
    }
  }
  switch (op) {
    case ExprOp::Add: return builder_.CreateAdd(a, b);
    case ExprOp::Sub: return builder_.CreateSub(a, b);
    case ExprOp::Mul: return builder_.CreateMul(a, b);
    case ExprOp::Max: return builder_.CreateBinaryIntrinsic(is_unsigned(dtype) ? llvm::Intrinsic::umax : llvm::Intrinsic::smax, a, b);
    case ExprOp::Min: return builder_.CreateBinaryIntrinsic(is_unsigned(dtype) ? llvm::Intrinsic::umin : llvm::Intrinsic::smin, a, b);
    case ExprOp::Div:
    case ExprOp::Mod: return is_unsigned(dtype) ? unsigned_divide(op, a, b) : integer_divide(op, a, b);
    case ExprOp::Pow: return integer_power(is_unsigned(dtype), a, b);
    case ExprOp::BitAnd: return builder_.CreateAnd(a, b);
    case ExprOp::BitOr: return builder_.CreateOr(a, b);
    case ExprOp::BitXor: return builder_.CreateXor(a, b);
    case ExprOp::ShiftLeft:
    case ExprOp::ShiftRight: return shift(op, dtype, a, b);
    default: refuse(op, dtype);
  }
}

llvm::Value* Math::float_binary(ExprOp op, llvm::Value* a, llvm::Value* b) {
  switch (op) {
    case ExprOp::Add: return builder_.CreateFAdd(a, b);
    case ExprOp::Sub: return builder_.CreateFSub(a, b);
    case ExprOp::Mul: return builder_.CreateFMul(a, b);
    case ExprOp::Div: return builder_.CreateFDiv(a, b);
    case ExprOp::Max: return extremum(true, a, b);
    case ExprOp::Min: return extremum(false, a, b);
    case ExprOp::Pow: return pow(a, b);
    case ExprOp::Mod: return float_mod(a, b);
    default: refuse(op, DType::f32);
  }
}

llvm::Value* Math::compare(ExprOp op, DType dtype, llvm::Value* a, llvm::Value* b) {
  using Predicate = llvm::CmpInst::Predicate;
  struct Row {
    Predicate floating, integer, without_sign;
  };
  static constexpr Row rows[] = {{Predicate::FCMP_OEQ, Predicate::ICMP_EQ, Predicate::ICMP_EQ},
                                 {Predicate::FCMP_UNE, Predicate::ICMP_NE, Predicate::ICMP_NE},
                                 {Predicate::FCMP_OLT, Predicate::ICMP_SLT, Predicate::ICMP_ULT},
                                 {Predicate::FCMP_OLE, Predicate::ICMP_SLE, Predicate::ICMP_ULE},
                                 {Predicate::FCMP_OGT, Predicate::ICMP_SGT, Predicate::ICMP_UGT},
                                 {Predicate::FCMP_OGE, Predicate::ICMP_SGE, Predicate::ICMP_UGE}};
  const Row& row = rows[static_cast<std::size_t>(op) - static_cast<std::size_t>(ExprOp::Equal)];
  if (is_float(dtype)) return builder_.CreateFCmp(row.floating, a, b);
  return builder_.CreateICmp(dtype == DType::boolean || is_unsigned(dtype) ? row.without_sign : row.integer, a, b);
}

llvm::Value* Math::extremum(bool greater, llvm::Value* a, llvm::Value* b) {
  // One instruction, whose result is b where either is NaN; then a where it is NaN.
  llvm::Value* ordered = greater ? builder_.CreateFCmpOGT(a, b) : builder_.CreateFCmpOLT(a, b);
  return builder_.CreateSelect(builder_.CreateFCmpUNO(a, a), a, builder_.CreateSelect(ordered, a, b));
}

llvm::Value* Math::integer_divide(ExprOp op, llvm::Value* a, llvm::Value* b) {
  // Division by 0 and by -1 (which overflows for the least integer) is replaced by division by 1.
  llvm::Value* zero = bits(a, 0);
  llvm::Value* by_zero = builder_.CreateICmpEQ(b, zero);
  llvm::Value* by_minus_one = builder_.CreateICmpEQ(b, bits(a, -1));
  llvm::Value* divisor = builder_.CreateSelect(builder_.CreateOr(by_zero, by_minus_one), bits(a, 1), b);
  if (op == ExprOp::Div) {
    llvm::Value* quotient = builder_.CreateSDiv(a, divisor);
    return builder_.CreateSelect(by_zero, zero, builder_.CreateSelect(by_minus_one, builder_.CreateNeg(a), quotient));
  }
  llvm::Value* rest = builder_.CreateSRem(a, divisor);
  llvm::Value* other_sign = builder_.CreateICmpSLT(builder_.CreateXor(rest, b), zero);
  llvm::Value* wrong = builder_.CreateAnd(builder_.CreateICmpNE(rest, zero), other_sign);
  return builder_.CreateSelect(wrong, builder_.CreateAdd(rest, b), rest);
}

llvm::Value* Math::unsigned_divide(ExprOp op, llvm::Value* a, llvm::Value* b) {
  llvm::Value* by_zero = builder_.CreateICmpEQ(b, bits(a, 0));
  llvm::Value* divisor = builder_.CreateSelect(by_zero, bits(a, 1), b);
  if (op == ExprOp::Mod) return builder_.CreateURem(a, divisor);
  return builder_.CreateSelect(by_zero, bits(a, 0), builder_.CreateUDiv(a, divisor));
}

llvm::Value* Math::shift(ExprOp op, DType dtype, llvm::Value* a, llvm::Value* b) {
  // More than the last bit is no shift in IR.
  const std::int64_t width = a->getType()->getScalarSizeInBits();
  llvm::Value* inside = builder_.CreateICmpULT(b, bits(a, width));
  if (op == ExprOp::ShiftRight && !is_unsigned(dtype)) return builder_.CreateAShr(a, builder_.CreateSelect(inside, b, bits(a, width - 1)));
  llvm::Value* by = builder_.CreateSelect(inside, b, bits(a, 0));
  return builder_.CreateSelect(inside, op == ExprOp::ShiftLeft ? builder_.CreateShl(a, by) : builder_.CreateLShr(a, by), bits(a, 0));
}

llvm::Value* Math::integer_power(bool is_unsigned, llvm::Value* base, llvm::Value* exponent) {
  // Every bit of the exponent, since powers of odd bases wrap and never end.
  llvm::Value* one = bits(base, 1);
  llvm::Value* result = one;
  llvm::Value* square = base;
  const unsigned width = base->getType()->getScalarSizeInBits();
  for (unsigned bit = 0; bit + (is_unsigned ? 0 : 1) < width; ++bit) {
    // The last bit alone is the least signed integer.
    llvm::Value* mask = bits(base, static_cast<std::int64_t>((bit + 1 < width ? std::uint64_t{1} : ~std::uint64_t{0}) << bit));
    llvm::Value* set = builder_.CreateICmpNE(builder_.CreateAnd(exponent, mask), bits(base, 0));
    result = builder_.CreateSelect(set, builder_.CreateMul(result, square), result);
    square = builder_.CreateMul(square, square);
  }
  if (is_unsigned) return result;
  llvm::Value* odd = builder_.CreateICmpNE(builder_.CreateAnd(exponent, one), bits(base, 0));
  llvm::Value* is_one = builder_.CreateICmpEQ(base, one);
  llvm::Value* is_minus_one = builder_.CreateICmpEQ(base, bits(base, -1));
  llvm::Value* sign = builder_.CreateSelect(odd, bits(base, -1), one);
  llvm::Value* inverse = builder_.CreateSelect(is_minus_one, sign, builder_.CreateSelect(is_one, one, bits(base, 0)));
  return builder_.CreateSelect(builder_.CreateICmpSLT(exponent, bits(base, 0)), inverse, result);
}

}  // namespace dyn::codegen
