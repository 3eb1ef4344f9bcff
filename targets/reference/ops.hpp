#pragma once
// The interface of an operator's implementation, and the tables that name them.

#include <span>
#include <string_view>
#include <vector>

#include "graph/ir/op.hpp"
#include "graph/ops/scalar_ops.hpp"
#include "targets/reference/index.hpp"
#include "targets/reference/reference.hpp"

namespace dyn::reference {

/// One node with its operands' values. Attributes come with the operator's defaults.
struct OpCall {
  const graph::Module& module;
  const graph::Node& node;
  std::span<const std::int64_t> symbols;
  std::vector<const Array*> inputs;

  const Array& input(std::size_t i) const { return *inputs[i]; }
  bool has(std::size_t i) const { return i < inputs.size(); }
  DType output_dtype() const { return module.value(node.outputs[0]).type.dtype; }

  bool boolean(std::string_view name) const { return graph::attr_boolean(node, name); }
  double number(std::string_view name) const { return graph::attr_number(node, name); }
  std::string word(std::string_view name) const { return graph::attr_word(node, name); }
  std::int64_t integer(std::string_view name) const { return graph::attr_integer(node, name); }
  std::int64_t dim(std::string_view name) const;
  Dims dims(std::string_view name) const;
  std::vector<std::int64_t> integers(std::string_view name) const {
    return graph::attr_integers(node, name);
  }
  /// `given` as an axis of an array of that rank; negative ones count from the end.
  std::size_t normal_axis(std::int64_t given, std::size_t rank) const;
  std::size_t axis(std::string_view name, std::size_t rank) const {
    return normal_axis(integer(name), rank);
  }

  /// Throws Error(user) with the operator's name and line.
  [[noreturn]] void fail(const std::string& message) const;
};

using OpFunction = std::vector<Array> (*)(const OpCall&);
struct OpEntry {
  graph::OpId op;
  OpFunction function;
};

std::span<const OpEntry> elementwise_ops();
std::span<const OpEntry> reduction_ops();
std::span<const OpEntry> movement_ops();
/// The dtype of products of both: theirs, i32 of narrow integers, or f32 of bf16 by f32.
DType product_dtype(DType left, DType right);
/// Makes of the sides of a product what is multiplied: bf16 by f32 counts in bf16, and integers by
/// f32 are numbers, less what counts as 0 in them. True where they were such.
bool make_factors(const OpCall& call, Array& left, Array& right);

std::span<const OpEntry> contraction_ops();
std::span<const OpEntry> attention_ops();
std::span<const OpEntry> compound_ops();
std::span<const OpEntry> conv_pool_ops();
std::span<const OpEntry> tree_ops();

/// nullptr where the reference does not know the operator.
OpFunction find_function(graph::OpId op);

}  // namespace dyn::reference
