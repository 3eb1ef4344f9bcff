// Relations between dims that inference may ask for during propagation, and the conditions that
// remain.

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "graph/ir/diagnostic.hpp"
#include "graph/ops/state_rules.hpp"
#include "graph/shapes/propagate.hpp"

namespace dyn::graph {

namespace {

/// true: holds for all sizes; false: for none; nothing: to be checked when sizes are known.
std::optional<bool> decide(const Constraint& constraint) {
  const Dim &left = constraint.left, &right = constraint.right;
  switch (constraint.kind) {
    case Constraint::Kind::Equal: return prove_equal(left, right);
    case Constraint::Kind::LessEqual: return prove_less_equal(left, right);
    case Constraint::Kind::Multiple:
      if (right.constant().value_or(0) > 0) return prove_multiple(left, *right.constant());
      return floordiv(left, right) * right == left ? std::optional(true) : std::nullopt;
    case Constraint::Kind::NotEqual: {
      const std::optional<bool> equal = prove_equal(left, right);
      return equal ? std::optional(!*equal) : std::nullopt;
    }
    case Constraint::Kind::EqualOrOne: {
      const Dim one = left.table().constant(1);
      const std::optional<bool> cases[] = {prove_equal(left, right), prove_equal(left, one),
                                           prove_equal(right, one)};
      if (std::ranges::find(cases, std::optional(true)) != std::end(cases)) return true;
      return std::ranges::count(cases, std::optional(false)) == 3 ? std::optional(false)
                                                                  : std::nullopt;
    }
  }
  return std::nullopt;
}

bool is_symmetric(Constraint::Kind kind) {
  return kind == Constraint::Kind::Equal || kind == Constraint::Kind::EqualOrOne ||
         kind == Constraint::Kind::NotEqual;
}

/// True where they are equal because sizes are never negative: the operators that made them see to
/// that. What is left of a length and what was cut from it to be added there are often so.
bool are_one_size(Dim a, Dim b) {
  const Dim none = a.table().constant(0);
  return a == b || max(a, none) == max(b, none);
}

int id_of(Dim dim) { return dim.node()->id; }

/// A key that is equal for constraints that ask the same.
std::tuple<Constraint::Kind, int, int> identity(const Constraint& constraint) {
  const int left = id_of(constraint.left), right = id_of(constraint.right);
  if (is_symmetric(constraint.kind) && right < left) return {constraint.kind, right, left};
  return {constraint.kind, left, right};
}

}  // namespace

std::string to_string(const Constraint& constraint) {
  const auto side = [](const std::string& what, Dim dim) {
    const std::string value = to_string(dim);
    return what == value ? what : fmt::format("{}, which is {}", what, value);
  };
  std::string left = side(constraint.left_tensor, constraint.left);
  const std::string right = side(constraint.right_tensor, constraint.right);
  if (left != constraint.left_tensor) left += ",";
  switch (constraint.kind) {
    case Constraint::Kind::Equal: return fmt::format("{} must be equal to {}", left, right);
    case Constraint::Kind::LessEqual:
      return fmt::format("{} must not be greater than {}", left, right);
    case Constraint::Kind::Multiple: return fmt::format("{} must be a multiple of {}", left, right);
    case Constraint::Kind::NotEqual: return fmt::format("{} must not be {}", left, right);
    case Constraint::Kind::EqualOrOne:
      return fmt::format("{} must be equal to {}, or one of them 1", left, right);
  }
  return {};
}

SourceLocation Propagation::location() const {
  if (current_ >= 0) return node().location;
  return module_.outputs.empty() ? SourceLocation{} : module_.value(module_.outputs[0]).location;
}

std::string Propagation::who() const {
  const std::string name = current_ >= 0 ? node().op->name : "the graph's outputs";
  return location().line > 0 ? fmt::format("{} ({})", name, place_of(module_, location())) : name;
}

void Propagation::fail(const std::string& message) const {
  const std::string prefix =
      current_ >= 0 && !message.starts_with(node().op->name) ? node().op->name + ": " : "";
  fail_at(module_, location(), prefix + message);
}

void Propagation::record(Constraint::Kind kind, Dim left, Dim right, const std::string& left_what,
                         const std::string& right_what) {
  Constraint constraint{kind, left, right, left_what, right_what, ""};
  const std::optional<bool> holds = decide(constraint);
  if (holds == true) return;
  if (holds == false) fail(to_string(constraint));
  constraint.reason = who();
  auto& own = current_ >= 0 ? constraints_[static_cast<std::size_t>(current_)] : claim_constraints_;
  own.push_back(std::move(constraint));
}

void Propagation::require_equal(Dim a, Dim b, const std::string& a_what,
                                const std::string& b_what) {
  a = unifier_.resolve(a);
  b = unifier_.resolve(b);
  if (are_one_size(a, b)) return;
  const Unifier::Outcome outcome = unifier_.unify(a, b);
  if (outcome.answer == Unifier::Answer::Contradiction)
    fail(fmt::format("{} is {}, but {} is {}{}{}", a_what, to_string(a), b_what, to_string(b),
                     outcome.why.empty() ? "" : "; ", outcome.why));
  if (outcome.answer == Unifier::Answer::Unknown)
    record(Constraint::Kind::Equal, a, b, a_what, b_what);
}

Dim Propagation::broadcast(Dim a, Dim b, const std::string& a_what, const std::string& b_what) {
  a = unifier_.resolve(a);
  b = unifier_.resolve(b);
  const Dim one = dims().constant(1);
  if (a == b || b == one) return a;
  if (a == one) return b;
  if (are_one_size(a, b)) return a.node()->op == DimOp::Max ? b : a;
  const bool a_is_not_one = prove_equal(a, one) == false,
             b_is_not_one = prove_equal(b, one) == false;
  if (a_is_not_one && b_is_not_one) {
    require_equal(a, b, a_what, b_what);
    return unifier_.resolve(a);
  }
  // Where one side cannot be 1 and the two cannot be equal, the other has to be 1.
  const bool differ = prove_equal(a, b) == false;
  if (differ && (a_is_not_one || b_is_not_one)) {
    require_equal(a_is_not_one ? b : a, one, a_is_not_one ? b_what : a_what,
                  "the other side's dim needs 1");
    return unifier_.resolve(a_is_not_one ? a : b);
  }
  const Broadcast from_a = broadcast_of(a), from_b = broadcast_of(b);
  if (std::ranges::includes(from_a.operands, from_b.operands, {}, id_of, id_of)) return a;
  if (std::ranges::includes(from_b.operands, from_a.operands, {}, id_of, id_of)) return b;
  record(Constraint::Kind::EqualOrOne, a, b, a_what, b_what);
  if (a_is_not_one) return a;
  if (b_is_not_one) return b;
  return join(from_a, from_b);
}

Propagation::Broadcast Propagation::broadcast_of(Dim dim) const {
  const auto found = broadcasts_.find(dim.node());
  return found != broadcasts_.end() ? found->second : Broadcast{{dim}, dim, dim};
}

/// One form for all orders in which the same dims are broadcast, so that a dim which takes part
/// again and again does not grow: the dim that is not 1; 0 where one of them is 0.
Dim Propagation::join(const Broadcast& a, const Broadcast& b) {
  Broadcast joined{{}, max(a.greatest, b.greatest), min(a.least, b.least)};
  std::ranges::set_union(a.operands, b.operands, std::back_inserter(joined.operands), {}, id_of,
                         id_of);
  const Dim result = joined.greatest * min(dims().constant(1), joined.least);
  if (std::ranges::find(joined.operands, result) == joined.operands.end())
    broadcasts_.insert_or_assign(result.node(), std::move(joined));
  return result;
}

void Propagation::require_less_equal(Dim a, Dim b, const std::string& a_what,
                                     const std::string& b_what) {
  record(Constraint::Kind::LessEqual, unifier_.resolve(a), unifier_.resolve(b), a_what, b_what);
}

void Propagation::require_multiple(Dim a, Dim b, const std::string& what) {
  b = unifier_.resolve(b);
  record(Constraint::Kind::Multiple, unifier_.resolve(a), b, what, to_string(b));
}

void Propagation::require_other_than(Dim a, std::int64_t value, const std::string& what) {
  record(Constraint::Kind::NotEqual, unifier_.resolve(a), dims().constant(value), what,
         std::to_string(value));
}

/// Keeps each condition that is still to be checked, once. Conditions of an earlier propagation
/// stay, since the operator that asked may have been split since.
void Propagation::collect_constraints() {
  std::vector<Constraint> all = std::move(module_.constraints);
  all.insert(all.end(), unifier_.constraints().begin(), unifier_.constraints().end());
  for (const auto& own : constraints_) all.insert(all.end(), own.begin(), own.end());
  all.insert(all.end(), claim_constraints_.begin(), claim_constraints_.end());
  module_.constraints.clear();
  std::set<std::tuple<Constraint::Kind, int, int>> seen;
  for (const Constraint& constraint : all) {
    const std::optional<bool> holds = decide(constraint);
    if (holds == false)
      fail_at(module_, {}, fmt::format("{}: {}", constraint.reason, to_string(constraint)));
    if (!holds && seen.insert(identity(constraint)).second)
      module_.constraints.push_back(constraint);
  }
}

/// Every symbol that a run needs must be part of some input's dims, given by a session, or defined
/// by the run.
void Propagation::check_symbols() const {
  std::vector<bool> given(static_cast<std::size_t>(module_.dims->symbol_count()));
  for (ValueId input : module_.inputs)
    for (Dim dim : module_.value(input).type.dims)
      for_each_symbol(dim, [&](int symbol) { given[static_cast<std::size_t>(symbol)] = true; });
  for_each_session_symbol(module_,
                          [&](int symbol) { given[static_cast<std::size_t>(symbol)] = true; });
  const auto check = [&](Dim dim, SourceLocation where) {
    for_each_symbol(dim, [&](int symbol) {
      if (given[static_cast<std::size_t>(symbol)] || module_.dims->info(symbol).defined) return;
      fail_at(module_, where,
              fmt::format("no input has the dim {}, so that a run cannot know its value",
                          module_.dims->info(symbol).name));
    });
  };
  for (const Value& value : module_.values)
    for (Dim dim : value.type.dims) check(dim, value.location);
  for (const Node& node : module_.nodes)
    for (const Attr& attr : node.attrs) {
      if (const auto* dim = std::get_if<Dim>(&attr.value)) check(*dim, node.location);
      if (const auto* list = std::get_if<std::vector<Dim>>(&attr.value))
        for (Dim dim : *list) check(dim, node.location);
    }
}

}  // namespace dyn::graph
