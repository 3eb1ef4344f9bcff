#pragma once
// The shape classes of one attention: its tiles, and the ways in which their operands can be copied
// to shared memory.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "targets/ptx/attention/emitter.hpp"

namespace dyn::ptx {

/// All classes that shapes of one problem can need, known before any shape. Heads that share keys
/// are always rows of one tile: their tiles are never more than those of single heads, and see no
/// more keys. Rooms for d and n
/// follow from their extents; where these are symbols there are tiles of a few rooms. Where strides
/// leave the copies of several operands open, there is one class for vectors in all of them, and
/// one for elements.
class AttentionManifest {
 public:
  AttentionManifest(const rkernel::Problem& problem, const choice::GpuMachine& machine,
                    DType compute, bool allow_tf32);

  /// axis_of_shared_heads(): all classes have the same.
  int heads() const noexcept { return heads_; }
  /// True where blocks of some classes may share rows: there can be enough keys.
  bool shares_rows() const noexcept { return shares_rows_; }
  const std::vector<GpuAttentionClass>& classes() const noexcept { return classes_; }
  /// Indices of the classes that can run these values of the problem's slots: one for each tile of
  /// the smallest rooms. Empty where d has no room.
  std::vector<std::size_t> classes_for(const codegen::SlotTable& slots,
                                       std::span<const std::int64_t> ints) const;

 private:
  void add_tiles(const std::vector<choice::GpuAttentionTile>& tiles);
  void add_classes(const choice::GpuAttentionTile& tile);
  bool copies_now(const GpuAttentionClass& shape_class, const codegen::SlotTable& slots,
                  std::span<const std::int64_t> ints) const;

  const rkernel::Problem& problem_;
  std::vector<codegen::StrideClass> lanes_;
  int heads_ = -1;
  bool shares_rows_ = false;
  std::vector<GpuAttentionClass> classes_;
};

/// The largest extent of d that any tile has room for.
inline constexpr std::int64_t most_attention_depth = 256;

}  // namespace dyn::ptx
