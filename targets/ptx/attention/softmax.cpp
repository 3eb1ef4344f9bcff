#include "targets/ptx/attention/softmax.hpp"

#include <llvm/IR/Intrinsics.h>

#include <limits>
#include <numbers>

#include "targets/ptx/ir/device_math.hpp"
#include "targets/ptx/ir/device_ops.hpp"
#include "targets/ptx/ir/words.hpp"

namespace dyn::ptx {
namespace {

using Values = std::vector<llvm::Value*>;

constexpr int segment_of_warp = 0x1f, mask_of_warp = -1;
constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

}  // namespace

RowState OnlineSoftmax::begin() const {
  const auto rows = static_cast<std::size_t>(products_.places().rows());
  return {Values(rows, number(minus_infinity)), Values(rows, number(0)), products_.zeros(builder_)};
}

llvm::Value* OnlineSoftmax::across(llvm::Value* value, int distance) {
  llvm::Value* word = builder_.CreateBitCast(value, builder_.getInt32Ty());
  word = call(builder_, Op::ShuffleBfly,
              {word, ptx::number(builder_, distance), ptx::number(builder_, segment_of_warp),
               ptx::number(builder_, mask_of_warp)});
  return builder_.CreateBitCast(word, builder_.getFloatTy());
}

llvm::Value* OnlineSoftmax::larger(llvm::Value* a, llvm::Value* b) {
  return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::maximum, a, b);
}

// The difference comes first: the least number, as masks have it, has no multiple.
llvm::Value* OnlineSoftmax::weight(llvm::Value* score, llvm::Value* maximum) {
  llvm::Value* seen = builder_.CreateSelect(builder_.CreateFCmpOEQ(maximum, number(minus_infinity)),
                                            number(0), maximum);
  llvm::Value* power =
      builder_.CreateFMul(builder_.CreateFSub(score, seen), number(std::numbers::log2e));
  return approximate_exp2(builder_, power);
}

llvm::Value* OnlineSoftmax::inverse(llvm::Value* sum) {
  return builder_.CreateSelect(builder_.CreateFCmpOEQ(sum, number(0)), number(0),
                               builder_.CreateFDiv(number(1), sum));
}

void OnlineSoftmax::scale(Values& accumulators, const Values& factors) {
  for (std::size_t i = 0; i < accumulators.size(); ++i) {
    const auto row = static_cast<std::size_t>(products_.places().row_of_accumulator(i));
    accumulators[i] = builder_.CreateFMul(accumulators[i], factors[row]);
  }
}

Values OnlineSoftmax::step(const Values& scores, RowState& state) {
  const ScorePlaces& places = products_.places();
  const auto row_of = [&](std::size_t score) {
    return static_cast<std::size_t>(places.row_of_score(score));
  };
  Values maxima = state.maxima;
  for (std::size_t i = 0; i < scores.size(); ++i)
    maxima[row_of(i)] = larger(maxima[row_of(i)], scores[i]);
  for (llvm::Value*& maximum : maxima) {
    for (int distance = 1; distance < places.row_lanes(); distance *= 2)
      maximum = larger(maximum, across(maximum, distance));
  }
  Values factors;
  for (std::size_t row = 0; row < maxima.size(); ++row) {
    factors.push_back(weight(state.maxima[row], maxima[row]));
    state.sums[row] = builder_.CreateFMul(state.sums[row], factors[row]);
  }
  scale(state.accumulators, factors);
  Values shares;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    shares.push_back(weight(scores[i], maxima[row_of(i)]));
    state.sums[row_of(i)] = builder_.CreateFAdd(state.sums[row_of(i)], shares[i]);
  }
  state.maxima = std::move(maxima);
  return shares;
}

void OnlineSoftmax::finish(RowState& state) {
  for (llvm::Value*& sum : state.sums) {
    for (int distance = 1; distance < products_.places().row_lanes(); distance *= 2)
      sum = builder_.CreateFAdd(sum, across(sum, distance));
  }
}

}  // namespace dyn::ptx
