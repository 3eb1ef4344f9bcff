#include "graph/text/literals.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "graph/ir/diagnostic.hpp"
#include "graph/ir/scalars.hpp"

namespace dyn::graph {
namespace {

/// Runs one operator's inference only for the dtypes of its results: it ignores dims that do not
/// fit.
class DtypeContext final : public InferContext {
 public:
  DtypeContext(Module& module, const Node& node, const std::vector<TensorType>& types)
      : module_(module), node_(node), types_(types) {}

  const Module& module() const override { return module_; }
  DimTable& dims() override { return *module_.dims; }
  const Node& node() const override { return node_; }
  std::size_t input_count() const override { return node_.inputs.size(); }
  const TensorType& input(std::size_t index) const override {
    return types_[static_cast<std::size_t>(node_.inputs[index])];
  }
  void fail(const std::string& message) const override {
    fail_at(module_, node_.location, message);
  }
  void require_equal(Dim, Dim, const std::string&, const std::string&) override {}
  Dim broadcast(Dim a, Dim b, const std::string&, const std::string&) override {
    return a.constant() == 1 ? b : a;
  }
  void require_less_equal(Dim, Dim, const std::string&, const std::string&) override {}
  void require_multiple(Dim, Dim, const std::string&) override {}
  void require_other_than(Dim, std::int64_t, const std::string&) override {}

 private:
  Module& module_;
  const Node& node_;
  const std::vector<TensorType>& types_;
};

/// Inputs of an operator whose dtypes need not be one.
struct MixedInput {
  std::string_view op;
  std::size_t index;
};
constexpr MixedInput mixed_inputs[] = {{"where", 0}, {"gather", 1}};

/// Takes an integer of `from`, which is i64 or, beyond that, u64.
bool fits(std::int64_t value, DType from, DType to) {
  if (is_float(to)) return true;
  const bool is_beyond = from == DType::u64 && value < 0;
  if (is_beyond || to == DType::u64) return to == DType::u64 && (is_beyond || value >= 0);
  return wrapped(to, static_cast<std::uint64_t>(value)) == value;
}

void resolve_node(Module& module, const Node& node, const std::vector<bool>& open,
                  std::vector<TensorType>& types) {
  std::vector<LiteralOperand> operands;
  for (const ValueId input : node.inputs) {
    const auto id = static_cast<std::size_t>(input);
    operands.push_back({types[id].dtype, module.values[id].kind == ValueKind::Constant, open[id]});
  }
  const std::optional<DType> dtype = dtype_of_literals(*node.op, operands);
  for (std::size_t i = 0; i < node.inputs.size() && dtype; ++i) {
    const auto id = static_cast<std::size_t>(node.inputs[i]);
    if (!open[id] || keeps_own_dtype(*node.op, i)) continue;
    convert_literal(module, module.values[id], *dtype);
    types[id] = module.values[id].type;
  }
}

void infer_dtypes(Module& module, const Node& node, std::vector<TensorType>& types) {
  std::vector<TensorType> results(node.outputs.size());
  try {
    DtypeContext context(module, node, types);
    node.op->infer(context, results);
  } catch (const Error&) {
    // propagate_shapes reports what is wrong with this node; until then its results are like its
    // first input.
    results.assign(node.outputs.size(), node.inputs.empty()
                                            ? TensorType{}
                                            : types[static_cast<std::size_t>(node.inputs[0])]);
  }
  results.resize(node.outputs.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    types[static_cast<std::size_t>(node.outputs[i])] = std::move(results[i]);
  }
}

}  // namespace

bool keeps_own_dtype(const OpDef& op, std::size_t index) {
  if (op.id == OpId::Loop) return true;
  return std::any_of(
      std::begin(mixed_inputs), std::end(mixed_inputs),
      [&](const MixedInput& mixed) { return mixed.op == op.name && mixed.index == index; });
}

std::optional<DType> dtype_of_literals(const OpDef& op, std::span<const LiteralOperand> inputs) {
  const auto find = [&](auto&& matches) -> std::optional<DType> {
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (!keeps_own_dtype(op, i) && matches(inputs[i])) return inputs[i].dtype;
    return std::nullopt;
  };
  if (const auto found = find([](const LiteralOperand& input) { return !input.is_literal; }))
    return found;
  if (const auto found = find([](const LiteralOperand& input) { return !input.is_open; }))
    return found;
  return find([](const LiteralOperand& input) { return is_float(input.dtype); });
}

void convert_literal(const Module& module, Value& literal, DType dtype) {
  const DType from = literal.type.dtype;
  if (from == dtype) return;
  const auto fail = [&](const std::string& message) { fail_at(module, literal.location, message); };
  if (from == DType::boolean || dtype == DType::boolean) {
    fail(fmt::format("a {} literal stands beside {}; cast one of them", name_of(from),
                     name_of(dtype)));
  }
  if (is_float(from) && !is_float(dtype)) {
    fail(fmt::format("a float literal stands beside {}; cast one of them or write an integer",
                     name_of(dtype)));
  }
  if (!is_float(from) && !fits(literal.integer, from, dtype)) {
    fail(fmt::format("the integer {} does not fit into {}", integer_text(from, literal.integer),
                     name_of(dtype)));
  }
  if (!is_float(from) && is_float(dtype)) {
    literal.constant = as_number(from, literal.integer);
    literal.integer = 0;
  }
  literal.type.dtype = dtype;
}

void resolve_literals(Module& module, const std::vector<ValueId>& open_literals) {
  if (open_literals.empty()) return;
  std::vector<bool> open(module.values.size(), false);
  for (const ValueId id : open_literals) open[static_cast<std::size_t>(id)] = true;
  std::vector<TensorType> types;
  types.reserve(module.values.size());
  for (const Value& value : module.values) types.push_back(value.type);
  for (const Node& node : module.nodes) {
    resolve_node(module, node, open, types);
    infer_dtypes(module, node, types);
  }
}

}  // namespace dyn::graph
