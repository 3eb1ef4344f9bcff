#pragma once
// One node of an ONNX graph, as the function that converts its operator sees it.

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/ir/builder.hpp"
#include "src/import/onnx/operand.hpp"
#include "src/import/onnx/sizes/file_sizes.hpp"
#include "src/import/onnx/sizes/ones.hpp"

namespace dyn::onnx {

using graph::Dim;
using graph::ValueId;

/// A weight of the module, and its elements.
struct NamedTensor {
  std::string key;
  ConstantTensor tensor;
};

/// Thrown where a node cannot be built before the values of these inputs of the graph are known:
/// they decide its structure.
struct UndecidedStructure {
  std::set<std::string> inputs;
};

/// Thrown where the branches of an `If` do not fit each other, and sizes of inputs decide which one
/// runs: the model has a structure for each.
struct UndecidedBySizes {
  std::string condition;
};

/// Thrown where data decide when a loop ends that the import took for one to be unrolled.
struct UndecidedByData {
  std::string loop;
};

/// A dim, and its text for when the builder is gone.
struct NotedSize {
  Dim dim;
  std::string text;
};

/// A condition on sizes of inputs, and how an import has answered it.
struct NotedCondition {
  std::string text;
  bool holds;
};

/// All nodes of a graph share this.
struct GraphState {
  graph::Builder builder;
  FileSizes sizes{builder};
  Operands operands;
  std::vector<NamedTensor> weights;
  ModelFiles& files;
  const Ones& ones;
  const std::set<std::string>&by_sizes, &by_data;  ///< ImportOptions'
  const bool strict = false, alone = false;        ///< ImportOptions'
  std::vector<NotedSize> unlike_ones = {};         ///< taken to be other than 1, though they may be
  std::vector<NotedCondition> conditions = {};     ///< those that are open, in the order of asking
  int opset = 0;
  std::vector<std::string> warnings = {};  ///< for a log
  std::int64_t unrolled_nodes = 0;         ///< nodes in bodies of Loop and Scan, once for each step
  int unrolled_loops = 0;                  ///< those around the node that is converted
  std::unordered_multimap<std::size_t, std::pair<std::shared_ptr<const Tensor>, ValueId>>
      weights_in_loops = {};  ///< by the hash of their bytes
  std::set<ValueId> known_inputs =
      {};  ///< the graph's inputs whose values are known; their operands hold the values
  std::unordered_map<std::string, int> last_dim_number = {};  ///< name_2, name_3, ... by name
  std::unordered_map<std::string, int> last_key_number = {};

  // Weights of all graphs are in one file.
  std::set<std::string> weight_keys = {};  ///< of this graph, and of bodies in it
  std::unordered_map<const void*, std::string> weight_of = {};  ///< by ConstantTensor::identity()

  // For the body of a loop.
  GraphState* outside = nullptr;                       ///< the graph that has the loop
  std::unordered_map<ValueId, ValueId> captured = {};  ///< inputs that are values outside
  std::vector<std::string> sources = {};               ///< of its nodes
  std::vector<std::string> body_sources = {};          ///< of those of bodies in it, in their order
  int bodies = 0;                                      ///< named so far, in the whole model
  std::int64_t rolled_nodes = 0;  ///< of all conversions of bodies, in the whole model
};

/// Inputs and attributes by their places and names in the ONNX specification. Errors name the node
/// and its operator.
class NodeContext {
 public:
  NodeContext(GraphState& state, NodeProto& node) : state_(state), node_(node) {}

  const NodeProto& node() const { return node_; }
  /// The version of the standard operators that the node's operator belongs to. Operators of other
  /// domains are like the newest of them.
  int opset() const;
  bool is_strict() const { return state_.strict; }
  bool is_alone() const { return state_.alone; }
  graph::Builder& builder() { return state_.builder; }
  graph::DimTable& dims() { return state_.builder.dims(); }
  /// The sizes of freed dims in the file.
  const FileSizes& sizes() const { return state_.sizes; }
  [[noreturn]] void fail(const std::string& message) const;
  /// Throws UndecidedStructure instead where the node lacked a constant that known values of inputs
  /// could give.
  [[noreturn]] void fail_unsupported(const std::string& message) const;
  /// Tells whoever reads the log.
  void warn(const std::string& message) const;

  std::size_t inputs() const { return static_cast<std::size_t>(node_.input_size()); }
  /// Optional inputs may be left out.
  bool has(std::size_t input) const;
  /// The input as a value of the module. This and what follows fails for a tensor of texts.
  ValueId value(std::size_t input);
  std::vector<ValueId> values();
  const graph::TensorType& type(std::size_t input) { return state_.builder.type(value(input)); }
  /// The type without making a constant a value of the module.
  graph::TensorType type_of(std::size_t input);
  graph::TensorType type_of(const Operand& operand);
  /// Fails where the input has another rank.
  void require_rank(std::size_t input, int rank);
  /// The elements where the file holds them; nullptr: they depend on the graph's inputs.
  const Tensor* constant(std::size_t input);
  /// The same where only a constant will do; the message says `what` it is.
  const Tensor& need_constant(std::size_t input, std::string_view what);
  /// Integers of rank 0 or 1 that depend on nothing but sizes.
  std::optional<KnownInts> ints(std::size_t input);
  /// The same for any rank.
  std::optional<KnownInts> ints_of_any_rank(std::size_t input);
  /// The same where only such integers will do; the message says `what` they are.
  std::vector<Dim> need_dims(std::size_t input, std::string_view what);
  std::vector<std::int64_t> need_integers(std::size_t input, std::string_view what);
  /// One element alone.
  Dim need_dim(std::size_t input, std::string_view what);
  std::int64_t need_integer(std::size_t input, std::string_view what);
  double need_number(std::size_t input, std::string_view what);

