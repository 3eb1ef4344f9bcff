#include "targets/cpu/tile/codes.hpp"

#include <llvm/IR/IntrinsicsX86.h>

#include "src/rkernel/expr/narrow.hpp"

namespace dyn::cpu {
namespace {

using rkernel::Group;

/// Tables have all codes of 4 bits.
constexpr int table_bits = 4, table_lanes = 1 << table_bits;

llvm::Value* number_of(codegen::Builder& builder, int value) {
  return builder.getInt32(static_cast<std::uint32_t>(value));
}

int signed_code(int code, int count) { return code < count / 2 ? code : code - count; }

/// By code.
llvm::Constant* numbers(codegen::Builder& builder) {
  std::vector<float> all;
  for (int code = 0; code < table_lanes; ++code)
    all.push_back(static_cast<float>(signed_code(code, table_lanes)));
  return llvm::ConstantDataVector::get(builder.getContext(), all);
}

/// By the lowest bits of a lane of 16 bits, of which one more than a code's is looked at: those of
/// the code alone decide, or, less a zero point, all of them.
llvm::Constant* bfloats(codegen::Builder& builder, bool less_zeros) {
  constexpr int lanes = 2 * table_lanes;
  std::vector<std::uint16_t> all;
  for (int index = 0; index < lanes; ++index) {
    const int whole =
        less_zeros ? signed_code(index, lanes) : signed_code(index % table_lanes, table_lanes);
    all.push_back(rkernel::to_bf16(static_cast<float>(whole)));
  }
  return llvm::ConstantDataVector::get(builder.getContext(), all);
}

/// The first of the bits of group or code `index` in its part of a word.
llvm::Value* first_bit(codegen::Builder& builder, int bits, llvm::Value* index) {
  return builder.CreateMul(builder.CreateTrunc(index, builder.getInt32Ty()),
                           number_of(builder, bits));
}

/// Elements of a group as vectors of their own width.
class Elements {
 public:
  Elements(codegen::Builder& builder, const codegen::Isa& isa, Group group)
      : builder_(builder),
        width_(32 / rkernel::elements_of(group)),
        lanes_(isa.f32_lanes * rkernel::elements_of(group)),
        words_(codegen::lanes_of(builder.getInt32Ty(), isa.f32_lanes)),
        type_(codegen::lanes_of(element(), lanes_)) {}

  llvm::Value* split(llvm::Value* words) { return builder_.CreateBitCast(words, type_); }
  llvm::Value* join(llvm::Value* elements) { return builder_.CreateBitCast(elements, words_); }
  llvm::Value* all(llvm::Value* number) {
    return codegen::broadcast(builder_, builder_.CreateTrunc(number, element()), lanes_);
  }
  llvm::Value* all(int number) { return all(number_of(builder_, number)); }
  int width() const { return width_; }

 private:
  llvm::IntegerType* element() { return builder_.getIntNTy(static_cast<unsigned>(width_)); }

