#include "targets/ptx/loop/row_reduction.hpp"

#include "targets/llvm/code/loops.hpp"
#include "targets/ptx/ir/device_ops.hpp"
#include "targets/ptx/ir/words.hpp"

namespace dyn::ptx {

namespace {

using codegen::Builder;
using llvm::Value;

constexpr std::uint32_t whole_warp = 0xffffffff, warp_segment = 0x1f;
constexpr int cell_bytes = 8;  ///< of one value in shared memory

Value* exchange(Builder& builder, Value* value, unsigned distance) {
  return word_by_word(builder, value, [&](Value* word, int) {
    return call(builder, Op::ShuffleBfly,
                {word, builder.getInt32(distance), builder.getInt32(warp_segment),
                 builder.getInt32(whole_warp)});
  });
}

/// The same bits in all lanes: each step takes two numbers in either order, and gives the same.
Value* over_warp(Builder& builder, codegen::Reduction& reduction, Value* value) {
  for (unsigned distance = warp_threads / 2; distance > 0; distance /= 2)
    value = reduction.step(value, exchange(builder, value, distance));
  return value;
}

/// The words of one warp's result in shared memory.
class Cell {
 public:
  Cell(Builder& builder, int place, int warps, Value* warp) : builder_(builder) {
    Value* index =
        builder.CreateAdd(builder.getInt32(static_cast<std::uint32_t>(place * warps)), warp);
    at_ = builder.CreateGEP(builder.getInt64Ty(), call(builder, Op::Shared),
                            builder.CreateZExt(index, builder.getInt64Ty()));
  }
  void store(Value* value) {
    word_by_word(builder_, value, [&](Value* word, int i) {
      builder_.CreateAlignedStore(word, at(i), llvm::Align(4));
      return word;
    });
  }
  Value* load(Value* like) {
    return word_by_word(
        builder_, llvm::Constant::getNullValue(like->getType()), [&](Value*, int i) {
          return builder_.CreateAlignedLoad(builder_.getInt32Ty(), at(i), llvm::Align(4));
        });
  }

 private:
  Value* at(int word) {
    return builder_.CreateConstGEP1_64(builder_.getInt32Ty(), at_,
                                       static_cast<std::uint64_t>(word));
  }
  Builder& builder_;
  Value* at_;
};

}  // namespace

int row_reduction_bytes(int reductions, int row_threads) {
  const int warps = row_threads / warp_threads;
  return warps > 1 ? reductions * warps * cell_bytes : 0;
}

std::vector<Value*> combine(Builder& builder, const RowThreads& row,
                            std::span<codegen::Reduction> reductions,
                            std::span<Value* const> values, int place, bool alone) {
  const int warps = row.count / warp_threads;
  std::vector<Value*> results;
  for (std::size_t i = 0; i < values.size(); ++i)
    results.push_back(over_warp(builder, reductions[i], values[i]));
  if (warps == 1 || values.empty()) return results;
  // Threads that are still reading the results of the row before must finish first.
  if (alone) call(builder, Op::Barrier);
  Value* warp = builder.CreateLShr(row.member, 5);
  codegen::Conditional first(
      builder,
      builder.CreateICmpEQ(builder.CreateAnd(row.member, warp_threads - 1), builder.getInt32(0)),
      "first_lane");
  for (std::size_t i = 0; i < results.size(); ++i)
    Cell(builder, place + static_cast<int>(i), warps, warp).store(results[i]);
  first.close();
  call(builder, Op::Barrier);
  for (std::size_t i = 0; i < results.size(); ++i) {
    std::vector<Value*> parts;
    for (int w = 0; w < warps; ++w)
      parts.push_back(Cell(builder, place + static_cast<int>(i), warps,
                           builder.getInt32(static_cast<std::uint32_t>(w)))
                          .load(results[i]));
    results[i] = reductions[i].merge(parts);
  }
  return results;
}

}  // namespace dyn::ptx
