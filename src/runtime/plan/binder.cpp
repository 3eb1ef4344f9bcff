#include "src/runtime/plan/binder.hpp"

#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dyn/error.hpp"
#include "src/runtime/plan/linear_dim.hpp"
#include "src/runtime/system/errors.hpp"

namespace dyn::runtime {
namespace {

using graph::Constraint;
using graph::Dim;

bool holds(Constraint::Kind kind, std::int64_t left, std::int64_t right) {
  switch (kind) {
    case Constraint::Kind::Equal: return left == right;
    case Constraint::Kind::EqualOrOne: return left == right || left == 1 || right == 1;
    case Constraint::Kind::LessEqual: return left <= right;
    case Constraint::Kind::Multiple: return right != 0 && left % right == 0;
    case Constraint::Kind::NotEqual: return left != right;
  }
  return false;
}

const char* requirement(Constraint::Kind kind) {
  switch (kind) {
    case Constraint::Kind::Equal: return "these must be equal";
    case Constraint::Kind::EqualOrOne: return "these must be equal, or one of them 1";
    case Constraint::Kind::LessEqual: return "the first must not be larger";
    case Constraint::Kind::Multiple: return "the first must be a multiple of the second";
    case Constraint::Kind::NotEqual: return "the first must be another size";
  }
  return "";
}

/// "S", or "S + 1" where it is an expression, with its value: "S + 1 = 8".
std::string with_value(Dim dim, std::int64_t value) {
  return dim.constant() ? std::to_string(value) : fmt::format("{} = {}", to_string(dim), value);
}

/// "mask (dim 1) is S = 7"; just "S = 7" where no tensor is named.
std::string side(const std::string& tensor, Dim dim, std::int64_t value) {
  return tensor.empty() ? with_value(dim, value)
                        : fmt::format("{} is {}", tensor, with_value(dim, value));
}

/// All symbols that the nodes' results and attributes depend on.
std::vector<bool> used_symbols(const graph::Module& module) {
  std::vector<bool> used(static_cast<std::size_t>(module.dims->symbol_count()));
  const auto mark_value = [&](graph::ValueId id) {
    for (const Dim dim : module.value(id).type.dims) mark_symbols(dim, used);
  };
  for (const graph::Node& node : module.nodes) {
    for (const graph::ValueId id : node.outputs) mark_value(id);
    for (const graph::Attr& attr : node.attrs) {
      if (const auto* dim = std::get_if<Dim>(&attr.value)) mark_symbols(*dim, used);
      if (const auto* dims = std::get_if<std::vector<Dim>>(&attr.value)) {
        for (const Dim one : *dims) mark_symbols(one, used);
      }
    }
  }
  for (const graph::ValueId id : module.inputs) mark_value(id);
  for (const graph::ValueId id : module.states) mark_value(id);
  if (module.length.valid()) mark_symbols(module.length, used), mark_symbols(module.growth, used);
  for (const graph::ValueId id : module.outputs) mark_value(id);
  for (const Constraint& constraint : module.constraints) {
    mark_symbols(constraint.left, used);
    mark_symbols(constraint.right, used);
  }
  return used;
}

}  // namespace

Binder::Binder(const graph::Module& module) : Binder(module, false) {}

Binder::Binder(const graph::Module& module, bool all_given)
    : module_(module), all_given_(all_given), used_(used_symbols(module)) {
  for (std::size_t i = 0; i < module.inputs.size(); ++i) {
    const std::vector<Dim>& dims = module.value(module.inputs[i]).type.dims;
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
      axes_.push_back(
          {static_cast<int>(i), static_cast<int>(axis), dims[axis], program_.slot(dims[axis])});
    }
  }
  in_session_.resize(used_.size(), all_given);
  for (std::size_t s = 0; s < used_.size(); ++s)
    defined_.push_back(module.dims->info(static_cast<int>(s)).defined);
  for (const graph::ValueId id : module.states) {
    for (const Dim dim : module.value(id).type.dims) mark_symbols(dim, in_session_);
  }
  if (module.length.valid()) mark_symbols(module.length, in_session_);
  find_rules();
  require_bound();
  for (const Constraint& constraint : module.constraints) {
    std::vector<bool> in_constraint(used_.size());
    mark_symbols(constraint.left, in_constraint);
    mark_symbols(constraint.right, in_constraint);
    bool later = false;
    for (std::size_t s = 0; s < used_.size(); ++s)
      later = later || (in_constraint[s] && defined_[s]);
    if (later)
      later_.push_back(&constraint);
    else
      checks_.push_back(
          {&constraint, program_.slot(constraint.left), program_.slot(constraint.right)});
  }
}

