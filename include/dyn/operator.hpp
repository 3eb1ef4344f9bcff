#pragma once
// dyn::Operator: an operator that the program gives.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dyn/builder.hpp"
#include "dyn/dim.hpp"
#include "dyn/export.hpp"
#include "dyn/operator_set.hpp"
#include "dyn/tensor.hpp"

namespace dyn {

namespace graph {
class InferContext;
struct Node;
}  // namespace graph

/// The attributes of one node, with the operator's defaults where the node has none. Valid during
/// the call that gets it. Each throws Error(user) where the operator has no attribute of that name
/// and kind.
class DYN_API NodeAttributes {
 public:
  bool boolean(std::string_view name) const;
  double number(std::string_view name) const;
  std::int64_t integer(std::string_view name) const;
  std::string word(std::string_view name) const;
  std::vector<std::int64_t> integers(std::string_view name) const;

  /// Inside dyn; not part of the stable API.
  DYN_INTERNAL explicit NodeAttributes(const graph::Node& node) : node_(&node) {}

 private:
  const graph::Node* node_;
};

/// A shape function sees a node through this. Valid during the call.
class DYN_API ShapeContext {
 public:
  /// As many as the node has, which the operator allows.
  const std::vector<TensorType>& inputs() const noexcept { return inputs_; }
  const NodeAttributes& attributes() const noexcept { return attributes_; }
  /// A condition on sizes: decided now where that can be, else when sizes are known. `what` says in
  /// messages what has the two sizes: "rows of x and y".
  void require_equal(const Dim& a, const Dim& b, const std::string& what) const;

  /// Inside dyn; not part of the stable API.
  DYN_INTERNAL ShapeContext(graph::InferContext& context);

 private:
  graph::InferContext* context_;
  std::vector<TensorType> inputs_;
  NodeAttributes attributes_;
};

/// A kernel sees one run of a node through this. Valid during the call. Tensors are dense and on
/// the host; those of f16 and bf16 hold codes of 16 bits.
class DYN_API KernelContext {
 public:
  std::span<const Tensor> inputs() const noexcept { return inputs_; }
  /// Of the shapes and dtypes that the shape function gave; their elements are undefined.
  std::span<Tensor> outputs() const noexcept { return outputs_; }
  const NodeAttributes& attributes() const noexcept { return attributes_; }

  /// Inside dyn; not part of the stable API.
  DYN_INTERNAL KernelContext(const graph::Node& node, std::span<const Tensor> inputs,
                             std::span<Tensor> outputs)
      : inputs_(inputs), outputs_(outputs), attributes_(node) {}

 private:
  std::span<const Tensor> inputs_;
  std::span<Tensor> outputs_;
  NodeAttributes attributes_;
};

/// An attribute that nodes may have. The kind is that of the default value: true or false, a number
/// (0.5), an integer (1), a word ("mean") or a list of integers ({1, 2}).
struct OperatorAttribute {
  std::string name;
  AttributeValue default_value;
  bool required = false;  ///< a node must have it
};

/// What a program adds to dyn's operators. Nodes of the text (`my::scale(x) factor=0.5`), of a
/// Builder and of ONNX files, where the domain is theirs, may use it in models that are loaded with
/// it (Options::operators).
///
/// One of `kernel`, `definition` and `expression` says what it computes. With the latter two dyn
/// makes its own operators of each node when the graph is made, which are fused and compiled like
/// any other; a kernel beside them is not called. Functions must be thread-safe, and results
/// depend on inputs and attributes alone: dyn may call them any number of times, from any thread.
/// What they throw becomes an Error that names the node: a dyn::Error keeps its kind, all others
/// are Error(user).
struct Operator {
  std::string domain, name;  ///< letters, digits and _; dots may join parts of the domain
  std::vector<std::string> inputs = {};  ///< their names, as `expression` and messages call them
  std::size_t optional_inputs = 0;       ///< so many of the last may be left out
  std::size_t outputs = 1;
  std::vector<OperatorAttribute> attributes = {};

  /// The types of the outputs. Needed with a kernel.
  std::function<std::vector<TensorType>(const ShapeContext&)> shape = nullptr;
  /// Computes the outputs on the host, on one thread.
  std::function<void(const KernelContext&)> kernel = nullptr;
  /// Adds dyn's operators, and others of the program, to the model, and gives the results.
  std::function<Values(Builder&, const Values& inputs, const NodeAttributes&)> definition = nullptr;
  /// One element of the result from one element of each input, as the text writes it:
  /// "x * sigmoid(alpha * x)". Inputs and attributes stand there by their names; inputs of several
  /// shapes are broadcast.
  std::string expression = {};
};

}  // namespace dyn
