#pragma once
// Remembers how fast tiles of one GPU are.

#include <map>
#include <mutex>
#include <optional>

#include "src/choice/gpu/layer_zero.hpp"

namespace dyn::choice {

/// with_stages() of each tile, once. Thread-safe.
class TileRates {
 public:
  explicit TileRates(const GpuMachine& machine) : machine_(machine) {}
  const GpuMachine& machine() const noexcept { return machine_; }
  std::optional<RatedTile> operator()(const GpuTile& tile) const;

 private:
  const GpuMachine machine_;
  mutable std::mutex mutex_;
  mutable std::map<GpuTile, std::optional<RatedTile>> known_;
};

}  // namespace dyn::choice
