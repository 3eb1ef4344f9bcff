#pragma once
// The model that a dyn::Builder makes.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dyn/builder.hpp"
#include "graph/ir/builder.hpp"
#include "src/runtime/load/model.hpp"

namespace dyn::runtime {

/// Nodes are added to a graph::Builder, which infers at once. Values of the program keep it alive.
class BuilderState : public std::enable_shared_from_this<BuilderState> {
 public:
  BuilderState(const std::string& name, const Operators& operators);
  /// The definition of an operator adds nodes to another model, and weights without elements.
  explicit BuilderState(graph::Builder& outer) : graph_(&outer), is_definition_(true) {}

  /// The definition is over: whoever still has values of it gets Error(user).
  void close() { graph_ = nullptr; }
  Value value(graph::ValueId id) { return Value(shared_from_this(), id); }

  Dim dim(const std::string& name, const DimRange& range);
  Dims read_dims(std::string_view text);
  Value input(const std::string& name, DType dtype, const Dims& dims);
  Value state(const std::string& name, DType dtype, const Dims& dims);
  Value weight(const std::string& name, const Tensor& elements);
  Value weight(const std::string& name, DType dtype, const Shape& shape,
               const graph::WeightSource& source);
  void weight_file(const std::string& path);
  Values add(std::string_view op, const Values& inputs, const Attributes& attributes,
             std::size_t results, const std::string& name);
  void output(const std::string& name, const Value& value);

  const graph::TensorType& type(graph::ValueId id) const { return module().value(id).type; }
  const std::string& name_of(graph::ValueId id) const { return module().value(id).name; }
  /// Gives a number a value of the model.
  graph::ValueId id_in(const Value& value);
  void rename(graph::ValueId id, const std::string& name);
  Dims dims(graph::ValueId id) const;
  PortInfo info(graph::ValueId id) const;
  /// Throws Error(user) where nothing can be added any more, and after an error, which the program
  /// may have caught.
  void require_open() const;

  const std::string& text();
  std::string weights();
  std::shared_ptr<const Model> load(const Options& options, const std::string& weight_directory);

  static Builder handle(std::shared_ptr<BuilderState> state) { return Builder(std::move(state)); }

  /// The model that the values are of. Throws Error(user) where they are of two, or all numbers.
  static std::shared_ptr<BuilderState> of(std::string_view op, const Values& inputs);
  /// Throws Error(user) for a number.
  static BuilderState& of(const Value& value);

 private:
  void check_new_name(const char* what, const std::string& name) const;
  graph::TensorType port_type(const std::string& name, DType dtype, const Dims& dims,
                              bool is_state) const;
  std::vector<graph::ValueId> operands(const graph::OpDef& op, const Values& inputs);
  graph::ValueId number(const Value& value, std::optional<DType> dtype);
  static graph::Value literal(const Value& value);
  std::vector<graph::Attr> converted(const graph::OpDef& op, const Attributes& attributes);
  graph::AttrValue converted(const graph::AttrDef& def, const AttributeValue& value);
  std::vector<std::string> result_names(std::string_view op, std::size_t results,
                                        const std::string& name) const;
  /// With its results so far.
  const graph::Module& module() const { return finished_ ? *finished_ : nodes().module(); }
  const std::shared_ptr<graph::DimTable>& table() const { return module().dims; }
  graph::Builder& nodes() const;
  void refuse_in_definition(const char* what) const;
  const graph::Module& finish();
  graph::Module loadable();

  std::unique_ptr<graph::Builder> owned_;  ///< nullptr in a definition
  graph::Builder* graph_;
  const bool is_definition_ = false;
  Operators operators_;
  std::vector<std::string> weight_files_;
  std::vector<std::pair<std::string, Tensor>> given_weights_;
  std::vector<graph::ValueId> outputs_;
  std::vector<std::string> output_names_;
  std::optional<graph::Module> finished_;
  std::string text_;
  std::string broken_;  ///< the first error, after which the module is no longer whole
};

}  // namespace dyn::runtime
