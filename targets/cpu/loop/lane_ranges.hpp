#pragma once
// Ranges of lanes: whole vectors, a masked rest, and stores past the caches.

#include <functional>

#include "targets/cpu/loop/context.hpp"

namespace dyn::cpu {

/// Stores past the caches: whole vectors go there where `streams` (an i1) holds, from `head` lanes
/// after the begin on.
struct LaneStreams {
  llvm::Value *streams, *head;
};

class LaneRanges {
 public:
  explicit LaneRanges(const LoopContext& context) : context_(context), builder_(context.builder) {}

  /// Whether a store may go past the caches.
  bool is_streamed(int store) const;
  /// How a range of lanes is stored; none: never past the caches.
  std::optional<LaneStreams> streaming(const std::vector<int>& stores,
                                       const LoopRange& lanes) const;

  using EmitVectors = std::function<void(llvm::Value* begin, int count, llvm::Value* mask)>;
  /// Calls `emit` for blocks of all lanes, in code for `count` whole vectors and for one that is
  /// masked, and releases the stores.
  void over(const LoopRange& lanes, const std::optional<LaneStreams>& streaming, int count,
            const EmitVectors& emit) const;

 private:
  LaneStreams first_stream(llvm::Value* address, std::int64_t bytes, const LoopRange& lanes) const;

  const LoopContext& context_;
  codegen::Builder& builder_;
};

}  // namespace dyn::cpu
