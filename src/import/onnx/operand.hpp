#pragma once
// What is known of a value of an ONNX graph while it is imported.

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/ir/module.hpp"
#include "src/import/onnx/reader/tensor.hpp"

namespace dyn::onnx {

/// Tensors of shape arithmetic are short.
inline constexpr std::size_t most_known_ints = 1024;

/// Integers that shape arithmetic has made: each a dim, which may be negative where it is constant.
struct KnownInts {
  DType dtype = DType::i64;
  bool scalar = false;
  std::vector<graph::Dim> elements;
  std::vector<std::int64_t> dims = {};  ///< of a tensor of rank 2 or more, whose elements stand in
                                        ///< row-major order; empty for lists and scalars
};

/// A constant becomes a value of the module when something reads it as a tensor, and never where
/// only shapes depend on it.
struct Operand {
  graph::ValueId id = graph::no_value;
  std::shared_ptr<const Tensor> constant;
  std::optional<KnownInts> ints;
  std::string name = {};  ///< what defined it calls it; a weight's key
  std::vector<std::shared_ptr<Operand>> parts =
      {};  ///< of a list of integers, the lists that it is put together from, where one of them
           ///< depends on data
};

/// By name. An operand may have several, in the graph and in functions, and becomes one value of
/// the module nevertheless.
using Operands = std::unordered_map<std::string, std::shared_ptr<Operand>>;

}  // namespace dyn::onnx
