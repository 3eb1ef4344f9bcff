#include "targets/cpu/attention/pairs.hpp"

#include "targets/cpu/tile/widening.hpp"
#include "targets/llvm/code/loops.hpp"
#include "targets/llvm/code/transpose.hpp"
#include "targets/llvm/math/half.hpp"

namespace dyn::cpu {
namespace {

using codegen::Builder;
using codegen::Conditional;
using codegen::CountedLoop;
using llvm::Value;

constexpr int lanes = 16;

/// 16 elements at an address as bits of bf16, 0 where the mask is false.
Value* load_bfloats(Builder& builder, DType dtype, Value* address, Value* mask) {
  auto* type = codegen::lanes_of(builder.getInt16Ty(), lanes);
  if (dtype != DType::bf16)
    return codegen::float_to_half(builder, DType::bf16,
                                  load_widened(builder, dtype, address, lanes, mask));
  if (mask == nullptr) return builder.CreateAlignedLoad(type, address, llvm::Align(2));
  return builder.CreateMaskedLoad(type, address, llvm::Align(2), mask,
                                  llvm::Constant::getNullValue(type));
}

/// Vectors of 16 as one of 32 in the order of `places`, as 16 pairs.
Value* pairs_of(Builder& builder, Value* first, Value* second, const std::vector<int>& places) {
  return builder.CreateBitCast(builder.CreateShuffleVector(first, second, places),
                               codegen::lanes_of(builder.getFloatTy(), lanes));
}

/// The pairs of 32 elements of a key from `offset` on; where `left` is given, of so many.
Value* key_pairs(VectorCode& code, DType dtype, Value* key, Value* offset, Value* left) {
  Builder& builder = code.builder();
  const auto part = [&](std::int64_t from) {
    Value* mask =
        left == nullptr ? nullptr : code.first_lanes(builder.CreateSub(left, code.number(from)));
    Value* place = builder.CreateAdd(offset, code.number(from));
    return load_bfloats(builder, dtype, element_of(builder, dtype, key, place), mask);
  };
  std::vector<int> in_order;
  for (int i = 0; i < 2 * lanes; ++i) in_order.push_back(i);
  return pairs_of(builder, part(0), part(lanes), in_order);
}

}  // namespace

void store_bfloats(VectorCode& code, Value* value, Value* base, Value* offset) {
  Builder& builder = code.builder();
  builder.CreateAlignedStore(codegen::float_to_half(builder, DType::bf16, value),
                             element_of(builder, DType::bf16, base, offset), llvm::Align(2));
}

void emit_key_pairs(VectorCode& code, const KeyBlock& block, Value* to, Value* panel_stride) {
  Builder& builder = code.builder();
  const std::int64_t panel = code.isa().panel_f32;
  CountedLoop groups(builder, code.number(0), block.keys, code.number(lanes), "key_group");
  const std::vector<Value*> keys =
      key_rows(code, block, groups.index(), builder.CreateSub(block.keys, code.number(1)));
  Value* panel_index = builder.CreateUDiv(groups.index(), code.number(panel));
  Value* target = code.element(to, builder.CreateMul(panel_index, panel_stride));
  target = code.element(target, builder.CreateURem(groups.index(), code.number(panel)));
  const auto square = [&](Value* offset, Value* left) {
    std::vector<Value*> rows;
    for (Value* key : keys) rows.push_back(key_pairs(code, block.dtype, key, offset, left));
    Value* pair = builder.CreateLShr(offset, 1);
    Value* first = code.element(target, builder.CreateMul(pair, code.number(panel)));
    const std::vector<Value*> columns = codegen::transpose(builder, rows);
    for (std::size_t i = 0; i < columns.size(); ++i)
      code.store(columns[i],
                 code.element(first, code.number(static_cast<std::int64_t>(i) * panel)));
  };
  Value* whole = code.round_down(block.depth, depth_multiple);
  CountedLoop squares(builder, code.number(0), whole, code.number(depth_multiple), "key_square");
  square(squares.index(), nullptr);
  squares.close();
  Value* left = builder.CreateSub(block.depth, whole);
  Conditional rest(builder, builder.CreateICmpSGT(left, code.number(0)), "key_rest");
  square(whole, left);
  rest.close();
  groups.close();
}

void emit_value_pairs(VectorCode& code, const ValueBlock& block, Value* to, Value* panel_stride) {
  Builder& builder = code.builder();
  const std::int64_t panel = code.isa().panel_f32;
  std::vector<int> interleaved;
  for (int i = 0; i < lanes; ++i) interleaved.insert(interleaved.end(), {i, lanes + i});
  CountedLoop pairs(builder, code.number(0), code.ceil_div(block.keys, 2), code.number(1),
                    "value_pair");
  Value* key = builder.CreateShl(pairs.index(), 1);
  Value* next = builder.CreateAdd(key, code.number(1));
  Value* exists = builder.CreateICmpSLT(next, block.keys);
  const auto row = [&](Value* of) {
    return element_of(builder, block.dtype, block.data, builder.CreateMul(of, block.row_stride));
  };
  Value *first = row(key), *second = row(builder.CreateSelect(exists, next, key));
  Value* in_panel = code.element(to, builder.CreateMul(pairs.index(), code.number(panel)));
  code.for_each_vector(block.columns, "value_vector", [&](Value* offset, Value* mask) {
    const auto load = [&](Value* from) {
      return load_bfloats(builder, block.dtype, element_of(builder, block.dtype, from, offset),
                          mask);
    };
    Value* low = load(first);
    Value* high = load(second);
    high = builder.CreateSelect(exists, high, llvm::Constant::getNullValue(high->getType()));
    Value* place = builder.CreateAdd(
        builder.CreateMul(builder.CreateUDiv(offset, code.number(panel)), panel_stride),
        builder.CreateURem(offset, code.number(panel)));
    code.store(pairs_of(builder, low, high, interleaved), code.element(in_panel, place));
  });
  pairs.close();
}

}  // namespace dyn::cpu
