#include "targets/ptx/attention/outputs.hpp"

#include "targets/llvm/code/loops.hpp"
#include "targets/ptx/ir/device_ops.hpp"
#include "targets/ptx/ir/words.hpp"

namespace dyn::ptx {
namespace {

using Values = std::vector<llvm::Value*>;

constexpr int statistic_floats = 2, statistic_float_bytes = 4;

}  // namespace

void AttentionOutputs::emit(RowState& state, llvm::Value* shared, llvm::Value* thread,
                            const BlockOutputs& outputs) {
  Values factors;
  for (const WholeRow& row : whole_rows(state, shared)) {
    llvm::Value* inverse = softmax_.inverse(row.statistics.sum);
    factors.push_back(row.weight == nullptr ? inverse : builder_.CreateFMul(row.weight, inverse));
  }
  publish(state, factors, shared);
  epilogue_.emit_published(shared, thread, outputs);
}

void AttentionOutputs::emit_shared(RowState& state, llvm::Value* shared, llvm::Value* thread,
                                   const BlockOutputs& outputs, const KeyPart& part,
                                   const std::function<PartMemory()>& memory) {
  llvm::Value *shares = builder_.CreateICmpSGT(part.count, number(builder_, 1)),
              *one = llvm::ConstantFP::get(builder_.getFloatTy(), 1);
  Values factors;
  std::vector<RowStatistics> statistics;
  for (const WholeRow& row : whole_rows(state, shared)) {
    // Outputs of a part stay as they are until the sum of all is known.
    llvm::Value* factor = builder_.CreateSelect(shares, one, softmax_.inverse(row.statistics.sum));
    factors.push_back(row.weight == nullptr ? factor : builder_.CreateFMul(row.weight, factor));
    statistics.push_back(row.statistics);
  }
  publish(state, factors, shared);
  codegen::Conditional leaving(builder_, shares, "share_rows");
  KeyParts of_rows(builder_, products_, softmax_, part, memory(), thread);
  llvm::Value* is_last = of_rows.leave(statistics, shared, outputs.rows);
  codegen::Conditional merging(builder_, is_last, "last_of_rows");
  of_rows.merge(shared, outputs.rows);
  merging.close();
  llvm::Value* stores = leaving.close(Values{is_last}, Values{builder_.getTrue()}).front();
  codegen::Conditional storing(builder_, stores, "store_rows");
  epilogue_.emit_published(shared, thread, outputs);
  storing.close();
}

std::vector<AttentionOutputs::WholeRow> AttentionOutputs::whole_rows(RowState& state,
                                                                     llvm::Value* shared) {
  softmax_.finish(state);
  call(builder_, Op::Barrier);
  std::vector<WholeRow> rows;
  if (products_.tile().parts == 1) {
    for (std::size_t row = 0; row < state.sums.size(); ++row)
      rows.push_back({{state.maxima[row], state.sums[row]}, nullptr});
    return rows;
  }
  write_statistics(state, shared);
  call(builder_, Op::Barrier);
  for (int row = 0; row < products_.places().rows(); ++row)
    rows.push_back(merged_row(state, shared, row));
  return rows;
}

void AttentionOutputs::publish(RowState& state, const Values& factors, llvm::Value* shared) {
  softmax_.scale(state.accumulators, factors);
  if (products_.tile().parts == 1)
    epilogue_.publish(products_, state.accumulators, shared);
  else
    publish_in_order(state, shared);
}

llvm::Value* AttentionOutputs::statistic(llvm::Value* shared, llvm::Value* part, llvm::Value* row) {
  const choice::GpuAttentionTile& tile = products_.tile();
  llvm::Value* index =
      builder_.CreateAdd(builder_.CreateMul(part, number(builder_, tile.block_m)), row);
  llvm::Value* bytes = builder_.CreateAdd(
      builder_.CreateMul(index, number(builder_, statistic_floats * statistic_float_bytes)),
      number(builder_, tile.output_bytes()));
  return at_byte(builder_, shared, bytes);
}

void AttentionOutputs::write_statistics(const RowState& state, llvm::Value* shared) {
  codegen::Conditional first(builder_, products_.first_of_row(builder_), "statistics");
  for (int row = 0; row < products_.places().rows(); ++row) {
    llvm::Value* at = statistic(shared, products_.part(), products_.row(builder_, row));
    const auto index = static_cast<std::size_t>(row);
    builder_.CreateAlignedStore(state.maxima[index], at, llvm::Align(4));
    builder_.CreateAlignedStore(state.sums[index],
                                at_byte(builder_, at, number(builder_, statistic_float_bytes)),
                                llvm::Align(4));
  }
  first.close();
}

AttentionOutputs::WholeRow AttentionOutputs::merged_row(const RowState& state, llvm::Value* shared,
                                                        int row) {
  Values maxima, sums;
  for (int part = 0; part < products_.tile().parts; ++part) {
    llvm::Value* at = statistic(shared, number(builder_, part), products_.row(builder_, row));
    maxima.push_back(builder_.CreateAlignedLoad(builder_.getFloatTy(), at, llvm::Align(4)));
    sums.push_back(builder_.CreateAlignedLoad(
        builder_.getFloatTy(), at_byte(builder_, at, number(builder_, statistic_float_bytes)),
        llvm::Align(4)));
  }
  llvm::Value* all = maxima.front();
  for (llvm::Value* maximum : maxima) all = softmax_.larger(all, maximum);
  llvm::Value* total = llvm::ConstantFP::get(builder_.getFloatTy(), 0);
  for (std::size_t part = 0; part < sums.size(); ++part) {
    total = builder_.CreateFAdd(
        total, builder_.CreateFMul(sums[part], softmax_.weight(maxima[part], all)));
  }
  return {{all, total}, softmax_.weight(state.maxima[static_cast<std::size_t>(row)], all)};
}

// One part after the other adds to the outputs: every run has the same order of sums.
void AttentionOutputs::publish_in_order(const RowState& state, llvm::Value* shared) {
  for (int part = 0; part < products_.tile().parts; ++part) {
    if (part > 0) call(builder_, Op::Barrier);
    codegen::Conditional turn(
        builder_, builder_.CreateICmpEQ(products_.part(), number(builder_, part)), "part");
    epilogue_.publish(products_, state.accumulators, shared,
                      part == 0 ? Epilogue::Publish::Store : Epilogue::Publish::Add);
    turn.close();
  }
}

}  // namespace dyn::ptx
