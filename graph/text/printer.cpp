// The canonical text of a module: one node per statement, defaults left out.

#include <string_view>
#include <unordered_set>

#include <fmt/format.h>

#include "graph/ir/op.hpp"
#include "graph/ir/scalars.hpp"
#include "graph/text/attribute_text.hpp"
#include "graph/text/lexer.hpp"
#include "graph/text/literals.hpp"
#include "graph/text/text.hpp"

namespace dyn::graph {
namespace {

struct Infix {
  OpId op;
  std::string_view symbol;
};
constexpr Infix infix_operators[] = {
    {OpId::Add, "+"}, {OpId::Sub, "-"}, {OpId::Mul, "*"}, {OpId::Div, "/"}};

/// Prints the one element of a weight that is the same everywhere.
std::string element(DType dtype, double value) {
  const std::string text = format_number(value);
  return is_float(dtype) || !text.ends_with(".0") ? text : text.substr(0, text.size() - 2);
}

class Printer {
 public:
  explicit Printer(const Module& module) : module_(module) {}

  /// The whole file.
  std::string print() {
    out_ += fmt::format("dyn {}\n", text_version);
    if (!module_.bodies.empty()) print_weight_files();
    for (const std::shared_ptr<const Module>& body : module_.bodies) {
      out_ += Printer(*body).print_module("body");
      out_ += '\n';
    }
    print_module("graph", module_.bodies.empty());
    return std::move(out_);
  }

 private:
  std::string print_module(std::string_view word, bool names_files = false) {
    choose_value_names();
    choose_dim_names();
    print_header(names_files);
    print_signature(word);
    for (const Node& node : module_.nodes) print_node(node);
    out_ += "  return ";
    for (std::size_t i = 0; i < module_.outputs.size(); ++i) {
      if (i > 0) out_ += ", ";
      const Value& value = module_.value(module_.outputs[i]);
      out_ += value.kind == ValueKind::Constant ? literal(value, std::nullopt)
                                                : reference(module_.outputs[i]);
    }
    out_ += "\n}\n";
    return out_;
  }

  void choose_value_names();
  void choose_dim_names();
  void name_dims_of(Dim dim);
  void visit_dim(Dim dim);
  void print_named_dims();
  void print_weight_files();
  void print_header(bool names_files);
  void print_signature(std::string_view word);
  void print_texts(const Texts& texts);
  std::string source(const Value& weight) const;
  void print_node(const Node& node);
  std::string operand(const Node& node, std::size_t index);
  std::string reference(ValueId id);
  std::string type(const TensorType& type) const;
  std::string literal(const Value& value, std::optional<DType> context) const;
  std::optional<DType> context_of(const Node& node, std::size_t index) const;

