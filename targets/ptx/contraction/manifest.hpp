#pragma once
// The shape classes of one contraction: its tiles, and the ways in which their operands can be
// copied to shared memory.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "src/choice/gpu/programs.hpp"
#include "targets/ptx/contraction/emitter.hpp"

namespace dyn::ptx {

/// All classes that shapes of one problem can need, known before any shape. Questions that the
/// strides decide have one answer; questions that they leave open have a class for either answer. A
/// pair of tiles has one class, for the fastest copies that are possible: elsewhere the output is
/// one region.
class ContractionManifest {
 public:
  static constexpr std::size_t most_classes = 32;

  /// `pairs` holds indices into `tiles`. Pairs for which there is no room are left out. `tuned`:
  /// tiles of tuned programs, which have classes beyond most_classes.
  ContractionManifest(const rkernel::Problem& problem, const std::vector<choice::GpuTile>& tiles,
                      const std::vector<choice::GpuPair>& pairs = {},
                      const std::vector<choice::GpuTile>& tuned = {});

  /// The candidates.
  const std::vector<choice::GpuTile>& tiles() const noexcept { return tiles_; }
  /// The candidates, and tiles of tuned programs behind them.
  const std::vector<choice::GpuTile>& all_tiles() const noexcept { return all_tiles_; }
  const std::vector<choice::GpuPair>& pairs() const noexcept { return pairs_; }
  /// True where a launch with these values stores outputs in vectors.
  bool vector_outputs(const codegen::SlotTable& slots, std::span<const std::int64_t> ints) const {
    return outputs_ != VectorOutputs::Never && vector_outputs_now(problem_, lanes_, slots, ints);
  }
  /// True where the classes of one region let tickets share tiles: K can be long enough.
  bool splits() const noexcept { return splits_; }
  const std::vector<GpuContractionClass>& classes() const noexcept { return classes_; }
  /// The way in which a tile copies A (B) for these values of the problem's slots.
  Copy a_copy(const choice::GpuTile& tile, const codegen::SlotTable& slots,
              std::span<const std::int64_t> ints) const;
  Copy b_copy(const choice::GpuTile& tile, const codegen::SlotTable& slots,
              std::span<const std::int64_t> ints) const;
  /// True where computed factors are loaded in whole groups for these values.
  bool loads_groups(const codegen::SlotTable& slots, std::span<const std::int64_t> ints) const;
  /// True where tiles that have strips use them for these values.
  bool strips(const codegen::SlotTable& slots, std::span<const std::int64_t> ints) const;
  /// The class of any tile, or of any two in one launch, for these values: among classes() or not.
  GpuContractionClass class_now(const choice::GpuTile& tile, const choice::GpuTile* second,
                                const codegen::SlotTable& slots,
                                std::span<const std::int64_t> ints) const;
  /// Index of the class for a tile and these values.
  std::size_t class_for(const choice::GpuTile& tile, const codegen::SlotTable& slots,
                        std::span<const std::int64_t> ints) const;
  /// The same for two tiles in one launch; none where their copies are not those of the pair's
  /// class.
  std::optional<std::size_t> class_for(const choice::GpuPair& pair, const codegen::SlotTable& slots,
                                       std::span<const std::int64_t> ints) const;
  /// True where such a class is there; the answer is the same for all pairs.
  bool runs_pairs(const codegen::SlotTable& slots, std::span<const std::int64_t> ints) const {
    return !pairs_.empty() && class_for(pairs_.front(), slots, ints).has_value();
  }

 private:
  BOrder b_order(const choice::GpuTile& tile) const;
  int b_inner(const choice::GpuTile& tile) const;
  /// Elements of a factor, an operand, have this dtype in shared memory.
  DType staged(const choice::GpuTile& tile, int factor) const;
  std::vector<Copy> a_copies(const choice::GpuTile& tile) const;
  std::vector<Copy> b_copies(const choice::GpuTile& tile) const;
  void add_classes(const choice::GpuTile& tile, std::vector<GpuContractionClass>& classes) const;
  RegionClass region_now(const choice::GpuTile& tile, const codegen::SlotTable& slots,
                         std::span<const std::int64_t> ints) const;
  std::optional<std::size_t> find(const choice::GpuTile& tile, const choice::GpuTile* second,
                                  const codegen::SlotTable& slots,
                                  std::span<const std::int64_t> ints) const;
  /// The copy of factors that are copied alike, without strips.
  Copy copy_now(const std::vector<int>& factors, int inner, const choice::GpuTile& tile,
                const codegen::SlotTable& slots, std::span<const std::int64_t> ints) const;
  void add_pair(const choice::GpuPair& pair);

  const rkernel::Problem& problem_;
  std::vector<codegen::StrideClass> lanes_;
  bool splits_ = false;
  VectorOutputs outputs_ = VectorOutputs::Never;
  bool k_first_ = false;  ///< B lies along K rather than along N
  std::vector<choice::GpuTile> tiles_, all_tiles_;
  std::vector<choice::GpuPair> pairs_;
  std::vector<GpuContractionClass> classes_;
};

}  // namespace dyn::ptx
