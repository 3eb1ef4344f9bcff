#pragma once
// What a packed contraction operand reads of a weight, as plain numbers.

#include <compare>
#include <cstdint>
#include <vector>

#include "src/rkernel/problem/problem.hpp"

namespace dyn::runtime {

/// For each batch (in row-major order of `batch`) a k by n matrix, in panels of `dtype`: element
/// (k, n) at offset + batch strides + k * k_stride + n * n_stride. Two operands with equal views
/// share one packed copy.
struct PackedView {
  struct Batch {
    std::int64_t extent, stride;
    auto operator<=>(const Batch&) const = default;
  };
  graph::ValueId weight = graph::no_value;
  DType dtype = DType::f32;  ///< of the panels
  rkernel::Group group = rkernel::Group::None;
  bool sums = false;  ///< rkernel::PackedLayout::sums
  rkernel::Coding coding = {};
  bool is_of_codes = false;  ///< the weight's own, which are packed as they are
  std::int64_t offset = 0, k = 0, n = 0, k_stride = 0, n_stride = 0;
  std::vector<Batch> batch;
  /// All right sides of its contraction, where there are several, by what each reads first: their
  /// panels take turns (rkernel::PackedLayout::sides), and this is that of number `side`.
  struct Side {
    graph::ValueId weight;
    std::int64_t offset;
    auto operator<=>(const Side&) const = default;
  };
  std::vector<Side> sides;
  std::size_t side = 0;
  auto operator<=>(const PackedView&) const = default;

  std::int64_t batch_count() const;
  std::int64_t batch_offset(std::int64_t index) const;  ///< of the first element of a batch
  std::int64_t last_element() const;  ///< the largest index that is read; -1: none
};

/// Is this a gathering operand that reads these panels of its buffer?
bool gathers_from(const rkernel::Operand& operand, const PackedView& view);

/// The view of `problem.operands[operand]`, which must be a side of the contraction, or the
/// recurrence weights, with constant geometry; throws Error(internal) where it is not.
PackedView packed_view(const rkernel::Problem& problem, std::size_t operand);

}  // namespace dyn::runtime
