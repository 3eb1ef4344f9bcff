#pragma once
// Dims that a reshape splits: which freed factor goes where.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "src/import/onnx/sizes/file_sizes.hpp"

namespace dyn::onnx {

/// A dim as a product of a number and of factors that change with the sizes.
struct Factors {
  struct Atom {
    graph::Dim dim;
    std::int64_t size = 1;  ///< in the file
  };
  std::int64_t number = 1;
  std::vector<Atom> atoms;

  std::int64_t size() const;
  graph::Dim product(graph::DimTable& dims) const;
};

Factors factors_of(graph::Dim dim, const FileSizes& sizes);

/// A place of the target: its size in the file, and the dim that it must have, where that is known.
struct Place {
  std::int64_t size = 1;
  std::optional<graph::Dim> known;
};

/// The dims of all places when the factors of `dims` are assigned in the order of the dims, and no
/// freed factor is cut. Nothing where there are several ways, or none.
std::optional<std::vector<graph::Dim>> split_factors(std::vector<Factors> dims,
                                                     std::span<const Place> places,
                                                     graph::DimTable& table);

}  // namespace dyn::onnx
