#pragma once
// Choices of the cost model for attention, remembered by shape: a model's layers share them.

#include <array>
#include <map>
#include <shared_mutex>

#include "src/rkernel/attention_cost.hpp"

namespace dyn::cpu {

/// Thread-safe.
class AttentionChoices {
 public:
  rkernel::AttentionChoice choose(const rkernel::Machine& machine, const rkernel::AttentionShape& shape, int threads) const;

 private:
  using Key = std::array<std::int64_t, 11>;
  mutable std::shared_mutex mutex_;
  mutable std::map<Key, rkernel::AttentionChoice> memory_;
};

}  // namespace dyn::cpu
