#pragma once
// Packed weights as oneDNN takes them: where they lie, or in a copy that is made once.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "src/rkernel/problem/packed_layout.hpp"
#include "targets/vendor/onednn.hpp"
#include "targets/vendor/product.hpp"

namespace dyn::cpu {

/// The weights of one kernel, which lie at one address as long as it lives. Thread-safe.
class VendorWeights {
 public:
  /// Columns of a block of columns other than the last are multiples of the layout's panel.
  VendorWeights(const vendor::OneDnn& library, const rkernel::PackedLayout& layout);

  /// Sets tag or strides of B in `form`.
  void describe(vendor::ProductForm& form) const;
  /// Element (0, column) of the weights that were packed at `packed`; a multiple of the panel. The
  /// first call may copy all of them: throws std::bad_alloc.
  const float* from_column(const float* packed, std::int64_t column) const;

 private:
  /// K in panels is what oneDNN's blocks are; else panels with K rounded up, or, where its fast
  /// code takes no panels, rows.
  enum class Form { AsTheyLie, DeeperPanels, Rows };
  void copy(const float* packed) const;

  rkernel::PackedLayout layout_;
  int tag_;
  Form form_;
  std::int64_t depth_, row_;  ///< rows of a panel of the copy; elements of a row of it
  mutable std::once_flag copied_;
  mutable std::unique_ptr<float[], void (*)(float*)> copy_;
};

}  // namespace dyn::cpu
