#pragma once
// The shape classes of one contraction: which tiles, and how their operands can come to shared memory.

#include <cstdint>
#include <span>
#include <vector>

#include "targets/ptx/contraction_emitter.hpp"

namespace dyn::ptx {

/// All classes that shapes of one problem can need, known before any shape: what the strides prove is decided, and what they leave
/// open has a class for either answer.
class ContractionManifest {
 public:
  static constexpr std::size_t most_classes = 32;

  ContractionManifest(const rkernel::Problem& problem, const std::vector<rkernel::GpuTile>& tiles);

  const std::vector<rkernel::GpuTile>& tiles() const noexcept { return tiles_; }
  const std::vector<GpuContractionClass>& classes() const noexcept { return classes_; }
  /// Whether a tile copies A (B) 16 bytes at a time for these values of the problem's slots.
  bool a_vectors(const rkernel::GpuTile& tile, const codegen::SlotTable& slots, std::span<const std::int64_t> ints) const;
  bool b_vectors(const rkernel::GpuTile& tile, const codegen::SlotTable& slots, std::span<const std::int64_t> ints) const;
  /// Index of the class for a tile and these values.
  std::size_t class_for(const rkernel::GpuTile& tile, const codegen::SlotTable& slots, std::span<const std::int64_t> ints) const;

 private:
  BOrder b_order(const rkernel::GpuTile& tile) const;
  int b_inner(const rkernel::GpuTile& tile) const;
  void add_classes(const rkernel::GpuTile& tile, std::vector<GpuContractionClass>& classes) const;

  const rkernel::Problem& problem_;
  std::vector<codegen::StrideClass> lanes_;
  bool k_first_ = false;  ///< B lies along K rather than along N
  std::vector<rkernel::GpuTile> tiles_;
  std::vector<GpuContractionClass> classes_;
};

}  // namespace dyn::ptx
