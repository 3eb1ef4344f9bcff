#include "graph/ir/op.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "graph/ops/families.hpp"
#include "graph/ops/recurrence.hpp"

namespace dyn::graph {

namespace {

std::vector<OpDef> make_registry() {
  std::vector<OpDef> ops;
  for (auto family : {elementwise_ops, reduction_ops, normalization_ops, block_ops, contraction_ops,
                      view_ops, indexed_ops, state_ops, conv_pool_ops, host_ops, defining_ops,
                      recurrence_ops, linear_attention_ops, tree_ops, loop_ops})
    std::ranges::move(family(), std::back_inserter(ops));
  for (OpDef& op : ops) op.name = name_of(op.id);
  std::ranges::sort(ops, {}, &OpDef::name);
  return ops;
}

/// Integers of a default such as "-1", "[]" or "[0, 1]".
std::vector<std::int64_t> parse_integers(std::string_view text) {
  std::vector<std::int64_t> numbers;
  for (std::size_t i = 0; i < text.size();) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data() + i, text.data() + text.size(), number);
    if (error == std::errc()) {
      numbers.push_back(number);
      i = static_cast<std::size_t>(end - text.data());
    } else {
      ++i;
    }
  }
  return numbers;
}

double parse_double(std::string_view text) {
  double number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

[[noreturn]] void wrong_kind(const Node& node, std::string_view name) {
  throw Error(ErrorKind::internal,
              fmt::format("{}: attribute {} has another kind", node.op->name, name));
}

/// The attribute's default text, for attributes that a node leaves out.
const std::string& default_of(const Node& node, std::string_view name) {
  const AttrDef* def = node.op->find_attr(name);
  if (!def || !def->default_text)
    throw Error(ErrorKind::internal, fmt::format("{}: no attribute {}", node.op->name, name));
  return *def->default_text;
}

template <class T>
const T* attr_as(const Node& node, std::string_view name) {
  const AttrValue* value = node.find_attr(name);
  if (!value) return nullptr;
  const T* typed = std::get_if<T>(value);
  if (!typed) wrong_kind(node, name);
  return typed;
}

std::int64_t constant_of(const Node& node, std::string_view name, Dim dim) {
  const std::optional<std::int64_t> value = dim.constant();
  if (!value) wrong_kind(node, name);
  return *value;
}

}  // namespace

std::span<const OpDef> all_ops() {
  static const std::vector<OpDef> registry = make_registry();
  return registry;
}

std::string_view name_of(OpId op) {
  static constexpr std::string_view names[] = {
#define DYN_SCALAR_OP(name, text, ...) text,
#include "graph/ops/scalar_ops.def"
#define DYN_OP(name, text) text,
#include "graph/ops/operators.def"
  };
  return names[static_cast<std::size_t>(op)];
}

const OpDef* find_op(std::string_view name) {
  const std::span<const OpDef> ops = all_ops();
  const auto found = std::ranges::lower_bound(ops, name, {}, &OpDef::name);
  return found != ops.end() && found->name == name ? &*found : nullptr;
}

const AttrDef* OpDef::find_attr(std::string_view attr) const {
  const auto found = std::ranges::find(attrs, attr, &AttrDef::name);
  return found == attrs.end() ? nullptr : &*found;
}

bool attr_boolean(const Node& node, std::string_view name) {
  const bool* value = attr_as<bool>(node, name);
  return value ? *value : default_of(node, name) == "true";
}

double attr_number(const Node& node, std::string_view name) {
  const AttrValue* value = node.find_attr(name);
  if (!value) return parse_double(default_of(node, name));
  if (const Dim* integer = std::get_if<Dim>(value))
    return static_cast<double>(constant_of(node, name, *integer));
  return *attr_as<double>(node, name);
}

std::string attr_word(const Node& node, std::string_view name) {
  const std::string* value = attr_as<std::string>(node, name);
  return value ? *value : default_of(node, name);
}

std::int64_t attr_integer(const Node& node, std::string_view name) {
  const Dim* value = attr_as<Dim>(node, name);
  return value ? constant_of(node, name, *value) : parse_integers(default_of(node, name)).at(0);
}

Dim attr_dim(const Module& module, const Node& node, std::string_view name) {
  const Dim* value = attr_as<Dim>(node, name);
  return value ? *value : module.dims->constant(parse_integers(default_of(node, name)).at(0));
}

std::vector<std::int64_t> attr_integers(const Node& node, std::string_view name) {
  const std::vector<Dim>* value = attr_as<std::vector<Dim>>(node, name);
  if (!value) return parse_integers(default_of(node, name));
  std::vector<std::int64_t> numbers;
  for (Dim dim : *value) numbers.push_back(constant_of(node, name, dim));
  return numbers;
}

std::vector<Dim> attr_dims(const Module& module, const Node& node, std::string_view name) {
  if (const std::vector<Dim>* value = attr_as<std::vector<Dim>>(node, name)) return *value;
  std::vector<Dim> dims;
  for (std::int64_t number : parse_integers(default_of(node, name)))
    dims.push_back(module.dims->constant(number));
  return dims;
}

bool InferContext::boolean(std::string_view name) const { return attr_boolean(node(), name); }
double InferContext::number(std::string_view name) const { return attr_number(node(), name); }
std::string InferContext::word(std::string_view name) const { return attr_word(node(), name); }
std::int64_t InferContext::integer(std::string_view name) const {
  return attr_integer(node(), name);
}
Dim InferContext::dim(std::string_view name) const { return attr_dim(module(), node(), name); }
std::vector<std::int64_t> InferContext::integers(std::string_view name) const {
  return attr_integers(node(), name);
}
std::vector<Dim> InferContext::dim_list(std::string_view name) const {
  return attr_dims(module(), node(), name);
}

bool reads_memory(const Module& module, const Node& node, std::size_t input) {
  if (node.op->op_class == OpClass::Recurrence) return !is_plain_input(module, node, input);
  return contracts(node.op->op_class) || node.op->op_class == OpClass::Host ||
         (input == 0 && (node.op->id == OpId::Gather || node.op->id == OpId::Windows));
}

std::vector<int> defined_symbols(const Module& module, const Node& node) {
  std::vector<int> symbols;
  const auto is_of_input = [&](Dim dim) {
    return std::ranges::any_of(node.inputs, [&](ValueId id) {
      return std::ranges::find(module.value(id).type.dims, dim) != module.value(id).type.dims.end();
    });
  };
  const auto add = [&](Dim dim) {
    const std::optional<int> symbol = dim.symbol();
    if (symbol && !is_of_input(dim) && module.dims->info(*symbol).defined &&
        std::ranges::find(symbols, *symbol) == symbols.end())
      symbols.push_back(*symbol);
  };
  for (const std::string& name : node.op->defines) {
    const AttrDef* def = node.op->find_attr(name);
    if (def->kind == AttrKind::Dim)
      add(attr_dim(module, node, name));
    else
      for (const Dim dim : attr_dims(module, node, name)) add(dim);
  }
  return symbols;
}

ValueId viewed(const Node& view) { return view.inputs[view.op->id == OpId::Append ? 1 : 0]; }

std::optional<int> normalize_axis(std::int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) return std::nullopt;
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

}  // namespace dyn::graph
