#include "targets/llvm/math/half.hpp"

#include <llvm/IR/Function.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <cmath>

namespace dyn::codegen {

namespace {

using llvm::Value;

using graph::SpecialCodes;

/// Values of a narrow float as codes and as floats, of one width. A float has 23 bits of fraction
/// and an exponent from -126; bf16 is its upper half.
class Halves {
 public:
  Halves(Builder& builder, DType dtype, int width)
      : builder_(builder),
        format_(graph::format_of(dtype)),
        code_(lanes_of(builder.getIntNTy(static_cast<unsigned>(8 * size_of(dtype))), width)),
        word_(lanes_of(builder.getInt32Ty(), width)),
        float_(lanes_of(builder.getFloatTy(), width)) {}

  Value* from_bf16(Value* bits) {
    return as_float(builder_.CreateShl(builder_.CreateZExt(bits, word_), 16));
  }

  Value* from_code(Value* code) {
    Value* wide = builder_.CreateZExt(code, word_);
    Value* magnitude = builder_.CreateAnd(wide, word(sign() - 1));
    Value* result = builder_.CreateShl(magnitude, dropped());
    if (format_.fraction_bits == 0)
      result = builder_.CreateSelect(builder_.CreateICmpEQ(magnitude, word(0)),
                                     word(least_power_of_float), result);
    else
      result = with_subnormal(magnitude, result);
    if (format_.special == SpecialCodes::Last)
      result = select_nan(builder_.CreateICmpEQ(magnitude, word(format_.not_a_number())), result);
    if (format_.special == SpecialCodes::NegativeZero)
      result = select_nan(builder_.CreateICmpEQ(wide, word(sign())), result);
    if (!format_.is_signed) return as_float(result);
    Value* minus = builder_.CreateShl(builder_.CreateAnd(wide, word(sign())),
                                      31 - static_cast<std::uint64_t>(format_.magnitude_bits()));
    return as_float(builder_.CreateOr(result, minus));
  }

  /// nullptr: the function may not use it, or there is none for such vectors.
  Value* to_bf16_by_instruction(Value* value) {
    constexpr int lanes = 16;
    const llvm::Function& function = *builder_.GetInsertBlock()->getParent();
    if (width_of(value) != lanes ||
        !function.getFnAttribute(target_features).getValueAsString().contains(bfloat_feature))
      return nullptr;
    return builder_.CreateBitCast(
        builder_.CreateIntrinsic(llvm::Intrinsic::x86_avx512bf16_cvtneps2bf16_512, {}, {value}),
        code_);
  }

  Value* to_bf16(Value* value) {
    if (Value* made = to_bf16_by_instruction(value)) return made;
    Value* bits = as_bits(value);
    Value* odd = builder_.CreateAnd(builder_.CreateLShr(bits, 16), word(1));
    Value* nearest = builder_.CreateAdd(bits, builder_.CreateAdd(odd, word(0x7fff)));
    Value* quiet = builder_.CreateOr(bits, word(0x400000));
    return upper_half(builder_.CreateSelect(builder_.CreateFCmpUNO(value, value), quiet, nearest));
  }

  Value* to_code(Value* value) {
    Value* bits = as_bits(value);
    Value* magnitude = builder_.CreateAnd(bits, word(0x7fffffff));
    Value* result = format_.fraction_bits == 0 ? nearest_power(magnitude) : nearest(magnitude);
    result = builder_.CreateSelect(builder_.CreateICmpUGT(result, word(format_.greatest())),
                                   word(format_.beyond()), result);
    result = builder_.CreateSelect(builder_.CreateFCmpUNO(value, value),
                                   word(format_.not_a_number()), result);
    if (!format_.is_signed) {
      Value* is_negative = builder_.CreateFCmpOLT(value, llvm::Constant::getNullValue(float_));
      result = builder_.CreateSelect(is_negative, word(format_.not_a_number()), result);
    } else {
      result = with_sign(bits, result);
    }
    return builder_.CreateTrunc(result, code_);
  }

