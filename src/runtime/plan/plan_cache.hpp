#pragma once
// Plans remembered by shape, under a budget of bytes.

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "src/runtime/plan/plan.hpp"

namespace dyn::runtime {

/// Thread-safe. Finding takes a shared lock of one shard; a Call that meets its last shape again
/// does not come here at all. The least recently used plan of a shard goes first; one that a Call
/// still holds lives on until that lets go.
class PlanCache {
 public:
  explicit PlanCache(std::size_t budget_bytes) : budget_bytes_(budget_bytes / shard_count) {}

  /// nullptr where there is none.
  PlanPtr find(std::span<const std::int64_t> symbols) const;
  /// Returns the plan that is now remembered: an equal one that another thread put there first
  /// wins.
  PlanPtr insert(PlanPtr plan);

  /// Forgets all; those that a Call still holds live on.
  void clear();

  std::size_t bytes() const;
  std::size_t size() const;

 private:
  static constexpr std::size_t shard_count = 8;

  struct Entry {
    PlanPtr plan;
    mutable std::atomic<std::uint64_t> last_use;
  };
  struct KeyHash {
    std::size_t operator()(std::span<const std::int64_t> symbols) const noexcept;
  };
  struct KeyEqual {
    bool operator()(std::span<const std::int64_t> a,
                    std::span<const std::int64_t> b) const noexcept;
  };
  struct Shard {
    mutable std::shared_mutex mutex;
    /// The key is the plan's own `symbols`.
    std::unordered_map<std::span<const std::int64_t>, Entry, KeyHash, KeyEqual> entries;
    std::size_t bytes = 0;
  };

  void evict(Shard& shard, const Plan* keep) const;

  std::size_t budget_bytes_;
  mutable std::atomic<std::uint64_t> clock_{0};
  std::array<Shard, shard_count> shards_;
};

}  // namespace dyn::runtime