const Binder::Rule* Binder::rule_of(int symbol) const {
  for (const Rule& rule : rules_) {
    if (rule.symbol == symbol) return &rule;
  }
  return nullptr;
}

void Binder::find_rules() {
  const auto is_open = [this](int symbol) {
    return !is_given(static_cast<std::size_t>(symbol)) && rule_of(symbol) == nullptr;
  };
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const auto symbol = axes_[i].dim.symbol();
    if (symbol && is_open(*symbol)) rules_.push_back({*symbol, i, 1, 0});
  }
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const auto linear = as_linear(axes_[i].dim);
    if (linear && is_open(linear->symbol))
      rules_.push_back({linear->symbol, i, linear->factor, linear->constant});
  }
}

void Binder::require_bound() const {
  for (const Axis& axis : axes_) {
    std::vector<bool> in_axis(used_.size());
    mark_symbols(axis.dim, in_axis);
    for (std::size_t s = 0; s < in_axis.size(); ++s) {
      if (!in_axis[s] || is_given(s) || rule_of(static_cast<int>(s)) != nullptr) continue;
      throw Error(
          ErrorKind::unsupported,
          fmt::format(
              "dim {} cannot be found from {}, which is {}; give an input an axis that is just {}",
              module_.dims->info(static_cast<int>(s)).name, place(axis), to_string(axis.dim),
              module_.dims->info(static_cast<int>(s)).name));
    }
  }
  for (std::size_t s = 0; s < used_.size(); ++s) {
    if (!used_[s] || is_given(s) || rule_of(static_cast<int>(s)) != nullptr) continue;
    throw Error(
        ErrorKind::model,
        fmt::format(
            "dim {} is used, but no input has it in its shape, so its value cannot be known",
            module_.dims->info(static_cast<int>(s)).name));
  }
}

std::string Binder::place(const Axis& axis) const {
  return fmt::format("input '{}' (axis {})",
                     module_.value(module_.inputs[static_cast<std::size_t>(axis.input)]).name,
                     axis.axis);
}

std::string Binder::symbol_values(Dim dim, std::span<const std::int64_t> symbols) const {
  std::vector<bool> in_dim(used_.size());
  mark_symbols(dim, in_dim);
  std::string text;
  for (std::size_t s = 0; s < in_dim.size(); ++s) {
    if (!in_dim[s]) continue;
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ",
                        module_.dims->info(static_cast<int>(s)).name, symbols[s]);
  }
  return text;
}

void Binder::check_ranks(std::span<const Shape* const> shapes) const {
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const graph::Value& value = module_.value(module_.inputs[i]);
    if (shapes[i]->size() != value.type.dims.size()) {
      user_error(fmt::format("input '{}' has rank {}, shape {}, but the model's is {}", value.name,
                             shapes[i]->size(), to_string(*shapes[i]), to_string(value.type)));
    }
    for (const std::int64_t size : *shapes[i]) {
      if (size < 0)
        user_error(fmt::format("input '{}' has a negative size in its shape {}", value.name,
                               to_string(*shapes[i])));
    }
  }
}