  codegen::Builder& builder_;
  const int width_, lanes_;
  llvm::Type *words_, *type_;
};

/// Two integers of i16 in each word as bf16, which holds them exactly: at most 256 in magnitude.
llvm::Value* bfloats_of_shorts(codegen::Builder& builder, const codegen::Isa& isa,
                               llvm::Value* words) {
  constexpr int half = 16;
  llvm::Type *const integers = words->getType(), *const floats = codegen::lanes_of(
                                                     builder.getFloatTy(), isa.f32_lanes);
  const auto wide = [&](llvm::Value* whole) {
    return builder.CreateBitCast(builder.CreateSIToFP(whole, floats), integers);
  };
  llvm::Value* low = wide(builder.CreateAShr(builder.CreateShl(words, half), half));
  llvm::Value* high = wide(builder.CreateAShr(words, half));
  return builder.CreateOr(high, builder.CreateLShr(low, half));
}

}  // namespace

llvm::Value* numbers_of_codes(codegen::Builder& builder, const codegen::Isa& isa, int bits,
                              llvm::Value* words, llvm::Value* index) {
  const auto all = [&](llvm::Value* number) {
    return codegen::broadcast(builder, number, isa.f32_lanes);
  };
  llvm::Value* first = first_bit(builder, bits, index);
  // A table of all codes is one vector, whose index is the lowest bits of a lane.
  if (bits == table_bits && isa.f32_lanes == table_lanes)
    return builder.CreateIntrinsic(llvm::Intrinsic::x86_avx512_permvar_sf_512, {},
                                   {numbers(builder), builder.CreateLShr(words, all(first))});
  llvm::Value* above = builder.CreateSub(number_of(builder, 32 - bits), first);
  llvm::Value* whole =
      builder.CreateAShr(builder.CreateShl(words, all(above)), all(number_of(builder, 32 - bits)));
  return builder.CreateSIToFP(whole, codegen::lanes_of(builder.getFloatTy(), isa.f32_lanes));
}

llvm::Value* zeros_of_group(codegen::Builder& builder, const codegen::Isa& isa, Group group,
                            llvm::Value* numbers) {
  Elements elements(builder, isa, group);
  llvm::Type* words = codegen::lanes_of(builder.getInt32Ty(), isa.f32_lanes);
  llvm::Value* mask = codegen::broadcast(
      builder, builder.getInt32((std::uint32_t{1} << elements.width()) - 1), isa.f32_lanes);
  llvm::Value* joint = builder.CreateAnd(builder.CreateFPToSI(numbers, words), mask);
  for (int width = elements.width(); width < 32; width *= 2) {
    llvm::Value* above = codegen::broadcast(builder, number_of(builder, width), isa.f32_lanes);
    joint = builder.CreateOr(joint, builder.CreateShl(joint, above));
  }
  return joint;
}

llvm::Value* group_of_codes(codegen::Builder& builder, const codegen::Isa& isa,
                            const rkernel::Factors& factors, llvm::Value* words, llvm::Value* index,
                            llvm::Value* zeros) {
  const Group group = factors.group;
  const int bits = factors.coding.bits;
  Elements elements(builder, isa, group);
  if (bits == elements.width()) return words;
  const bool has_table = bits == table_bits;
  llvm::Value* first = first_bit(builder, bits, index);
  const auto less_zeros = [&](llvm::Value* whole) {
    return zeros == nullptr ? whole : builder.CreateSub(whole, elements.split(zeros));
  };
  // No instruction shifts bytes: the code with its sign turned is above the least one by as much as
  // the number is.
  if (group == Group::Bytes) {
    constexpr int greatest = table_lanes - 1, middle = table_lanes / 2;
    llvm::Value* shifted = elements.split(
        builder.CreateLShr(words, codegen::broadcast(builder, first, isa.f32_lanes)));
    llvm::Value* above_least =
        builder.CreateXor(builder.CreateAnd(shifted, elements.all(greatest)), elements.all(middle));
    return elements.join(builder.CreateSub(less_zeros(above_least), elements.all(middle)));
  }
  if (group == Group::Bfloats && zeros == nullptr && has_table) {
    llvm::Value* codes = builder.CreateLShr(elements.split(words), elements.all(first));
    return elements.join(builder.CreateIntrinsic(llvm::Intrinsic::x86_avx512_permvar_hi_512, {},
                                                 {bfloats(builder, false), codes}));
  }
  llvm::Value* above = builder.CreateSub(number_of(builder, elements.width() - bits), first);
  llvm::Value* whole =
      less_zeros(builder.CreateAShr(builder.CreateShl(elements.split(words), elements.all(above)),
                                    elements.all(elements.width() - bits)));
  if (group == Group::Bfloats && !has_table)
    return bfloats_of_shorts(builder, isa, elements.join(whole));
  if (group == Group::Bfloats)
    whole = builder.CreateIntrinsic(llvm::Intrinsic::x86_avx512_permvar_hi_512, {},
                                    {bfloats(builder, true), whole});
  return elements.join(whole);
}

}  // namespace dyn::cpu