  /// A float that is the nearest bf16.
  Value* nearest_bf16(Value* value) {
    if (Value* made = to_bf16_by_instruction(value)) return from_bf16(made);
    Value* bits = as_bits(value);
    Value* odd = builder_.CreateAnd(builder_.CreateLShr(bits, 16), word(1));
    Value* nearest = builder_.CreateAnd(
        builder_.CreateAdd(bits, builder_.CreateAdd(odd, word(0x7fff))), word(0xffff0000));
    return builder_.CreateSelect(builder_.CreateFCmpUNO(value, value), value, as_float(nearest));
  }

  /// A float that is the nearest f16; the steps of to_f16.
  Value* nearest_f16(Value* value) {
    Value* bits = as_bits(value);
    Value* magnitude = builder_.CreateAnd(bits, word(0x7fffffff));
    Value* odd = builder_.CreateAnd(builder_.CreateLShr(magnitude, 13), word(1));
    Value* normal = builder_.CreateAnd(
        builder_.CreateAdd(magnitude, builder_.CreateAdd(odd, word(0xfff))), word(0xffffe000));
    normal = builder_.CreateSelect(builder_.CreateICmpUGE(normal, word(0x47800000)),
                                   word(0x7f800000), normal);
    Value* subnormal = as_bits(
        builder_.CreateFSub(builder_.CreateFAdd(as_float(magnitude), number(0.5)), number(0.5)));
    Value* result = builder_.CreateSelect(builder_.CreateICmpULT(magnitude, word(0x38800000)),
                                          subnormal, normal);
    Value* signed_result =
        as_float(builder_.CreateOr(result, builder_.CreateAnd(bits, word(0x80000000))));
    return builder_.CreateSelect(builder_.CreateFCmpUNO(value, value), value, signed_result);
  }

 private:
  static constexpr std::uint32_t least_power_of_float = 0x00400000,  ///< 2^-127
      float_nan = 0x7fc00000;

  std::uint32_t sign() const { return 1U << format_.magnitude_bits(); }
  std::uint32_t dropped() const { return static_cast<std::uint32_t>(23 - format_.fraction_bits); }
  std::uint32_t bias_difference() const { return static_cast<std::uint32_t>(127 - format_.bias); }
  /// As a float.
  double last_bit_of_subnormal() const {
    return std::ldexp(1.0, 1 - format_.bias - format_.fraction_bits);
  }

  Value* select_nan(Value* is_nan, Value* otherwise) {
    return builder_.CreateSelect(is_nan, word(float_nan), otherwise);
  }

  /// Bits of the float of a magnitude, which is `shifted` to the place of a float's.
  Value* with_subnormal(Value* magnitude, Value* shifted) {
    Value* normal = builder_.CreateAdd(shifted, word(bias_difference() << 23));
    Value* subnormal = as_bits(builder_.CreateFMul(builder_.CreateSIToFP(magnitude, float_),
                                                   number(last_bit_of_subnormal())));
    Value* result = builder_.CreateSelect(
        builder_.CreateICmpULT(magnitude, word(1U << format_.fraction_bits)), subnormal, normal);
    if (format_.special != SpecialCodes::LastExponent) return result;
    // Infinity and NaN keep all exponent bits set.
    const std::uint32_t last_exponent = (1U << format_.exponent_bits) - 1;
    Value* special = builder_.CreateAdd(shifted, word((255 - last_exponent) << 23));
    return builder_.CreateSelect(builder_.CreateICmpUGT(magnitude, word(format_.greatest())),
                                 special, result);
  }

  /// The code of a finite magnitude, or one that is greater than the greatest.
  Value* nearest(Value* magnitude) {
    // A carry out of the fraction raises the exponent.
    Value* odd = builder_.CreateAnd(builder_.CreateLShr(magnitude, dropped()), word(1));
    Value* rounded =
        builder_.CreateAdd(magnitude, builder_.CreateAdd(odd, word((1U << (dropped() - 1)) - 1)));
    Value* normal = builder_.CreateSub(builder_.CreateLShr(rounded, dropped()),
                                       word(bias_difference() << format_.fraction_bits));
    // An addition to a float with the same last bit rounds to multiples of that.
    llvm::Value* aligned = number(std::ldexp(last_bit_of_subnormal(), 23));
    Value* sum = builder_.CreateFAdd(as_float(magnitude), aligned);
    Value* subnormal = builder_.CreateSub(as_bits(sum), as_bits(aligned));
    return builder_.CreateSelect(
        builder_.CreateICmpULT(magnitude, word((bias_difference() + 1) << 23)), subnormal, normal);
  }

