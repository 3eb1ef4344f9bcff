#pragma once
// The resident form of all weights: as they lie where a kernel or the reference reads them so,
// packed where the target wants panels.

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/ir/module.hpp"
#include "src/rkernel/target/target.hpp"
#include "src/runtime/system/memory_block.hpp"
#include "src/runtime/weights/packed_view.hpp"
#include "src/runtime/weights/weight_cache.hpp"
#include "src/runtime/weights/weight_source.hpp"

namespace dyn::runtime {

class Weights {
 public:
  /// Times of filling, in seconds.
  struct Times {
    double random = 0;  ///< making random numbers
    double other = 0;   ///< reading, copying, packing
  };

  Weights() = default;
  /// Gives places to all weights that operands of these groups of `problems` read, in the forms in
  /// which they read them; `target`, which must outlive load(), packs.
  Weights(const graph::Module& module, const std::vector<rkernel::Problem>& problems,
          std::span<const std::size_t> groups, const rkernel::Target& target);
  /// All weights of the module as they lie.
  explicit Weights(const graph::Module& module);

  /// Fills them.
  void load(const graph::Module& module, const WeightSources& sources, int threads, Times& times);

  /// Target::packing() of the target; empty where there is none.
  std::string packing() const { return target_ == nullptr ? std::string() : target_->packing(); }
  /// A line for each place: what lies there, in which form, and where it comes from. Equal layouts
  /// of equal sources have equal bytes.
  std::string layout(const graph::Module& module, const WeightSources& sources) const;
  /// Filled ones, as they lie; empty before load().
  std::span<const std::byte> content() const noexcept;
  /// Takes the content of others of the same layout, and gives back the memory that load() took.
  void adopt(MappedWeights mapped);

  /// The memory of a weight or constant operand, in the operand's form; nullptr before load(). A
  /// packed operand's pointer is that of its first panel: the operand's offset and strides have
  /// been spent in packing. Never to be written to.
  void* operand(const rkernel::Problem& problem, std::size_t operand) const;
  /// As it lies; nullptr where nothing reads it so.
  const void* plain(graph::ValueId value) const;

  std::size_t bytes() const noexcept { return next_; }

 private:
  struct Filler;
  std::size_t place(std::size_t bytes);
  void place_plain(const graph::Module& module, graph::ValueId value);
  void place_packed(const rkernel::Target& target, const PackedView& view);

  const std::byte* base() const noexcept;
  std::size_t panels_of(const rkernel::Operand& gathering) const;
  std::size_t offset_of(const rkernel::Problem& problem, std::size_t operand) const;

  const rkernel::Target* target_ = nullptr;
  MemoryBlock block_;  ///< of these two, one is filled
  std::optional<MappedWeights> mapped_;
  std::size_t next_ = 0;                         ///< end of the last place that was given
  std::map<graph::ValueId, std::size_t> plain_;  ///< byte offsets into block_
  std::map<PackedView, std::size_t> packed_;
};

}  // namespace dyn::runtime