  const AttributeProto* attribute(std::string_view name) const;
  std::int64_t integer(std::string_view name, std::int64_t default_value) const;
  double number(std::string_view name, double default_value) const;
  std::string word(std::string_view name, const std::string& default_value) const;
  std::optional<std::vector<std::int64_t>> integers(std::string_view name) const;
  /// A list that is an attribute up to some opset, and an input from then on; nothing where the
  /// node has neither.
  std::optional<std::vector<std::int64_t>> integers(std::string_view name, std::size_t input);
  /// A list of numbers or words; empty where the node has none.
  std::vector<double> numbers(std::string_view name) const;
  std::vector<std::string> words(std::string_view name) const;
  /// Takes the attribute's elements out of the node, so that no two copies exist.
  Tensor take_tensor(std::string_view name);
  /// The dtype that the attribute has as a number of TensorProto.
  DType dtype(std::string_view name) const;
  /// True where the dim is 1 in this import. Where sizes of inputs decide that, it is one of the
  /// Ones, or is noted. Where a run decides it, it is not.
  bool is_one(Dim dim);
  /// The node's first input where it is a condition that depends on nothing but sizes of inputs: 0
  /// or 1.
  std::optional<Dim> condition_on_sizes();
  /// True where the module has another structure for either answer.
  bool splits(Dim condition) const;
  /// The answer in this import, as is_one(). Other sizes than it is for are refused in a run.
  bool holds(Dim condition);
  /// Where sizes or small inputs decide what the node lacked or asks: does not return, and the
  /// import begins again.
  void decide_earlier(std::optional<Dim> condition) const;
  /// True where the node is a loop whose end data decide, as an earlier import found.
  bool is_decided_by_data() const;
  /// The node is one. Does not return: the import begins again.
  [[noreturn]] void decide_by_data() const;
  /// An output that two unlike values could be: whoever reads it fails with the message.
  void refuse(const std::string& message, std::size_t output);
  /// The dim contains one whose value a run decides.
  bool is_defined(Dim dim);
  /// Counted from the front; fails outside of 0 .. rank - 1.
  int axis(std::int64_t axis, int rank) const;

  /// A node of the module whose result is named after the first output.
  ValueId add(std::string_view op, std::vector<ValueId> inputs,
              std::vector<graph::Attr> attrs = {});
  /// The same for an operator with as many results as the node has outputs, or more, named after
  /// them.
  std::vector<ValueId> add_all(std::string_view op, std::vector<ValueId> inputs,
                               std::vector<graph::Attr> attrs = {});
  /// A new dim whose value the run of an operator gives; its name begins with `hint`.
  Dim defined_dim(const std::string& hint);
  /// A scalar of the dtype of `like`.
  ValueId scalar(double number, ValueId like);
  graph::Attr dim_list(const char* name, std::span<const Dim> dims);
  graph::Attr integer_list(const char* name, std::span<const std::int64_t> integers);
  graph::Attr dim(const char* name, std::int64_t integer);

  std::size_t outputs() const { return static_cast<std::size_t>(node_.output_size()); }
  /// True where something may read the output.
  bool wants(std::size_t output) const;
  void give(ValueId id, std::size_t output = 0);
  void give(KnownInts ints, std::size_t output = 0);
  void give(Tensor constant, std::size_t output = 0);
  void give(Operand operand, std::size_t output = 0);
  void give(std::shared_ptr<Operand> operand, std::size_t output = 0);
  void give(OperandList sequence, std::size_t output = 0);

  /// The list of the texts of an input; nullptr: it holds none.
  const TextList* texts(std::size_t input) const;
  /// The places of an input's texts in their list.
  ValueId places_of_texts(std::size_t input);
  /// A tensor of texts: the value has their places in the list.
  void give_texts(ValueId places, TextListPtr list);

  /// The tensors of an input that is a sequence. Fails where it has a front.
  const OperandList& sequence(std::size_t input);
  /// The input where it is a sequence, with a front or without; else fails.
  std::shared_ptr<Operand> sequence_operand(std::size_t input);
  /// The input's operand, for operators that pass it on unchanged.
  std::shared_ptr<Operand> operand(std::size_t input);
  /// The value of an operand that a converter has made.
  ValueId value_of(Operand& operand) { return value_of(operand, node_.op_type()); }
  ValueId value_of(Operand& operand, const std::string& name) {
    return materialize(without_texts(operand), name);
  }

 private:
  Operand& find(std::size_t input);
  /// Fails for a sequence, for nothing, and for what could not be made.
  Operand& readable(Operand& operand);
  /// Fails for a tensor of texts.
  Operand& without_texts(Operand& operand) const;
  /// The graph's inputs that decide what the node lacked. It looks at all that the values follow
  /// from: only a node that fails, or whose sizes a run decides, asks.
  std::set<std::string> asked_for() const;
  std::string loop_name() const;
  std::string new_key(const std::string& name);
  std::optional<KnownInts> ints_of(Operand& operand);
  std::vector<Dim> defined_sizes(Operand& operand);
  ValueId materialize(Operand& operand, const std::string& name);
  ValueId weight_value(const ConstantTensor& tensor, const std::string& name);
  ValueId tensor_value(const ConstantTensor& tensor, const std::string& name);
  ValueId ints_value(const KnownInts& ints, const std::string& name);
  ValueId integer_values(const KnownInts& ints, const std::string& name);

  GraphState& state_;
  NodeProto& node_;
  std::vector<ValueId> lacked_;  ///< they should have been constants
};

/// The value of the module that a name of the graph means.
ValueId value_of(GraphState& state, const std::string& name);

/// "Add 'node_7'", for messages.
std::string describe(const NodeProto& node);

}  // namespace dyn::onnx
