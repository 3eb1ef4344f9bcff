#pragma once
// What the dims that an import frees are in the file.

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "graph/ir/builder.hpp"

namespace dyn::onnx {

/// Sizes of freed dims in the file, and thereby of all that is computed from them. A symbol that
/// the file gives no size counts as a prime of its own, larger than usual sizes, so that what
/// depends on it equals nothing but itself.
class FileSizes {
 public:
  explicit FileSizes(const graph::Builder& builder) : builder_(builder) {}

  struct Freed {
    graph::Dim symbol;
    std::int64_t size = 0;  ///< in the file
    std::string name;       ///< for messages
  };
  /// An input with freed dims, as it was asked for.
  struct Input {
    std::string name;
    std::vector<std::string> words;  ///< Options::free_dims
    std::vector<graph::Dim> dims;
  };
  void free(Freed freed) { freed_.push_back(std::move(freed)); }
  void add(Input input) { inputs_.push_back(std::move(input)); }
  const std::vector<Freed>& freed() const { return freed_; }

  /// Whether it changes with a freed dim.
  bool depends(graph::Dim dim) const;
  /// Whether it changes with nothing but freed dims.
  bool knows(graph::Dim dim) const;
  /// Its size in the file, or where each freed dim is `scale` times as large as there. Throws
  /// Error(unsupported) where that is beyond 64 bits.
  std::int64_t of(graph::Dim dim, std::int64_t scale = 1) const;
  /// Whether a condition, which holds for the file's sizes, is bound to them: it holds for no
  /// others.
  bool binds(const graph::Constraint& condition) const;
  /// The freed dims that one of them changes with: "H and W".
  std::string names_in(std::span<const graph::Dim> dims) const;
  /// What may be asked for where `bound` cannot be freed, nor what has become a constant:
  /// "data=N,3,224,224".
  std::string words_without(std::span<const graph::Dim> bound) const;

 private:
  std::vector<const Freed*> freed_in(const std::set<int>& symbols) const;

  const graph::Builder& builder_;
  std::vector<Freed> freed_;
  std::vector<Input> inputs_;
};

}  // namespace dyn::onnx
