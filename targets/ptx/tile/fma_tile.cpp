#include "targets/ptx/tile/fma_tile.hpp"

#include <llvm/IR/Intrinsics.h>

#include <algorithm>

#include "targets/llvm/code/loops.hpp"
#include "targets/ptx/ir/words.hpp"

namespace dyn::ptx {
namespace {

using codegen::Builder;

constexpr int bytes_of_float = 4;

}  // namespace

std::vector<llvm::Value*> load_floats(Builder& builder, llvm::Value* base, int bytes, int width) {
  llvm::Type* type = codegen::lanes_of(builder.getFloatTy(), width);
  llvm::Value* loaded =
      builder.CreateAlignedLoad(type, at_byte(builder, base, number(builder, bytes)),
                                llvm::Align(static_cast<std::uint64_t>(width) * bytes_of_float));
  std::vector<llvm::Value*> elements;
  for (int i = 0; i < width; ++i)
    elements.push_back(
        width == 1 ? loaded : builder.CreateExtractElement(loaded, static_cast<std::uint64_t>(i)));
  return elements;
}

std::vector<llvm::Value*> FmaTile::multiply(Builder& builder, llvm::Value* a, llvm::Value* b,
                                            std::span<llvm::Value* const> first) const {
  const int straight = std::clamp(
      straight_multiplies / (rows * columns) / vector_floats * vector_floats, vector_floats, depth);
  std::vector<llvm::Value*> sums(first.begin(), first.end());
  if (depth % straight != 0 || straight == depth) {
    multiply_straight(builder, a, b, number(builder, 0), depth, sums);
    return sums;
  }
  codegen::CountedLoop steps(builder, number(builder, 0), number(builder, depth),
                             number(builder, straight), "multiply", sums);
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = steps.carried(i);
  multiply_straight(builder, a, b, steps.index(), straight, sums);
  return steps.close(sums);
}

void FmaTile::multiply_straight(Builder& builder, llvm::Value* a, llvm::Value* b, llvm::Value* k,
                                int steps, std::vector<llvm::Value*>& sums) const {
  a = at_byte(builder, a, builder.CreateMul(k, number(builder, bytes_of_float)));
  b = at_byte(builder, b, builder.CreateMul(k, number(builder, b_row_bytes)));
  for (int first = 0; first < steps; first += vector_floats) {
    std::vector<std::vector<llvm::Value*>> of_a;
    for (int i = 0; i < rows; ++i)
      of_a.push_back(load_floats(builder, a, i * row_step * a_row_bytes + first * bytes_of_float,
                                 vector_floats));
    for (int step = 0; step < vector_floats; ++step)
      multiply_step(builder, b, first + step, of_a, static_cast<std::size_t>(step), sums);
  }
}

void FmaTile::multiply_step(Builder& builder, llvm::Value* b, int k,
                            const std::vector<std::vector<llvm::Value*>>& of_a, std::size_t step,
                            std::vector<llvm::Value*>& sums) const {
  std::vector<llvm::Value*> of_b;
  for (int j = 0; j < columns; j += vector) {
    const auto loaded =
        load_floats(builder, b, k * b_row_bytes + column_step(j) * bytes_of_float, vector);
    of_b.insert(of_b.end(), loaded.begin(), loaded.end());
  }
  for (std::size_t i = 0; i < of_a.size(); ++i) {
    for (std::size_t j = 0; j < of_b.size(); ++j) {
      llvm::Value*& sum = sums[i * of_b.size() + j];
      sum = builder.CreateIntrinsic(llvm::Intrinsic::fma, {builder.getFloatTy()},
                                    {of_a[i][step], of_b[j], sum});
    }
  }
}

}  // namespace dyn::ptx
