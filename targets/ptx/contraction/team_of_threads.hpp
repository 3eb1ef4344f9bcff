#pragma once
// Code that some threads of a block run, and others pass over.

#include <optional>
#include <set>

#include "targets/llvm/code/loops.hpp"
#include "targets/llvm/code/types.hpp"

namespace dyn::ptx {

/// Code that is emitted from its construction to close() is run by the first `threads` threads of a
/// block of `all`. Barriers of the block among that code become a barrier of these threads, which
/// the others never reach. Where all threads run it, nothing changes. `threads` is a multiple of
/// 32: no warp is divided.
class TeamOfThreads {
 public:
  /// `thread`: its index in the block, i32.
  TeamOfThreads(codegen::Builder& builder, llvm::Value* thread, int threads, int all);
  /// At the builder's place, where all threads go on.
  void close();

 private:
  codegen::Builder& builder_;
  const int threads_;
  std::set<const llvm::BasicBlock*> before_;  ///< blocks of code that are not the team's
  std::optional<codegen::Conditional> in_team_;
};

}  // namespace dyn::ptx