  const Module& module_;
  std::string out_;
  std::vector<std::string> names_;  ///< by ValueId, as the text writes them
  std::vector<bool> is_declared_;   ///< by ValueId: the weight's type has been written
  std::vector<int> direct_uses_;    ///< by symbol: dims of inputs that are just this symbol
  std::vector<bool> needs_name_;    ///< by symbol: `_` would not do
  std::vector<bool> visited_dims_;  ///< by node id
};

/// Keeps unique names; results of passes may come without one and get the operator's, numbered.
void Printer::choose_value_names() {
  std::unordered_set<std::string> taken;
  for (const Value& value : module_.values) {
    if (value.kind != ValueKind::Result && value.kind != ValueKind::Constant)
      taken.insert(value.name);
  }
  std::vector<ValueId> nameless;
  names_.resize(module_.values.size());
  is_declared_.resize(module_.values.size());
  for (std::size_t i = 0; i < module_.values.size(); ++i) {
    const Value& value = module_.values[i];
    if (value.kind == ValueKind::Result &&
        (value.name.empty() || !taken.insert(value.name).second)) {
      nameless.push_back(static_cast<ValueId>(i));
    } else {
      names_[i] = quote_name(value.name);
    }
  }
  for (const ValueId id : nameless) {
    const Value& value = module_.value(id);
    const std::string base = value.producer < 0
                                 ? "value"
                                 : module_.nodes[static_cast<std::size_t>(value.producer)].op->name;
    std::string name = fmt::format("{}_{}", base, id);
    while (!taken.insert(name).second) name += '_';
    names_[static_cast<std::size_t>(id)] = quote_name(name);
  }
}

void Printer::name_dims_of(Dim dim) {
  for (const Dim named : named_parts(dim)) visit_dim(named);
  visit_dim(dim);
}

void Printer::visit_dim(Dim dim) {
  if (visited_dims_[static_cast<std::size_t>(dim.node()->id)]) return;
  visited_dims_[static_cast<std::size_t>(dim.node()->id)] = true;
  if (const std::optional<int> symbol = dim.symbol())
    needs_name_[static_cast<std::size_t>(*symbol)] = true;
  for (const Dim operand : dim.node()->operands) visit_dim(operand);
}

/// The expressions that have a name, each after those that it is made of.
void Printer::print_named_dims() {
  for (std::size_t id = 0; id < visited_dims_.size(); ++id) {
    const Dim dim = module_.dims->at(static_cast<int>(id));
    if (visited_dims_[id] && dim.node()->op == DimOp::Named)
      out_ += fmt::format("dim {} = {}\n", module_.dims->name_of(dim),
                          to_string(dim.node()->operands[0]));
  }
}

/// A symbol without declaration that is one dim of one input and nothing else is written `_`.
void Printer::choose_dim_names() {
  direct_uses_.resize(static_cast<std::size_t>(module_.dims->symbol_count()));
  needs_name_.resize(direct_uses_.size());
  visited_dims_.resize(static_cast<std::size_t>(module_.dims->node_count()));
  for (const ValueId id : module_.inputs) {
    for (const Dim dim : module_.value(id).type.dims) {
      const std::optional<int> symbol = dim.symbol();
      if (!symbol || ++direct_uses_[static_cast<std::size_t>(*symbol)] > 1) name_dims_of(dim);
    }
  }
  for (const ValueId id : module_.states) {
    for (const Dim dim : module_.value(id).type.dims) name_dims_of(dim);
  }
  for (const TensorType& type : module_.output_types) {
    for (const Dim dim : type.dims) {
      if (dim.valid()) name_dims_of(dim);
    }
  }
  // Without declarations the signature shows the types of results, with the symbols that their dims
  // are made of.
  for (const ValueId id : module_.output_types.empty() ? module_.outputs : std::vector<ValueId>{}) {
    for (const Dim dim : module_.value(id).type.dims) {
      if (!dim.symbol()) name_dims_of(dim);
    }
  }
  for (const Node& node : module_.nodes) {
    for (const Attr& attr : node.attrs) {
      if (const Dim* dim = std::get_if<Dim>(&attr.value)) name_dims_of(*dim);
      if (const auto* dims = std::get_if<std::vector<Dim>>(&attr.value)) {
        for (const Dim dim : *dims) name_dims_of(dim);
      }
    }
  }
}

void Printer::print_weight_files() {
  for (const std::string& file : module_.weight_files)
    out_ += fmt::format("weights {}\n", quote_text(file));
}

void Printer::print_header(bool names_files) {
  std::vector<bool> declared(needs_name_.size());
  for (const int symbol : module_.declared_symbols)
    declared[static_cast<std::size_t>(symbol)] = true;
  // Symbols stand in the order of the table, which the order of terms in a dim's expression follows
  // too: so the text stays the same when it is read again.
  for (std::size_t i = 0; i < declared.size(); ++i) {
    const auto symbol = static_cast<int>(i);
    needs_name_[i] = needs_name_[i] || declared[i];
    if (!needs_name_[i]) continue;
    const SymbolInfo& info = module_.dims->info(symbol);
    const SymbolInfo unknown;
    out_ += "dim " + info.name;
    if (info.low != unknown.low || info.high != unknown.high) {
      out_ += fmt::format(" in {}..{}", info.low,
                          info.high == unknown.high ? "inf" : std::to_string(info.high));
    }
    if (info.divisor != 1) out_ += fmt::format(" multiple {}", info.divisor);
    if (info.hint) out_ += fmt::format(" hint {}", *info.hint);
    out_ += '\n';
  }
  print_named_dims();
  if (names_files) print_weight_files();
  for (std::size_t i = 0; i < module_.values.size(); ++i) {
    const Value& value = module_.values[i];
    if (value.kind != ValueKind::Weight || value.weight.kind == WeightSource::Kind::File) continue;
    out_ += fmt::format("weight {}: {} = ", names_[i], to_string(value.type));
    out_ += source(value);
    out_ += '\n';
    is_declared_[i] = true;
  }
  for (const ValueId id : module_.states) {
    out_ += fmt::format("state {}: {}\n", names_[static_cast<std::size_t>(id)],
                        to_string(module_.value(id).type));
  }
}

/// How a weight is made of others.
std::string kind_text(const WeightSource& source) {
  switch (source.kind) {
    case WeightSource::Kind::Blocks:
      return fmt::format("blocks of {} codes of {} bits", source.block, source.bits);
    case WeightSource::Kind::Padded: return "padded";
    case WeightSource::Kind::Codes: return "codes";
    case WeightSource::Kind::Scales: return "scales";
    case WeightSource::Kind::Sums: return "sums";
    default: return "parts";
  }
}

/// Names the source of a weight that is not from a file. The parser reads no parts: they are for
/// people.
std::string Printer::source(const Value& weight) const {
  switch (weight.weight.kind) {
    case WeightSource::Kind::Splat:
      return "splat " + element(weight.type.dtype, weight.weight.splat);
    case WeightSource::Kind::Random: return fmt::format("random {}", weight.weight.seed);
    case WeightSource::Kind::File:
    default: break;
  }
  std::string text = kind_text(weight.weight);
  for (const ValueId part : weight.weight.parts)
    text += " " + names_[static_cast<std::size_t>(part)];
  return text;
}

void Printer::print_signature(std::string_view word) {
  out_ += fmt::format("\n{} {}(", word, quote_name(module_.name));
  for (std::size_t i = 0; i < module_.inputs.size(); ++i) {
    const ValueId id = module_.inputs[i];
    out_ += fmt::format("{}{}: {}", i > 0 ? ", " : "", names_[static_cast<std::size_t>(id)],
                        type(module_.value(id).type));
    if (!module_.input_texts.empty()) print_texts(module_.input_texts[i]);
  }
  out_ += ") -> (";
  for (std::size_t i = 0; i < module_.outputs.size(); ++i) {
    const TensorType& declared = module_.output_types.empty()
                                     ? module_.value(module_.outputs[i]).type
                                     : module_.output_types[i];
    out_ += fmt::format("{}{}: {}", i > 0 ? ", " : "", quote_name(module_.output_names[i]),
                        type(declared));
    if (!module_.output_texts.empty()) print_texts(module_.output_texts[i]);
  }
  out_ += ") {\n";
}

void Printer::print_texts(const Texts& texts) {
  if (!texts) return;
  out_ += " of [";
  for (std::size_t i = 0; i < texts->size(); ++i)
    out_ += (i > 0 ? ", " : "") + quote_text((*texts)[i]);
  out_ += "]";
}

std::string Printer::type(const TensorType& type) const {
  std::string text = fmt::format("{}[", name_of(type.dtype));
  for (std::size_t i = 0; i < type.dims.size(); ++i) {
    const Dim dim = type.dims[i];
    if (i > 0) text += ", ";
    const bool named =
        dim.valid() && (!dim.symbol() || needs_name_[static_cast<std::size_t>(*dim.symbol())]);
    text += named ? to_string(dim) : "_";
  }
  return text + "]";
}

void Printer::print_node(const Node& node) {
  out_ += "  ";
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    out_ +=
        fmt::format("{}{}", i > 0 ? ", " : "", names_[static_cast<std::size_t>(node.outputs[i])]);
  }
  out_ += " = ";
  const std::string attrs = format_attributes(node);
  for (const Infix& infix : infix_operators) {
    if (infix.op != node.op->id || node.inputs.size() != 2 || !attrs.empty()) continue;
    const std::string left = operand(node, 0);
    out_ += fmt::format("{} {} {}\n", left, infix.symbol, operand(node, 1));
    return;
  }
  out_ += node.op->name + "(";
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    out_ += (i > 0 ? ", " : "") + operand(node, i);
  out_ += ")" + attrs + "\n";
}

std::string Printer::operand(const Node& node, std::size_t index) {
  const Value& value = module_.value(node.inputs[index]);
  return value.kind == ValueKind::Constant ? literal(value, context_of(node, index))
                                           : reference(node.inputs[index]);
}

std::string Printer::reference(ValueId id) {
  const auto index = static_cast<std::size_t>(id);
  const Value& value = module_.values[index];
  if (value.kind != ValueKind::Weight || is_declared_[index]) return names_[index];
  is_declared_[index] = true;
  return fmt::format("{}: {}", names_[index], to_string(value.type));
}

/// The dtype that the parser gives an open literal at this place; nothing: the dtype that its text
/// shows.
std::optional<DType> Printer::context_of(const Node& node, std::size_t index) const {
  if (keeps_own_dtype(*node.op, index)) return std::nullopt;
  std::optional<DType> common;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const Value& value = module_.value(node.inputs[i]);
    if (keeps_own_dtype(*node.op, i)) continue;
    if (value.kind != ValueKind::Constant) return value.type.dtype;
    if (!common) common = value.type.dtype;
    // Where literals have several dtypes and no tensor beside them, each shows its own.
    if (*common != value.type.dtype) return DType::boolean;
  }
  return std::nullopt;
}

std::string Printer::literal(const Value& value, std::optional<DType> context) const {
  const DType dtype = value.type.dtype;
  if (dtype == DType::boolean) return value.integer != 0 ? "true" : "false";
  const std::string text =
      is_float(dtype) ? format_number(value.constant) : integer_text(dtype, value.integer);
  const bool beyond_i64 = dtype == DType::u64 && value.integer < 0;
  const DType natural = is_float(dtype) ? DType::f32 : beyond_i64 ? DType::u64 : DType::i64;
  return context.value_or(natural) == dtype ? text : fmt::format("{}: {}", text, name_of(dtype));
}

}  // namespace

std::string print(const Module& module) { return Printer(module).print(); }

}  // namespace dyn::graph
