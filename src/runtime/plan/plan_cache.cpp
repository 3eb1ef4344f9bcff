#include "src/runtime/plan/plan_cache.hpp"

#include <algorithm>
#include <mutex>

namespace dyn::runtime {

std::size_t PlanCache::KeyHash::operator()(std::span<const std::int64_t> symbols) const noexcept {
  std::uint64_t hash = 0x9e3779b97f4a7c15;
  for (const std::int64_t value : symbols) {
    hash = (hash ^ static_cast<std::uint64_t>(value)) * 0xff51afd7ed558ccd;
    hash ^= hash >> 32;
  }
  return hash;
}

bool PlanCache::KeyEqual::operator()(std::span<const std::int64_t> a,
                                     std::span<const std::int64_t> b) const noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

PlanPtr PlanCache::find(std::span<const std::int64_t> symbols) const {
  const Shard& shard = shards_[KeyHash()(symbols) % shard_count];
  const std::shared_lock lock(shard.mutex);
  const auto found = shard.entries.find(symbols);
  if (found == shard.entries.end()) return nullptr;
  found->second.last_use.store(clock_.fetch_add(1, std::memory_order_relaxed),
                               std::memory_order_relaxed);
  return found->second.plan;
}

PlanPtr PlanCache::insert(PlanPtr plan) {
  const std::span<const std::int64_t> key = plan->symbols;
  Shard& shard = shards_[KeyHash()(key) % shard_count];
  const std::unique_lock lock(shard.mutex);
  const auto [entry, is_new] =
      shard.entries.try_emplace(key, plan, clock_.fetch_add(1, std::memory_order_relaxed));
  if (!is_new) return entry->second.plan;
  shard.bytes += plan->footprint_bytes;
  evict(shard, plan.get());
  return plan;
}

/// Drops plans until the budget holds, but never `keep`, which was just made.
void PlanCache::evict(Shard& shard, const Plan* keep) const {
  while (shard.bytes > budget_bytes_ && shard.entries.size() > 1) {
    auto oldest = shard.entries.end();
    for (auto entry = shard.entries.begin(); entry != shard.entries.end(); ++entry) {
      if (entry->second.plan.get() == keep) continue;
      if (oldest == shard.entries.end() || entry->second.last_use < oldest->second.last_use)
        oldest = entry;
    }
    shard.bytes -= oldest->second.plan->footprint_bytes;
    const PlanPtr last_owner =
        std::move(oldest->second.plan);  // the key is the plan's: it goes after the entry
    shard.entries.erase(oldest);
  }
}

void PlanCache::clear() {
  for (Shard& shard : shards_) {
    const std::unique_lock lock(shard.mutex);
    while (!shard.entries.empty()) {
      const PlanPtr owner = shard.entries.begin()->second.plan;  // the key is the plan's
      shard.entries.erase(shard.entries.begin());
    }
    shard.bytes = 0;
  }
}

std::size_t PlanCache::bytes() const {
  std::size_t sum = 0;
  for (const Shard& shard : shards_) {
    const std::shared_lock lock(shard.mutex);
    sum += shard.bytes;
  }
  return sum;
}

std::size_t PlanCache::size() const {
  std::size_t sum = 0;
  for (const Shard& shard : shards_) {
    const std::shared_lock lock(shard.mutex);
    sum += shard.entries.size();
  }
  return sum;
}

}  // namespace dyn::runtime
