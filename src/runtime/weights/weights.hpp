#pragma once
// The resident form of all weights on the host.

#include <cstddef>
#include <optional>
#include <span>

#include "graph/ir/module.hpp"
#include "src/runtime/system/memory_block.hpp"
#include "src/runtime/weights/weight_cache.hpp"
#include "src/runtime/weights/weight_layout.hpp"
#include "src/runtime/weights/weight_source.hpp"

namespace dyn::runtime {

/// Times of filling, in seconds.
struct WeightTimes {
  double random = 0;  ///< making random numbers
  double other = 0;   ///< reading, copying, packing
};

/// Immutable; thread-safe.
class Weights {
 public:
  /// Fills memory of its own, or of the allocator where there is one. Throws what sources and
  /// packing throw, Error(device) for no memory.
  Weights(WeightLayout layout, const graph::Module& module, const WeightSources& sources,
          int threads, WeightTimes& times, std::shared_ptr<Allocator> allocator);
  /// Takes the content of others of the same layout.
  Weights(WeightLayout layout, MappedWeights mapped);
  /// Has no memory: for kernels that are only described.
  explicit Weights(WeightLayout layout);

  /// All of them, as they lie; empty where there is no memory.
  std::span<const std::byte> content() const noexcept;

  /// The memory of a weight or constant operand, in the operand's form; nullptr where there is
  /// none. WeightLayout::offset_of says what a packed operand's pointer is. Never to be written to.
  void* operand(const rkernel::Problem& problem, std::size_t operand) const;
  /// The value as it lies; nullptr where nothing reads it so.
  const void* plain(graph::ValueId value) const;

  std::size_t bytes() const noexcept { return layout_.bytes(); }

 private:
  const std::byte* base() const noexcept;

  WeightLayout layout_;
  MemoryBlock block_;  ///< one of these two at most is filled
  std::optional<MappedWeights> mapped_;
};

}  // namespace dyn::runtime
