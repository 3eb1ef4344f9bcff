#pragma once
// Sizes that are 1 in some runs, where the structure of a model depends on that.

#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "dyn/tensor.hpp"
#include "graph/dims/dim.hpp"

namespace dyn::onnx {

/// Sizes that an import takes to be 1, as dims print them: "batch", "floordiv(W, 2)". A condition
/// on sizes is one of them, 1 where it holds and else 0. Names are the same in every import of a
/// file.
using Ones = std::set<std::string>;

/// Sizes that an import has taken to be other than 1, and that may be 1 in a run. There the file
/// has to be imported once more, with them among its Ones. Immutable: any number of threads may
/// ask.
class UnlikeOnes {
 public:
  UnlikeOnes() = default;
  /// `inputs`: the dims of each input, and `sizes`, as they were when the import read and asked for
  /// them; all of them of `dims`.
  UnlikeOnes(std::shared_ptr<graph::DimTable> dims, std::vector<std::vector<graph::Dim>> inputs,
             const std::vector<graph::Dim>& sizes);

  bool empty() const noexcept { return sizes_.empty(); }
  /// All of them.
  Ones all() const;

  /// Those that are 1 where the inputs have these shapes. None where the shapes do not fit: a run
  /// says why. Allocates nothing where there are none, but for a thread's first time. Throws
  /// Error(user) where a size overflows.
  Ones at(std::span<const Shape* const> shapes) const;

 private:
  struct Size {
    std::string text;
    std::size_t slot;  ///< of the program
  };
  bool find_symbols(std::span<const Shape* const> shapes, std::span<std::int64_t> symbols) const;

  std::shared_ptr<graph::DimTable> dims_;  ///< owns all dims
  std::vector<std::vector<graph::Dim>> inputs_;
  std::vector<Size> sizes_;
  graph::DimProgram program_;
};

}  // namespace dyn::onnx
