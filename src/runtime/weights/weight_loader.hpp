#pragma once
// Gets weights into memory: mapped from the cache where it has them, else filled, and kept there
// for the next time.

#include <optional>

#include "dyn/graph.hpp"
#include "dyn/options.hpp"
#include "graph/ir/module.hpp"
#include "src/runtime/weights/weight_cache.hpp"
#include "src/runtime/weights/weight_source.hpp"
#include "src/runtime/weights/weights.hpp"

namespace dyn::runtime {

/// Would each later change of the file show in its state? The clock that stamps changes may be
/// coarse, so a file that has just been written, at `now` (nanoseconds since 1970), may change once
/// more without a sign.
bool is_settled(const FileState& state, std::int64_t now);

/// One load. All arguments must outlive it.
class WeightLoader {
 public:
  WeightLoader(const graph::Module& module, const WeightSources& sources, const Options& options,
               int threads);

  /// Throws what filling Weights throws, and nothing because of the cache.
  Weights load(WeightLayout layout, WeightTimes& times, LoadReport& report) const;

 private:
  std::optional<WeightKey> key_of(const WeightLayout& layout) const;

  const graph::Module& module_;
  const WeightSources& sources_;
  int threads_;
  std::shared_ptr<Allocator> allocator_;
  WeightCache cache_;
};

}  // namespace dyn::runtime
