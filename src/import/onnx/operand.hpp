#pragma once
// Everything that is known of a value of an ONNX graph while it is imported.

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/ir/module.hpp"
#include "src/import/onnx/reader/tensor.hpp"

namespace dyn::onnx {

/// Tensors with more elements are no shape arithmetic.
inline constexpr std::size_t most_known_ints = 1024;

/// Integers that shape arithmetic has made: each a dim, which may be negative where it is constant.
struct KnownInts {
  DType dtype = DType::i64;
  bool scalar = false;
  std::vector<graph::Dim> elements;
  std::vector<std::int64_t> dims = {};  ///< dims of a tensor of rank 2 or more, whose elements
                                        ///< stand in row-major order; empty for lists and scalars
};

/// A constant becomes a value of the module when something reads it as a tensor, and never where
/// only shapes depend on it.
struct Operand {
  graph::ValueId id = graph::no_value;
  std::shared_ptr<const Tensor> constant;
  std::optional<KnownInts> ints;
  std::string name = {};  ///< the name that its definition has; a weight's key
  std::vector<std::shared_ptr<Operand>> parts =
      {};  ///< for a list of integers, the lists that it is joined from, where one of them depends
           ///< on data
  /// For a tensor of texts in the file: they are these, by the numbers that the value has instead.
  std::shared_ptr<const std::vector<std::string>> texts = nullptr;
};

/// Operands by name. One operand may have several names, in the graph and in functions, and still
/// becomes one value of the module.
using Operands = std::unordered_map<std::string, std::shared_ptr<Operand>>;

}  // namespace dyn::onnx
