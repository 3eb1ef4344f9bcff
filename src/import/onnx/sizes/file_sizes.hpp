#pragma once
// The sizes in the file of the dims that an import frees.

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "graph/ir/builder.hpp"

namespace dyn::onnx {

/// Sizes of freed dims in the file, and thereby of everything computed from them. A symbol without
/// a size in the file counts as a prime of its own, larger than usual sizes, so that whatever
/// depends on it equals nothing but itself.
class FileSizes {
 public:
  explicit FileSizes(const graph::Builder& builder) : builder_(builder) {}

  struct Freed {
    graph::Dim symbol;
    std::int64_t size = 0;  ///< in the file
    std::string name;       ///< for messages
  };
  /// An input with freed dims, as the caller asked for it.
  struct Input {
    std::string name;
    std::vector<std::string> words;  ///< Options::free_dims
    std::vector<graph::Dim> dims;
  };
  void free(Freed freed) { freed_.push_back(std::move(freed)); }
  void add(Input input) { inputs_.push_back(std::move(input)); }
  const std::vector<Freed>& freed() const { return freed_; }

  /// True where the dim changes with a freed dim.
  bool depends(graph::Dim dim) const;
  /// True where the dim changes with nothing but freed dims.
  bool knows(graph::Dim dim) const;
  /// The dim's size in the file, or where each freed dim is `scale` times as large as there. Throws
  /// Error(unsupported) where that is beyond 64 bits.
  std::int64_t of(graph::Dim dim, std::int64_t scale = 1) const;
  /// True where a condition that holds for the file's sizes holds for no others.
  bool binds(const graph::Constraint& condition) const;
  /// The freed dims that one of these changes with: "H and W".
  std::string names_in(std::span<const graph::Dim> dims) const;
  /// Proposes what to free where `bound`, and dims that have become constants, cannot be freed:
  /// "data=N,3,224,224".
  std::string words_without(std::span<const graph::Dim> bound) const;

 private:
  std::vector<const Freed*> freed_in(const std::set<int>& symbols) const;

  const graph::Builder& builder_;
  std::vector<Freed> freed_;
  std::vector<Input> inputs_;
};

}  // namespace dyn::onnx
