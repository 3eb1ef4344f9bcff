#include "targets/ptx/attention/key_parts.hpp"

#include <limits>

#include "targets/llvm/code/loops.hpp"
#include "targets/ptx/ir/device_ops.hpp"
#include "targets/ptx/ir/words.hpp"

namespace dyn::ptx {
namespace {

using codegen::CountedLoop;
using Values = std::vector<llvm::Value*>;

/// Columns that a thread stores and merges together, 16 bytes.
constexpr int group_columns = 4;
constexpr int part_statistics = 2, bytes_of_float = 4;
/// Parts whose loads are in flight together.
constexpr int parts_together = choice::merged_key_parts;

constexpr double nothing_seen = -std::numeric_limits<double>::infinity();

}  // namespace

llvm::FixedVectorType* KeyParts::floats(int count) const {
  return llvm::FixedVectorType::get(builder_.getFloatTy(), static_cast<unsigned>(count));
}

llvm::Value* KeyParts::place(llvm::Value* index) {
  return memory_.place(index, static_cast<std::size_t>(tile_.part_bytes()));
}

llvm::Value* KeyParts::statistics_at(llvm::Value* place, llvm::Value* row) {
  return at_byte(builder_, place,
                 builder_.CreateMul(row, number(part_statistics * bytes_of_float)));
}

llvm::Value* KeyParts::published_at(llvm::Value* shared, llvm::Value* row, llvm::Value* column) {
  llvm::Value* element =
      builder_.CreateAdd(builder_.CreateMul(row, number(tile_.output_row_floats())), column);
  return at_byte(builder_, shared, builder_.CreateMul(element, number(bytes_of_float)));
}

void KeyParts::leave_statistics(const std::vector<RowStatistics>& statistics) {
  llvm::Value* first = builder_.CreateAnd(products_.first_of_row(builder_),
                                          builder_.CreateICmpEQ(products_.part(), number(0)));
  codegen::Conditional once(builder_, first, "leave_statistics");
  llvm::Value* to = place(part_.place);
  for (std::size_t row = 0; row < statistics.size(); ++row) {
    llvm::Value* pair = llvm::PoisonValue::get(floats(part_statistics));
    pair = builder_.CreateInsertElement(pair, statistics[row].maximum, std::uint64_t{0});
    pair = builder_.CreateInsertElement(pair, statistics[row].sum, std::uint64_t{1});
    llvm::Value* at = statistics_at(to, products_.row(builder_, static_cast<int>(row)));
    builder_.CreateAlignedStore(pair, at, llvm::Align(part_statistics * bytes_of_float));
  }
  once.close();
}

template <class Visit>
void KeyParts::for_each_group(llvm::Value* rows, const Visit& visit) {
  llvm::Value* in_row = number(tile_.width / group_columns);
  CountedLoop groups(builder_, thread_, builder_.CreateMul(rows, in_row), number(tile_.threads()),
                     "columns_of_part");
  groups.keep_rolled();
  visit(
      builder_.CreateUDiv(groups.index(), in_row),
      builder_.CreateMul(builder_.CreateURem(groups.index(), in_row), number(group_columns)),
      builder_.CreateAdd(builder_.CreateMul(groups.index(), number(group_columns * bytes_of_float)),
                         number(tile_.block_m * part_statistics * bytes_of_float)));
  groups.close();
}

llvm::Value* KeyParts::leave(const std::vector<RowStatistics>& statistics, llvm::Value* shared,
                             llvm::Value* rows) {
  leave_statistics(statistics);
  call(builder_, Op::Barrier);
  llvm::Value* to = place(part_.place);
  for_each_group(rows, [&](llvm::Value* row, llvm::Value* column, llvm::Value* offset) {
    llvm::Value* group = builder_.CreateAlignedLoad(
        floats(group_columns), published_at(shared, row, column), llvm::Align(16));
    builder_.CreateAlignedStore(group, at_byte(builder_, to, offset), llvm::Align(16));
  });
  return memory_.arrive(part_.tile, part_.count);
}

llvm::Value* KeyParts::place_of_part(llvm::Value* index, llvm::Value*& exists) {
  exists = builder_.CreateICmpSLT(index, part_.count);
  llvm::Value* last = builder_.CreateSub(part_.count, number(1));
  return place(builder_.CreateAdd(part_.first, smaller(builder_, index, last)));
}

llvm::Value* KeyParts::largest(llvm::Value* row) {
  llvm::Value* nothing = llvm::ConstantFP::get(builder_.getFloatTy(), nothing_seen);
  CountedLoop parts(builder_, number(0), part_.count, number(parts_together), "maximum_of_parts",
                    Values{nothing});
  parts.keep_rolled();
  Values maxima;
  for (int j = 0; j < parts_together; ++j) {
    llvm::Value* exists = nullptr;
    llvm::Value* from = place_of_part(builder_.CreateAdd(parts.index(), number(j)), exists);
    maxima.push_back(builder_.CreateAlignedLoad(builder_.getFloatTy(), statistics_at(from, row),
                                                llvm::Align(bytes_of_float)));
  }
  llvm::Value* all = parts.carried(0);
  for (llvm::Value* maximum : maxima) all = softmax_.larger(all, maximum);
  return parts.close(Values{all}).front();
}

// A part that does not exist has a maximum of -inf, and so a weight of 0.
llvm::Value* KeyParts::merged(llvm::Value* row, llvm::Value* offset) {
  llvm::Value* all = largest(row);
  llvm::Value *zero = llvm::ConstantFP::get(builder_.getFloatTy(), 0),
              *zeros = llvm::ConstantFP::get(floats(group_columns), 0);
  CountedLoop parts(builder_, number(0), part_.count, number(parts_together), "merge_parts",
                    Values{zero, zeros});
  parts.keep_rolled();
  struct Loaded {
    llvm::Value *exists, *statistics, *outputs;
  };
  std::vector<Loaded> loaded;
  for (int j = 0; j < parts_together; ++j) {
    Loaded one{};
    llvm::Value* from = place_of_part(builder_.CreateAdd(parts.index(), number(j)), one.exists);
    one.statistics = builder_.CreateAlignedLoad(floats(part_statistics), statistics_at(from, row),
                                                llvm::Align(part_statistics * bytes_of_float));
    one.outputs = builder_.CreateAlignedLoad(floats(group_columns), at_byte(builder_, from, offset),
                                             llvm::Align(16));
    loaded.push_back(one);
  }
  llvm::Value *sum = parts.carried(0), *outputs = parts.carried(1);
  for (const Loaded& one : loaded) {
    llvm::Value* nothing = llvm::ConstantFP::get(builder_.getFloatTy(), nothing_seen);
    llvm::Value* maximum = builder_.CreateSelect(
        one.exists, builder_.CreateExtractElement(one.statistics, std::uint64_t{0}), nothing);
    llvm::Value* weight = softmax_.weight(maximum, all);
    llvm::Value* part_sum = builder_.CreateSelect(
        one.exists, builder_.CreateExtractElement(one.statistics, std::uint64_t{1}), zero);
    sum = builder_.CreateFAdd(sum, builder_.CreateFMul(part_sum, weight));
    llvm::Value* weighed =
        builder_.CreateFMul(builder_.CreateSelect(one.exists, one.outputs, zeros),
                            builder_.CreateVectorSplat(group_columns, weight));
    outputs = builder_.CreateFAdd(outputs, weighed);
  }
  const Values total = parts.close(Values{sum, outputs});
  return builder_.CreateFMul(total[1],
                             builder_.CreateVectorSplat(group_columns, softmax_.inverse(total[0])));
}

void KeyParts::merge(llvm::Value* shared, llvm::Value* rows) {
  for_each_group(rows, [&](llvm::Value* row, llvm::Value* column, llvm::Value* offset) {
    llvm::Value* outputs = merged(row, offset);
    builder_.CreateAlignedStore(outputs, published_at(shared, row, column), llvm::Align(16));
  });
}

}  // namespace dyn::ptx
