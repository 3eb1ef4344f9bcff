#pragma once
// A module made node by node, each with the types of its results at once.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/ir/op.hpp"
#include "graph/ir/unique_names.hpp"

namespace dyn::graph {

class CustomOps;
class Propagation;

/// Inputs and nodes come in the order of the computation, then finish(). Whoever builds can ask for
/// the type of every value so far, with all that is known of symbols by then: a later node may
/// replace a symbol by another dim, in all types before it too, so that dims that are kept
/// elsewhere must be asked for again (resolve()). Not thread-safe.
class Builder {
 public:
  /// `source_name` begins the messages of errors.
  Builder(std::string name, std::string source_name,
          std::shared_ptr<const CustomOps> operators = nullptr);
  ~Builder();
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  DimTable& dims() noexcept { return *module_.dims; }
  /// The program's operators; nullptr: none.
  const std::shared_ptr<const CustomOps>& operators() const noexcept { return operators_; }
  /// Without the names of outputs and the conditions on sizes, which finish() adds.
  const Module& module() const noexcept { return module_; }
  const TensorType& type(ValueId id) const { return module_.value(id).type; }
  const Value& value(ValueId id) const { return module_.value(id); }
  const Node& node(int index) const { return module_.nodes[static_cast<std::size_t>(index)]; }
  /// The dim with what symbols have been replaced by so far.
  Dim resolve(Dim dim) const;

  /// A value of the module has this name.
  bool has_name(const std::string& name) const { return names_.has(name); }

  /// Notes in Module::remarks that a node of the file computes other bits than it says.
  void remark(const std::string& what) { ++module_.remarks[what]; }

  std::size_t node_count() const noexcept { return module_.nodes.size(); }
  /// A node asks here for relations between dims that cannot be decided before sizes are known.
  std::span<const Constraint> constraints(std::size_t node) const;

  /// Declares a symbol.
  Dim symbol(SymbolInfo info);
  /// Adds an input. No other value has the name `name`.
  ValueId input(std::string name, TensorType type);
  /// Adds a state; no other value has its name.
  ValueId state(std::string name, TensorType type);
  /// Adds a weight from the files. Its name, made unique from `name`, is its key there.
  ValueId weight(const std::string& name, TensorType type, WeightSource source = {});
  /// Adds a weight with this element everywhere.
  ValueId splat(const std::string& name, TensorType type, double element);
  /// Scalars of rank 0.
  ValueId number(DType dtype, double value);
  ValueId integer(DType dtype, std::int64_t value);

  /// The results of a new node, as many as `names`, each made unique; of an operator of the program
  /// with a definition, those of the nodes that it is defined by. Throws Error(model) for what
  /// verify() and shape inference refuse.
  std::vector<ValueId> add(std::string_view op, std::vector<ValueId> inputs,
                           std::vector<Attr> attrs, const std::vector<std::string>& names);
  /// Adds a node of an operator with one result.
  ValueId add(std::string_view op, std::vector<ValueId> inputs, const std::string& name,
              std::vector<Attr> attrs = {});

  /// Gives a value another name. False where a value has it, which may be this one.
  bool rename(ValueId id, const std::string& name);

  /// A `loop` that is added later runs it. No other body has its name.
  void body(std::shared_ptr<const Module> body) { module_.bodies.push_back(std::move(body)); }
  const std::vector<std::shared_ptr<const Module>>& bodies() const { return module_.bodies; }

  /// The module with these outputs; the builder is empty afterwards.
  Module finish(const std::vector<ValueId>& outputs, std::vector<std::string> names,
                std::vector<std::string> weight_files);

 private:
  friend Module with_definitions(Module module, std::shared_ptr<const CustomOps> operators);
  /// Goes on with a module without nodes and results. `names`: those that are given already.
  Builder(Module module, UniqueNames names, std::shared_ptr<const CustomOps> operators);
  std::vector<ValueId> add_named(Node node, const std::vector<std::string>& names);
  std::vector<ValueId> add_definition(Node node, const std::vector<std::string>& names);
  ValueId add_value(Value value, const std::string& name);
  ValueId add_port(ValueKind kind, std::string name, TensorType type);

  Module module_;
  std::shared_ptr<const CustomOps> operators_;
  UniqueNames names_;
  std::unique_ptr<Propagation> propagation_;
  SourceLocation location_;   ///< of the nodes that are added
  int definition_depth_ = 0;  ///< of definitions in definitions
};

/// True where a node is of an operator of the program with a definition.
bool needs_definitions(const Module& module);
/// The module, verified but without types, with types, and with what operators of the program are
/// defined by in place of their nodes.
Module with_definitions(Module module, std::shared_ptr<const CustomOps> operators);

}  // namespace dyn::graph
