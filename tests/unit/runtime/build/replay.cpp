#include "tests/unit/runtime/build/replay.hpp"

#include <map>

#include "graph/ir/op.hpp"
#include "graph/text/text.hpp"

namespace dyn::testing {
namespace {

using graph::DimOp;
using graph::ValueKind;

class Replay {
 public:
  explicit Replay(const graph::Module& module) : module_(module), builder_(module.name) {}

  Builder run() {
    declare_dims();
    for (const std::string& file : module_.weight_files) builder_.weight_file(file);
    for (std::size_t i = 0; i < module_.values.size(); ++i) {
      const graph::Value& value = module_.values[i];
      if (value.kind != ValueKind::Result) values_.emplace(i, declared(value));
    }
    for (const graph::Node& node : module_.nodes) add(node);
    for (std::size_t i = 0; i < module_.outputs.size(); ++i)
      builder_.output(module_.output_names[i], at(module_.outputs[i]));
    return builder_;
  }

 private:
  /// In the order of the table, as the text declares them.
  void declare_dims() {
    std::vector<bool> declared(static_cast<std::size_t>(module_.dims->symbol_count()));
    for (const int symbol : module_.declared_symbols)
      declared[static_cast<std::size_t>(symbol)] = true;
    std::vector<bool> is_replaced(declared.size());
    for (const auto& [symbol, by] : module_.replaced_symbols)
      is_replaced[static_cast<std::size_t>(symbol)] = true;
    for (std::size_t i = 0; i < declared.size(); ++i) {
      const graph::SymbolInfo& info = module_.dims->info(static_cast<int>(i));
      if (is_replaced[i])
        symbols_.emplace_back(0);  // nothing has it any more
      else if (declared[i])
        symbols_.push_back(builder_.dim(info.name, {info.low, info.high, info.divisor, info.hint}));
      else
        symbols_.push_back(builder_.dim());
    }
  }

  Dim dim(graph::Dim dim) const {
    if (const auto value = dim.constant()) return *value;
    const graph::DimNode& node = *dim.node();
    const auto operand = [&](std::size_t i) { return this->dim(node.operands[i]); };
    switch (node.op) {
      case DimOp::Symbol: return symbols_[static_cast<std::size_t>(node.value)];
      case DimOp::FloorDiv: return floordiv(operand(0), operand(1));
      case DimOp::Mod: return mod(operand(0), operand(1));
      case DimOp::Min: return min(operand(0), operand(1));
      case DimOp::Max: return max(operand(0), operand(1));
      case DimOp::Named: return operand(0);
      default: break;
    }
    Dim result = operand(0);
    for (std::size_t i = 1; i < node.operands.size(); ++i)
      result = node.op == DimOp::Add ? result + operand(i) : result * operand(i);
    return result;
  }

  Dims dims(const std::vector<graph::Dim>& from) const {
    Dims dims;
    for (const graph::Dim each : from) dims.push_back(dim(each));
    return dims;
  }

  Value declared(const graph::Value& value) {
    const DType dtype = value.type.dtype;
    Shape shape;
    for (const graph::Dim size : value.type.dims) shape.push_back(size.constant().value_or(0));
    switch (value.kind) {
      case ValueKind::Input: return builder_.input(value.name, dtype, dims(value.type.dims));
      case ValueKind::State: return builder_.state(value.name, dtype, dims(value.type.dims));
      case ValueKind::Constant:
        if (dtype == DType::boolean) return value.integer != 0;
        return is_float(dtype) ? Value::number(dtype, value.constant)
                               : Value::number(dtype, value.integer);
      default: break;
    }
    if (value.weight.kind == graph::WeightSource::Kind::Splat)
      return builder_.splat(value.name, dtype, shape, value.weight.splat);
    if (value.weight.kind == graph::WeightSource::Kind::Random)
      return builder_.random(value.name, dtype, shape, value.weight.seed);
    return builder_.weight(value.name, dtype, shape);
  }

  AttributeValue attribute(const graph::AttrValue& value) const {
    if (const bool* truth = std::get_if<bool>(&value)) return *truth;
    if (const double* number = std::get_if<double>(&value)) return *number;
    if (const auto* word = std::get_if<std::string>(&value)) return *word;
    if (const auto* size = std::get_if<graph::Dim>(&value)) return dim(*size);
    return dims(std::get<std::vector<graph::Dim>>(value));
  }

  void add(const graph::Node& node) {
    Values inputs;
    for (const graph::ValueId id : node.inputs) inputs.push_back(at(id));
    Attributes attributes;
    for (const graph::Attr& attr : node.attrs)
      attributes.push_back({attr.name, attribute(attr.value)});
    const Values results = builder_.ops(node.op->name, inputs, attributes, node.outputs.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      results[i].named(module_.value(node.outputs[i]).name);
      values_.emplace(node.outputs[i], results[i]);
    }
  }

  const Value& at(graph::ValueId id) const { return values_.at(static_cast<std::size_t>(id)); }

  const graph::Module& module_;
  Builder builder_;
  std::vector<Dim> symbols_;
  std::map<std::size_t, Value> values_;
};

}  // namespace

Builder replayed(const graph::Module& module) { return Replay(module).run(); }

std::string text_without_claims(graph::Module module) {
  module.output_types.clear();
  return print(module);
}

}  // namespace dyn::testing
