#pragma once
// Combines partial results of the threads that share a row into one, the same in all of them.

#include <span>
#include <vector>

#include "targets/llvm/problem/reduction.hpp"

namespace dyn::ptx {

inline constexpr int warp_threads = 32;

/// The threads of a block that share a row: i32 values.
struct RowThreads {
  int count = 0;  ///< a multiple of a warp; more than one warp: all threads of the block
  llvm::Value* member = nullptr;  ///< index of this thread among them
};

/// Bytes of shared memory for so many reductions, of all combine() calls of a kernel together.
int row_reduction_bytes(int reductions, int row_threads);

/// Combines each of `values`, partial results of `reductions`, over the threads of the row, in an
/// order that depends on their number alone. All of them must come here together. `place`: the
/// number of reductions in earlier calls of the kernel; each call has its own shared memory.
/// `alone`: no other call separates this one from its next execution.
std::vector<llvm::Value*> combine(codegen::Builder& builder, const RowThreads& row,
                                  std::span<codegen::Reduction> reductions,
                                  std::span<llvm::Value* const> values, int place, bool alone);

}  // namespace dyn::ptx
