#include "targets/cpu/loop/accumulators.hpp"

namespace dyn::cpu {

using codegen::LoopPass;
using llvm::Value;

Value* LaneAccumulators::load(int expr, Value* lane) const {
  return array_.load(context_.expr(expr).dtype, place(expr, lane), context_.width);
}

LoopValues LaneAccumulators::load_all(const LoopPass& pass, Value* lane) const {
  LoopValues accumulators;
  for (const int expr : pass.reductions) accumulators.push_back(load(expr, lane));
  return accumulators;
}

void LaneAccumulators::store_all(const LoopPass& pass, const LoopValues& accumulators,
                                 Value* lane) const {
  for (std::size_t r = 0; r < pass.reductions.size(); ++r)
    array_.store(accumulators[r], place(pass.reductions[r], lane));
}

void LaneAccumulators::store_neutral(const LoopPass& pass, Value* lane) const {
  for (const int expr : pass.reductions)
    array_.store(context_.reduction(expr).neutral(context_.width), place(expr, lane));
}

void LaneAccumulators::store_merged(const LoopPass& pass, const LoopPartials& partials,
                                    Value* lane) const {
  for (std::size_t r = 0; r < pass.reductions.size(); ++r) {
    const int expr = pass.reductions[r];
    Value* to = place(expr, lane);
    array_.store(partials.merged(expr, r, lane, context_.width), to);
  }
}

BoundExprs LaneAccumulators::results_before(const LoopPass* before, Value* lane) const {
  BoundExprs results;
  for (const LoopPass& pass : context_.passes.passes) {
    if (&pass == before) break;
    for (const int expr : pass.reductions) results.emplace_back(expr, load(expr, lane));
  }
  return results;
}

Value* LaneAccumulators::place(int reduction, Value* lane) const {
  std::int64_t position = 0;
  for (const LoopPass& pass : context_.passes.passes)
    for (const int expr : pass.reductions) {
      if (expr == reduction) {
        codegen::Builder& builder = context_.builder;
        return builder.CreateAdd(builder.CreateMul(row_, context_.number(position)),
                                 builder.CreateSub(lane, first_));
      }
      ++position;
    }
  return nullptr;
}

}  // namespace dyn::cpu