void Binder::solve(std::span<const Shape* const> shapes, std::vector<std::int64_t>& symbols) const {
  for (const Rule& rule : rules_) {
    const Axis& axis = axes_[rule.axis];
    const std::int64_t size =
        (*shapes[static_cast<std::size_t>(axis.input)])[static_cast<std::size_t>(axis.axis)];
    std::int64_t rest = 0;
    if (__builtin_sub_overflow(size, rule.constant, &rest) || rest % rule.factor != 0) {
      user_error(fmt::format("{} is {}, which is {} for no {}", place(axis), size,
                             to_string(axis.dim), module_.dims->info(rule.symbol).name));
    }
    symbols[static_cast<std::size_t>(rule.symbol)] = rest / rule.factor;
  }
}

void Binder::check_symbols(std::span<const std::int64_t> symbols) const {
  for (std::size_t s = 0; s < symbols.size(); ++s) {
    if (used_[s] && !defined_[s]) check_symbol(static_cast<int>(s), symbols[s]);
  }
}

void Binder::check_symbol(int symbol, std::int64_t value) const {
  const graph::SymbolInfo& info = module_.dims->info(symbol);
  const Rule* rule = rule_of(symbol);
  const std::string where = rule == nullptr ? std::string() : " in " + place(axes_[rule->axis]);
  if (value < info.low || value > info.high) {
    const std::string bounds = info.high == std::numeric_limits<std::int64_t>::max()
                                   ? fmt::format("at least {}", info.low)
                                   : fmt::format("in {}..{}", info.low, info.high);
    user_error(fmt::format("dim {} is {}{}, but must be {}", info.name, value, where, bounds));
  }
  if (info.divisor > 1 && value % info.divisor != 0) {
    user_error(fmt::format("dim {} is {}{}, but must be a multiple of {}", info.name, value, where,
                           info.divisor));
  }
}

std::vector<std::int64_t> Binder::evaluate(std::span<const std::int64_t> symbols) const {
  std::vector<std::int64_t> values(static_cast<std::size_t>(program_.size()));
  program_.run(symbols, values);
  return values;
}

void Binder::check_axes(std::span<const Shape* const> shapes, std::span<const std::int64_t> symbols,
                        std::span<const std::int64_t> values) const {
  for (const Axis& axis : axes_) {
    const std::int64_t size =
        (*shapes[static_cast<std::size_t>(axis.input)])[static_cast<std::size_t>(axis.axis)];
    const std::int64_t expected = values[static_cast<std::size_t>(axis.slot)];
    if (size == expected) continue;
    if (const auto symbol = axis.dim.symbol()) {
      if (in_session_[static_cast<std::size_t>(*symbol)]) {
        user_error(fmt::format("dim {} is {} in this session, but {} in {}",
                               module_.dims->info(*symbol).name, expected, size, place(axis)));
      }
      user_error(fmt::format("dim {} is {} in {} but {} in {}", module_.dims->info(*symbol).name,
                             expected, place(axes_[rule_of(*symbol)->axis]), size, place(axis)));
    }
    if (axis.dim.constant())
      user_error(fmt::format("{} is {}, but the model says {}", place(axis), size, expected));
    user_error(fmt::format("{} is {}, but must be {} = {} ({})", place(axis), size,
                           to_string(axis.dim), expected, symbol_values(axis.dim, symbols)));
  }
}

void Binder::check_constraint(const Constraint& constraint, std::int64_t left, std::int64_t right) {
  if (holds(constraint.kind, left, right)) return;
  user_error(fmt::format(
      "{}: {}, but {}; {}", constraint.reason, side(constraint.left_tensor, constraint.left, left),
      side(constraint.right_tensor, constraint.right, right), requirement(constraint.kind)));
}

void Binder::check_constraints(std::span<const std::int64_t> values) const {
  for (const Check& check : checks_)
    check_constraint(*check.constraint, values[static_cast<std::size_t>(check.left_slot)],
                     values[static_cast<std::size_t>(check.right_slot)]);
}