  /// The same for a format of powers of two.
  Value* nearest_power(Value* magnitude) {
    Value* power = builder_.CreateLShr(builder_.CreateAdd(magnitude, word(0x400000)), 23);
    return builder_.CreateSelect(
        builder_.CreateICmpULT(magnitude, word(least_power_of_float + least_power_of_float / 2)),
        word(0), power);
  }

  Value* with_sign(Value* bits, Value* code) {
    Value* minus = builder_.CreateAnd(
        builder_.CreateLShr(bits, 31 - static_cast<std::uint64_t>(format_.magnitude_bits())),
        word(sign()));
    if (format_.special == SpecialCodes::NegativeZero)
      minus = builder_.CreateSelect(builder_.CreateICmpEQ(code, word(0)), word(0), minus);
    return builder_.CreateOr(code, minus);
  }

  Value* word(std::uint32_t value) { return llvm::ConstantInt::get(word_, value); }
  Value* number(double value) { return llvm::ConstantFP::get(float_, value); }
  Value* as_bits(Value* value) { return builder_.CreateBitCast(value, word_); }
  Value* as_float(Value* bits) { return builder_.CreateBitCast(bits, float_); }
  Value* upper_half(Value* bits) {
    return builder_.CreateTrunc(builder_.CreateLShr(bits, 16), code_);
  }

  Builder& builder_;
  const graph::FloatFormat format_;
  llvm::Type *code_, *word_, *float_;
};

/// Lane by lane the operation of this name; nullptr: the machine has none.
Value* by_operation(Builder& builder, const char* name, llvm::Type* result, Value* value) {
  const llvm::Function& function = *builder.GetInsertBlock()->getParent();
  const llvm::StringRef begin = function.getFnAttribute(conversions_attribute).getValueAsString();
  if (begin.empty()) return nullptr;
  llvm::Module& module = *builder.GetInsertBlock()->getModule();
  llvm::FunctionCallee operation = module.getOrInsertFunction(
      (begin + name).str(),
      llvm::FunctionType::get(result, {value->getType()->getScalarType()}, false));
  auto& declared = llvm::cast<llvm::Function>(*operation.getCallee());
  declared.setDoesNotThrow();
  declared.setDoesNotAccessMemory();
  declared.setWillReturn();
  if (width_of(value) == 1) return builder.CreateCall(operation, {value});
  const auto lanes = static_cast<std::uint64_t>(width_of(value));
  Value* made = llvm::PoisonValue::get(lanes_of(result, width_of(value)));
  for (std::uint64_t lane = 0; lane < lanes; ++lane)
    made = builder.CreateInsertElement(
        made, builder.CreateCall(operation, {builder.CreateExtractElement(value, lane)}), lane);
  return made;
}

Value* half_by_operation(Builder& builder, DType dtype, Value* value) {
  if (!is_half(dtype)) return nullptr;
  return by_operation(builder, dtype == DType::f16 ? "rn.f16.f32" : "rn.bf16.f32",
                      builder.getInt16Ty(), value);
}

}  // namespace

Value* half_to_float(Builder& builder, DType dtype, Value* bits) {
  if (dtype == DType::f16)
    if (Value* made = by_operation(builder, "f32.f16", builder.getFloatTy(), bits)) return made;
  Halves halves(builder, dtype, width_of(bits));
  return dtype == DType::bf16 ? halves.from_bf16(bits) : halves.from_code(bits);
}

Value* float_to_half(Builder& builder, DType dtype, Value* value) {
  if (Value* made = half_by_operation(builder, dtype, value)) return made;
  Halves halves(builder, dtype, width_of(value));
  return dtype == DType::bf16 ? halves.to_bf16(value) : halves.to_code(value);
}

Value* nearest_half(Builder& builder, DType dtype, Value* value) {
  if (Value* made = half_by_operation(builder, dtype, value))
    return half_to_float(builder, dtype, made);
  Halves halves(builder, dtype, width_of(value));
  return dtype == DType::f16 ? halves.nearest_f16(value) : halves.nearest_bf16(value);
}

}  // namespace dyn::codegen
