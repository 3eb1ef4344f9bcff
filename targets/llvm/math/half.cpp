#include "targets/llvm/math/half.hpp"

namespace dyn::codegen {

namespace {

using llvm::Value;

/// Both formats at the element types of one width: an f16 has 10 bits of fraction and an exponent
/// from -14 to 15, a float 23 bits and one from -126; bf16 is the upper half of a float.
class Halves {
 public:
  Halves(Builder& builder, int width)
      : builder_(builder),
        half_(lanes_of(builder.getInt16Ty(), width)),
        word_(lanes_of(builder.getInt32Ty(), width)),
        float_(lanes_of(builder.getFloatTy(), width)) {}

  Value* from_bf16(Value* bits) {
    return as_float(builder_.CreateShl(builder_.CreateZExt(bits, word_), 16));
  }

  Value* from_f16(Value* bits) {
    Value* wide = builder_.CreateZExt(bits, word_);
    Value* magnitude = builder_.CreateAnd(wide, word(0x7fff));
    Value* shifted = builder_.CreateShl(magnitude, 13);
    Value* normal = builder_.CreateAdd(shifted, word(exponent_difference << 23));
    // Infinity and NaN keep all exponent bits set.
    Value* special = builder_.CreateAdd(shifted, word(2 * exponent_difference << 23));
    Value* subnormal =
        as_bits(builder_.CreateFMul(builder_.CreateSIToFP(magnitude, float_), number(0x1p-24)));
    Value* result = builder_.CreateSelect(builder_.CreateICmpULT(magnitude, word(least_normal_f16)),
                                          subnormal, normal);
    result = builder_.CreateSelect(builder_.CreateICmpUGE(magnitude, word(infinite_f16)), special,
                                   result);
    return as_float(
        builder_.CreateOr(result, builder_.CreateShl(builder_.CreateAnd(wide, word(0x8000)), 16)));
  }

  Value* to_bf16(Value* value) {
    Value* bits = as_bits(value);
    Value* odd = builder_.CreateAnd(builder_.CreateLShr(bits, 16), word(1));
    Value* nearest = builder_.CreateAdd(bits, builder_.CreateAdd(odd, word(0x7fff)));
    Value* quiet = builder_.CreateOr(bits, word(0x400000));
    return upper_half(builder_.CreateSelect(builder_.CreateFCmpUNO(value, value), quiet, nearest));
  }

  Value* to_f16(Value* value) {
    Value* bits = as_bits(value);
    Value* magnitude = builder_.CreateAnd(bits, word(0x7fffffff));
    // A carry out of the fraction raises the exponent, up to infinity.
    Value* odd = builder_.CreateAnd(builder_.CreateLShr(magnitude, 13), word(1));
    Value* rounded = builder_.CreateAdd(magnitude, builder_.CreateAdd(odd, word(0xfff)));
    Value* normal =
        builder_.CreateSub(builder_.CreateLShr(rounded, 13), word(exponent_difference << 10));
    // An addition to 0.5, whose last bit is 2^-24, rounds to multiples of that.
    Value* sum = builder_.CreateFAdd(as_float(magnitude), number(0.5));
    Value* subnormal = builder_.CreateSub(as_bits(sum), as_bits(number(0.5)));
    Value* result = builder_.CreateSelect(builder_.CreateICmpULT(magnitude, word(0x38800000)),
                                          subnormal, normal);
    result = builder_.CreateSelect(builder_.CreateICmpUGE(magnitude, word(0x47800000)),
                                   word(infinite_f16), result);
    result = builder_.CreateSelect(builder_.CreateFCmpUNO(value, value), word(0x7e00), result);
    Value* sign = builder_.CreateAnd(builder_.CreateLShr(bits, 16), word(0x8000));
    return builder_.CreateTrunc(builder_.CreateOr(result, sign), half_);
  }

  /// A float that is the nearest bf16.
  Value* nearest_bf16(Value* value) {
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
  static constexpr std::uint32_t exponent_difference = 112;  ///< 127 - 15
  static constexpr std::uint32_t least_normal_f16 = 0x0400, infinite_f16 = 0x7c00;

  Value* word(std::uint32_t value) { return llvm::ConstantInt::get(word_, value); }
  Value* number(double value) { return llvm::ConstantFP::get(float_, value); }
  Value* as_bits(Value* value) { return builder_.CreateBitCast(value, word_); }
  Value* as_float(Value* bits) { return builder_.CreateBitCast(bits, float_); }
  Value* upper_half(Value* bits) {
    return builder_.CreateTrunc(builder_.CreateLShr(bits, 16), half_);
  }

  Builder& builder_;
  llvm::Type *half_, *word_, *float_;
};

}  // namespace

Value* half_to_float(Builder& builder, DType dtype, Value* bits) {
  Halves halves(builder, width_of(bits));
  return dtype == DType::f16 ? halves.from_f16(bits) : halves.from_bf16(bits);
}

Value* float_to_half(Builder& builder, DType dtype, Value* value) {
  Halves halves(builder, width_of(value));
  return dtype == DType::f16 ? halves.to_f16(value) : halves.to_bf16(value);
}

Value* nearest_half(Builder& builder, DType dtype, Value* value) {
  Halves halves(builder, width_of(value));
  return dtype == DType::f16 ? halves.nearest_f16(value) : halves.nearest_bf16(value);
}

}  // namespace dyn::codegen
