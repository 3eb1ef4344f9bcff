#include "targets/cpu/attention/rows.hpp"

#include <limits>

#include "targets/cpu/attention/pairs.hpp"
#include "targets/cpu/tile/widening.hpp"
#include "targets/llvm/code/loops.hpp"

namespace dyn::cpu {
namespace {

using codegen::Builder;
using codegen::Conditional;
using codegen::CountedLoop;
using codegen::StrideClass;
using Values = std::vector<llvm::Value*>;

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The mask's values for the keys from `offset` on.
llvm::Value* mask_values(VectorCode& code, StrideClass mask_class, const ScoreRow& row,
                         llvm::Value* offset, llvm::Value* lanes) {
  Builder& builder = code.builder();
  if (mask_class == StrideClass::Unit)
    return code.load_vector(code.element(row.mask, offset), lanes);
  if (mask_class == StrideClass::Zero) return code.splat(code.load(row.mask));
  llvm::Value* ramp = codegen::iota(builder, builder.getInt64Ty(), code.lanes());
  llvm::Value* keys = builder.CreateAdd(ramp, code.splat(offset));
  llvm::Value* addresses = builder.CreateGEP(builder.getFloatTy(), row.mask,
                                             builder.CreateMul(keys, code.splat(row.mask_stride)));
  if (lanes == nullptr)
    lanes = llvm::Constant::getAllOnesValue(
        llvm::VectorType::get(builder.getInt1Ty(), code.vector_type()->getElementCount()));
  return builder.CreateMaskedGather(code.vector_type(), addresses, llvm::Align(4), lanes,
                                    llvm::Constant::getNullValue(code.vector_type()));
}

/// The largest score that the row sees, its mask added to the scores.
llvm::Value* emit_maximum(VectorCode& code, StrideClass mask_class, const ScoreRow& row) {
  const auto larger = [&](llvm::Value* a, llvm::Value* b) { return code.larger(a, b); };
  const auto step = [&](llvm::Value* offset, llvm::Value* lanes, llvm::Value* so_far) {
    llvm::Value* address = code.element(row.scores, offset);
    llvm::Value* score = code.load_vector(address);
    if (row.key_scales != nullptr)
      score = code.builder().CreateFMul(
          score, code.load_vector(code.element(row.key_scales, offset), lanes));
    if (row.mask != nullptr)
      score = code.builder().CreateFAdd(score, mask_values(code, mask_class, row, offset, lanes));
    if (row.key_scales != nullptr || row.mask != nullptr) code.store(score, address);
    if (lanes != nullptr) score = code.builder().CreateSelect(lanes, score, code.splat(-infinity));
    return larger(score, so_far);
  };
  llvm::Value* lanes = code.fold(row.visible, code.splat(-infinity), "maximum", step, larger);
  return code.across(lanes, larger);
}

/// Stores e^(score - maximum) in place of the scores; returns their sum.
llvm::Value* emit_shares(VectorCode& code, codegen::Math& math, const ScoreRow& row,
                         llvm::Value* maximum) {
  Builder& builder = code.builder();
  const auto plus = [&](llvm::Value* a, llvm::Value* b) { return builder.CreateFAdd(a, b); };
  const auto step = [&](llvm::Value* offset, llvm::Value* lanes, llvm::Value* so_far) {
    llvm::Value* address = code.element(row.scores, offset);
    llvm::Value* share =
        math.exp_not_positive(builder.CreateFSub(code.load_vector(address), maximum));
    if (lanes != nullptr) share = builder.CreateSelect(lanes, share, code.splat(0.0));
    llvm::Value* stored =
        row.value_scales == nullptr
            ? share
            : builder.CreateFMul(share,
                                 code.load_vector(code.element(row.value_scales, offset), lanes));
    if (row.pairs)
      store_bfloats(code, stored, row.scores, offset);
    else
      code.store(stored, address);
    return plus(so_far, share);
  };
  return code.across(code.fold(row.visible, code.splat(0.0), "shares", step, plus), plus);
}

/// Stores zeros for the keys that other rows of the tile see, but this one does not.
void emit_unseen(VectorCode& code, const ScoreRow& row) {
  CountedLoop vectors(code.builder(), code.round_up(row.visible, code.lanes()), row.total,
                      code.number(code.lanes()), "unseen");
  if (row.pairs)
    store_bfloats(code, code.splat(0.0), row.scores, vectors.index());
  else
    code.store(code.splat(0.0), code.element(row.scores, vectors.index()));
  vectors.close();
}

void emit_rescale(VectorCode& code, const ScoreRow& row, llvm::Value* factor) {
  CountedLoop vectors(code.builder(), code.number(0), row.accumulator_columns,
                      code.number(code.lanes()), "rescale");
  llvm::Value* address = code.element(row.accumulator, vectors.index());
  code.store(code.builder().CreateFMul(code.load_vector(address), factor), address);
  vectors.close();
}

}  // namespace

void emit_softmax_step(VectorCode& code, codegen::Math& math, StrideClass mask_class,
                       const ScoreRow& row) {
  Builder& builder = code.builder();
  llvm::Value* none = llvm::ConstantFP::get(builder.getFloatTy(), -infinity);
  llvm::Value* zero = llvm::ConstantFP::get(builder.getFloatTy(), 0);
  llvm::Value* before = code.load(row.maximum);
  llvm::Value* maximum = code.larger(emit_maximum(code, mask_class, row), before);
  llvm::Value* finite =
      code.splat(builder.CreateSelect(builder.CreateFCmpOEQ(maximum, none), zero, maximum));
  llvm::Value* added = emit_shares(code, math, row, finite);
  emit_unseen(code, row);
  llvm::Value* sum = code.load(row.sum);
  Conditional grown(builder, builder.CreateFCmpONE(maximum, before), "grown");
  llvm::Value* factor = math.exp_not_positive(builder.CreateFSub(code.splat(before), finite));
  emit_rescale(code, row, factor);
  code.store(maximum, row.maximum);
  llvm::Value* rescaled =
      builder.CreateFMul(sum, builder.CreateExtractElement(factor, std::uint64_t{0}));
  sum = grown.close(std::span(&rescaled, 1), std::span(&sum, 1))[0];
  code.store(builder.CreateFAdd(sum, added), row.sum);
}

void emit_value_tail(VectorCode& code, const ValueTail& tail) {
  Builder& builder = code.builder();
  constexpr int chains = 4;
  llvm::Value* mask = code.first_lanes(tail.columns);
  llvm::Value* together = code.round_down(tail.keys, chains);
  CountedLoop row(builder, code.number(0), tail.rows, code.number(1), "tail_row");
  llvm::Value* shares = code.element(tail.shares, builder.CreateMul(row.index(), tail.share_row));
  const auto product = [&](llvm::Value* key, llvm::Value* so_far) {
    llvm::Value* address =
        element_of(builder, tail.dtype, tail.values, builder.CreateMul(key, tail.value_row));
    llvm::Value* values = load_widened(builder, tail.dtype, address, code.lanes(), mask);
    return code.fused(code.splat(code.load(code.element(shares, key))), values, so_far);
  };
  CountedLoop several(builder, code.number(0), together, code.number(chains), "tail_keys",
                      Values(chains, code.splat(0.0)));
  Values next;
  for (std::size_t i = 0; i < chains; ++i) {
    next.push_back(
        product(builder.CreateAdd(several.index(), code.number(static_cast<std::int64_t>(i))),
                several.carried(i)));
  }
  const Values parts = several.close(next);
  llvm::Value* sum = builder.CreateFAdd(builder.CreateFAdd(parts[0], parts[1]),
                                        builder.CreateFAdd(parts[2], parts[3]));
  CountedLoop single(builder, together, tail.keys, code.number(1), "tail_key", std::span(&sum, 1));
  llvm::Value* last = product(single.index(), single.carried(0));
  sum = single.close(std::span(&last, 1))[0];
  // The accumulator's rows are padded to whole vectors.
  llvm::Value* target =
      code.element(tail.accumulator, builder.CreateMul(row.index(), tail.accumulator_row));
  code.store(builder.CreateFAdd(code.load_vector(target), sum), target);
  row.close();
}

void emit_scaled_rows(VectorCode& code, const ScaledRows& from, llvm::Value* to,
                      llvm::Value* to_row) {
  Builder& builder = code.builder();
  llvm::Value* one = code.number(1);
  llvm::Value* padded = code.round_up(from.depth, code.lanes());
  CountedLoop row(builder, code.number(0), from.rows, one, "query");
  const auto at = [&](llvm::Value* base, llvm::Value* index) {
    return element_of(builder, from.dtype, base, index);
  };
  llvm::Value* source = at(from.data, builder.CreateMul(row.index(), from.row_stride));
  llvm::Value* target = code.element(to, builder.CreateMul(row.index(), to_row));
  if (from.unit) {
    code.for_each_vector(from.depth, "query_vector", [&](llvm::Value* offset, llvm::Value* lanes) {
      llvm::Value* value =
          load_widened(builder, from.dtype, at(source, offset), code.lanes(), lanes);
      value = builder.CreateFMul(value, code.splat(from.factor));
      // A lane beyond the depth holds 0 whatever the factor is.
      if (lanes != nullptr) value = builder.CreateSelect(lanes, value, code.splat(0.0));
      if (from.pairs)
        store_bfloats(code, value, target, offset);
      else
        code.store(value, code.element(target, offset));
    });
  } else {
    CountedLoop elements(builder, code.number(0), from.depth, one, "query_element");
    llvm::Value* value =
        load_widened(builder, from.dtype,
                     at(source, builder.CreateMul(elements.index(), from.column_stride)), 1);
    code.store(builder.CreateFMul(value, from.factor), code.element(target, elements.index()));
    elements.close();
    CountedLoop rest(builder, from.depth, padded, one, "query_rest");
    code.store(llvm::ConstantFP::get(builder.getFloatTy(), 0), code.element(target, rest.index()));
    rest.close();
  }
  row.close();
}

}  // namespace dyn::cpu
