#include "targets/cpu/attention/carried.hpp"

namespace dyn::cpu {

using codegen::Conditional;
using codegen::CountedLoop;
using llvm::Value;

Value* CarriedRows::maximum_of(Value* row) const {
  return code_.element(function_.scratch_at(function_.strategy.max_scratch), row);
}

Value* CarriedRows::sum_of(Value* row) const {
  return code_.element(function_.scratch_at(function_.strategy.sum_scratch), row);
}

Value* CarriedRows::accumulator_of(Value* row) const {
  return code_.element(function_.scratch_at(function_.strategy.acc_scratch),
                       builder_.CreateMul(row, sizes_.acc_row));
}

void CarriedRows::clear(const AttentionTicket& ticket) const {
  constexpr int maximum = 0, sum = 1, accumulator = 2;
  const auto& carried = function_.kernel.layers[attention_l2].carried;
  const auto initial = [&](int i) {
    return llvm::ConstantFP::get(builder_.getFloatTy(),
                                 carried[static_cast<std::size_t>(i)].initial);
  };
  CountedLoop rows(builder_, code_.number(0), ticket.block.size, code_.number(1), "clear_row");
  code_.store(initial(maximum), maximum_of(rows.index()));
  code_.store(initial(sum), sum_of(rows.index()));
  CountedLoop vectors(builder_, code_.number(0), sizes_.acc_row, code_.number(code_.lanes()),
                      "clear");
  code_.store(code_.splat(initial(accumulator)),
              code_.element(accumulator_of(rows.index()), vectors.index()));
  vectors.close();
  rows.close();
}

void CarriedRows::finish(const AttentionTicket& ticket) const {
  Value* whole = builder_.CreateICmpEQ(sizes_.splits, code_.number(1));
  CountedLoop rows(builder_, code_.number(0), ticket.block.size, code_.number(1), "finish");
  Value* row = builder_.CreateAdd(ticket.block.start, rows.index());
  Value* accumulator = accumulator_of(rows.index());
  Conditional result(builder_, whole, "result");
  store_result(rows.index(), row, accumulator);
  result.close();
  Conditional partial(builder_, builder_.CreateNot(whole), "partial");
  store_partial(rows.index(), accumulator, function_.record(ticket.batch.index, row, ticket.split));
  partial.close();
  rows.close();
}

void CarriedRows::store_result(Value* in_block, Value* row, Value* accumulator) const {
  llvm::Type* f32 = builder_.getFloatTy();
  Value* sum = code_.load(sum_of(in_block));
  Value* empty = code_.splat(builder_.CreateFCmpOEQ(sum, llvm::ConstantFP::get(f32, 0)));
  Value* factor = code_.splat(builder_.CreateFDiv(llvm::ConstantFP::get(f32, 1), sum));
  function_.store_row(row, [&](Value* column, Value*) {
    Value* value =
        builder_.CreateFMul(code_.load_vector(code_.element(accumulator, column)), factor);
    return builder_.CreateSelect(empty, code_.splat(0.0), value);
  });
}

void CarriedRows::store_partial(Value* in_block, Value* accumulator, Value* to) const {
  CountedLoop vectors(builder_, code_.number(0), sizes_.acc_row, code_.number(code_.lanes()),
                      "partial_vector");
  code_.store(code_.load_vector(code_.element(accumulator, vectors.index())),
              code_.element(to, vectors.index()));
  vectors.close();
  code_.store(code_.load(maximum_of(in_block)), code_.element(to, sizes_.acc_row));
  code_.store(code_.load(sum_of(in_block)),
              code_.element(to, builder_.CreateAdd(sizes_.acc_row, code_.number(1))));
}

}  // namespace dyn::cpu
