#pragma once
// Where weights and constants lie in one block of the host's memory, and in which form.

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/ir/module.hpp"
#include "src/rkernel/target/target.hpp"
#include "src/runtime/weights/packed_view.hpp"
#include "src/runtime/weights/weight_source.hpp"

namespace dyn::runtime {

inline constexpr std::size_t weight_alignment = 64;

/// Bytes of a weight as it lies.
std::size_t plain_bytes(const graph::Value& weight);

/// As they lie where a kernel or the reference reads them so, packed where the target wants panels.
/// Immutable; thread-safe.
class WeightLayout {
 public:
  /// Places for all that operands of these groups of `problems` read, in the forms in which they
  /// read it; `target`, which must outlive this, packs.
  WeightLayout(const graph::Module& module, const std::vector<rkernel::Problem>& problems,
               std::span<const std::size_t> groups, const rkernel::Target& target);
  /// Places for all weights of the module as they lie.
  explicit WeightLayout(const graph::Module& module);

  std::size_t bytes() const noexcept { return next_; }

  /// Byte offsets. Those of packed operands are of their first panel: the operand's offset and
  /// strides have been spent in packing.
  std::size_t offset_of(const rkernel::Problem& problem, std::size_t operand) const;
  /// The byte offset of a value as it lies; none where nothing reads it so.
  std::optional<std::size_t> offset_of(graph::ValueId value) const;

  /// All places, by what lies there.
  const std::map<graph::ValueId, std::size_t>& plain() const noexcept { return plain_; }
  const std::map<PackedView, std::size_t>& packed() const noexcept { return packed_; }
  /// How a view is packed, and by whom.
  rkernel::PackedLayout layout_of(const PackedView& view) const;
  const rkernel::Target& target() const noexcept { return *target_; }

  /// Target::packing() of the target; empty where there is none.
  std::string packing() const { return target_ == nullptr ? std::string() : target_->packing(); }
  /// A line for each place: what lies there, in which form, and where it comes from. Equal layouts
  /// of equal sources have equal bytes.
  std::string describe(const graph::Module& module, const WeightSources& sources) const;

 private:
  std::size_t place(std::size_t bytes);
  void place_plain(const graph::Module& module, graph::ValueId value);
  void place_packed(const rkernel::Problem& problem, std::size_t operand);
  std::size_t panels_of(const rkernel::Operand& gathering) const;

  const rkernel::Target* target_ = nullptr;
  std::size_t next_ = 0;  ///< end of the last place that was given
  std::map<graph::ValueId, std::size_t> plain_;
  std::map<PackedView, std::size_t> packed_;
};

}  // namespace dyn::runtime
