#pragma once
// Modules made by hand, for tests.

#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "dyn/error.hpp"
#include "graph/ir/module.hpp"
#include "graph/ir/op.hpp"

namespace dyn::graph {

class ModuleBuilder {
 public:
  Module module;

  Dim c(std::int64_t value) { return module.dims->constant(value); }

  Dim symbol(const std::string& name, std::int64_t low = 1, std::int64_t high = 512,
             std::int64_t divisor = 1) {
    const Dim dim = module.dims->symbol({name, low, high, divisor, std::nullopt});
    module.declared_symbols.push_back(*dim.symbol());
    return dim;
  }
  /// A dim that the text writes as `_`.
  Dim fresh() { return module.dims->symbol({}); }

  std::vector<Dim> dims(std::initializer_list<std::int64_t> values) {
    std::vector<Dim> result;
    for (std::int64_t value : values) result.push_back(c(value));
    return result;
  }

  ValueId input(const std::string& name, std::vector<Dim> dims, DType dtype = DType::f32) {
    module.inputs.push_back(value(name, ValueKind::Input, {dtype, std::move(dims)}));
    return module.inputs.back();
  }
  ValueId weight(const std::string& name, std::vector<Dim> dims, DType dtype = DType::f32) {
    return value(name, ValueKind::Weight, {dtype, std::move(dims)});
  }
  ValueId scalar(double constant) {
    const ValueId id = value("", ValueKind::Constant, {DType::f32, {}});
    module.value(id).constant = constant;
    return id;
  }

  /// Appends a node, and returns its first result; the line is the node's number from 1.
  ValueId node(const std::string& op, std::vector<ValueId> inputs, std::vector<Attr> attrs = {},
               int outputs = 1) {
    Node node;
    node.op = find_op(op);
    node.inputs = std::move(inputs);
    node.attrs = std::move(attrs);
    const int index = static_cast<int>(module.nodes.size());
    node.location = {index + 1, 3};
    for (int i = 0; i < outputs; ++i) {
      const ValueId id = value("v" + std::to_string(module.values.size()), ValueKind::Result, {});
      module.value(id).producer = index;
      module.value(id).output_index = i;
      node.outputs.push_back(id);
    }
    module.nodes.push_back(node);
    return node.outputs[0];
  }

  void output(ValueId id) {
    module.outputs.push_back(id);
    module.output_names.push_back("out" + std::to_string(module.outputs.size()));
  }

  std::string type(ValueId id) const { return to_string(module.value(id).type); }

  /// Propagates; returns the error's message, or "" where there is none.
  std::string propagate() {
    try {
      propagate_shapes(module);
      verify(module);
      return "";
    } catch (const Error& error) {
      return error.kind() == ErrorKind::model ? error.message()
                                              : "not an Error(model): " + error.message();
    }
  }

  /// The type that one operator gives, or its error.
  std::string infer(const std::string& op, std::vector<ValueId> inputs,
                    std::vector<Attr> attrs = {}) {
    const ValueId result = node(op, std::move(inputs), std::move(attrs));
    const std::string error = propagate();
    return error.empty() ? type(result) : error;
  }

 private:
  ValueId value(const std::string& name, ValueKind kind, TensorType type) {
    Value value;
    value.name = name;
    value.kind = kind;
    value.type = std::move(type);
    module.values.push_back(std::move(value));
    return static_cast<ValueId>(module.values.size()) - 1;
  }
};

/// True where `part` is in `text`; shows the text where it is not.
inline bool contains(const std::string& text, const std::string& part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE("the text is: ", text);
  return found;
}

}  // namespace dyn::graph