void Binder::check_defined(std::span<const int> defined, std::span<const std::int64_t> symbols,
                           const std::vector<bool>& known) const {
  for (const int symbol : defined) check_symbol(symbol, symbols[static_cast<std::size_t>(symbol)]);
  for (const Constraint* constraint : later_) {
    std::vector<bool> in_constraint(used_.size());
    mark_symbols(constraint->left, in_constraint);
    mark_symbols(constraint->right, in_constraint);
    bool is_known = true, is_new = false;
    for (std::size_t s = 0; s < used_.size(); ++s)
      is_known = is_known && (!in_constraint[s] || known[s]);
    for (const int symbol : defined)
      is_new = is_new || in_constraint[static_cast<std::size_t>(symbol)];
    if (is_known && is_new)
      check_constraint(*constraint, graph::evaluate(constraint->left, symbols),
                       graph::evaluate(constraint->right, symbols));
  }
}

std::vector<std::int64_t> Binder::bind(std::span<const Shape* const> shapes,
                                       std::span<const std::int64_t> session) const {
  check_ranks(shapes);
  std::vector<std::int64_t> symbols(session.begin(), session.end());
  symbols.resize(used_.size());
  solve(shapes, symbols);
  // Axes come first: "7 here but 9 there" says more than that one of them is out of bounds.
  const std::vector<std::int64_t> values = evaluate(symbols);
  check_axes(shapes, symbols, values);
  check_symbols(symbols);
  check_constraints(values);
  return symbols;
}

std::string Binder::known_dims() const {
  std::vector<std::string_view> names;
  for (std::size_t s = 0; s < used_.size(); ++s) {
    if (used_[s]) names.push_back(module_.dims->info(static_cast<int>(s)).name);
  }
  return names.empty() ? "it has none" : fmt::format("it has {}", fmt::join(names, ", "));
}

bool Binder::is_needed(std::size_t symbol) const {
  const int id = static_cast<int>(symbol);
  return used_[symbol] && !defined_[symbol] && (!is_length(id) || module_.dims->info(id).hint);
}

std::vector<std::string> Binder::dims_without_value(
    const std::map<std::string, std::int64_t>& dims) const {
  std::vector<std::string> names;
  for (std::size_t s = 0; s < used_.size(); ++s) {
    const graph::SymbolInfo& info = module_.dims->info(static_cast<int>(s));
    if (is_needed(s) && !info.hint && !dims.contains(info.name)) names.push_back(info.name);
  }
  return names;
}

std::vector<std::int64_t> Binder::bind_dims(const std::map<std::string, std::int64_t>& dims) const {
  std::vector<std::int64_t> symbols(used_.size());
  for (const auto& [name, value] : dims) {
    if (!module_.dims->find_symbol(name))
      user_error(fmt::format("the model has no dim '{}'; {}", name, known_dims()));
  }
  for (std::size_t s = 0; s < symbols.size(); ++s) {
    const graph::SymbolInfo& info = module_.dims->info(static_cast<int>(s));
    const auto given = dims.find(info.name);
    if (given != dims.end()) {
      symbols[s] = given->second;
    } else if (is_needed(s)) {
      if (!info.hint)
        user_error(fmt::format("dim '{}' has no value and no hint; give it one", info.name));
      symbols[s] = *info.hint;
    }
  }
  check_symbols(symbols);
  check_constraints(evaluate(symbols));
  return symbols;
}

std::vector<Shape> Binder::input_shapes(std::span<const std::int64_t> symbols) const {
  std::vector<Shape> shapes(module_.inputs.size());
  const std::vector<std::int64_t> values = evaluate(symbols);
  for (const Axis& axis : axes_)
    shapes[static_cast<std::size_t>(axis.input)].push_back(
        values[static_cast<std::size_t>(axis.slot)]);
  return shapes;
}

}  // namespace dyn::runtime
