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

class Propagation;

/// Inputs come first, then nodes in the order of the computation, then finish(). Whoever builds can
/// ask for the type of every value so far, with all that is known of symbols by then: a later node
/// may replace a symbol by another dim, in all types before it too, so that dims that are kept
/// elsewhere must be asked for again (resolve()). Not thread-safe.
class Builder {
 public:
  /// `source_name` begins the messages of errors.
  Builder(std::string name, std::string source_name);
  ~Builder();
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  DimTable& dims() noexcept { return *module_.dims; }
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

  /// Declares a symbol. Must come before the first node, except for symbols that an operator's run
  /// defines.
  Dim symbol(SymbolInfo info);
  /// Adds an input; must come before the first node. No other value has the name `name`.
  ValueId input(std::string name, TensorType type);
  /// Adds a weight from the files. Its name, made unique from `name`, is its key there.
  ValueId weight(const std::string& name, TensorType type);
  /// Adds a weight with this element everywhere.
  ValueId splat(const std::string& name, TensorType type, double element);
  /// Scalars of rank 0.
  ValueId number(DType dtype, double value);
  ValueId integer(DType dtype, std::int64_t value);

  /// The results of a new node, as many as `names`, each made unique. Throws Error(model) for what
  /// verify() and shape inference refuse.
  std::vector<ValueId> add(std::string_view op, std::vector<ValueId> inputs,
                           std::vector<Attr> attrs, const std::vector<std::string>& names);
  /// Adds a node of an operator with one result.
  ValueId add(std::string_view op, std::vector<ValueId> inputs, const std::string& name,
              std::vector<Attr> attrs = {});

  /// A `loop` that is added later runs it. No other body has its name.
  void body(std::shared_ptr<const Module> body) { module_.bodies.push_back(std::move(body)); }
  const std::vector<std::shared_ptr<const Module>>& bodies() const { return module_.bodies; }

  /// The module with these outputs; the builder is empty afterwards.
  Module finish(const std::vector<ValueId>& outputs, std::vector<std::string> names,
                std::vector<std::string> weight_files);

 private:
  ValueId add_value(Value value, const std::string& name);

  Module module_;
  UniqueNames names_;
  std::unique_ptr<Propagation> propagation_;
};

}  // namespace dyn::graph
