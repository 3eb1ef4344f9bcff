#pragma once
// The outputs of one thread of CUDA cores, summed up by fused multiply-adds from two tiles of f32
// in shared memory.

#include <span>
#include <vector>

#include "targets/llvm/code/types.hpp"

namespace dyn::ptx {

/// Floats of a 128-bit access, the widest that a thread can make.
inline constexpr int vector_floats = 4;
/// Multiply-adds that one thread executes without a loop: enough to hide the loop and the latency
/// of shared memory, few enough for the instruction cache.
inline constexpr int straight_multiplies = 256;

/// Reads `width` floats at a constant byte offset, one value each.
std::vector<llvm::Value*> load_floats(codegen::Builder& builder, llvm::Value* base, int bytes,
                                      int width);

/// A has rows along K, B has rows along N. The thread's rows are row_step apart; its columns come
/// in vectors that are lane_columns vectors apart.
struct FmaTile {
  int rows = 1, columns = 4;
  int row_step = 1, lane_columns = 8;
  int vector = 4;  ///< columns in one access to B
  int depth = 0;   ///< a multiple of 4
  int a_row_bytes = 0, b_row_bytes = 0;

  /// Columns from the thread's first one to its column j.
  int column_step(int j) const { return j / vector * vector * lane_columns + j % vector; }
  /// sums + A * B. `a` and `b`: the first element of the thread's first row, or column. K ascends,
  /// and each output has one accumulator: the bits are those of a plain loop of fused
  /// multiply-adds.
  std::vector<llvm::Value*> multiply(codegen::Builder& builder, llvm::Value* a, llvm::Value* b,
                                     std::span<llvm::Value* const> sums) const;

 private:
  void multiply_straight(codegen::Builder& builder, llvm::Value* a, llvm::Value* b, llvm::Value* k,
                         int steps, std::vector<llvm::Value*>& sums) const;
  void multiply_step(codegen::Builder& builder, llvm::Value* b, int k,
                     const std::vector<std::vector<llvm::Value*>>& of_a, std::size_t step,
                     std::vector<llvm::Value*>& sums) const;
};

}  // namespace dyn::ptx
