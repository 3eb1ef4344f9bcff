#include "graph/shapes/unifier.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "graph/dims/checked.hpp"
#include "graph/ops/state_rules.hpp"

namespace dyn::graph {

namespace {

bool contains(Dim dim, int symbol) {
  bool found = false;
  for_each_symbol(dim, [&](int each) { found = found || each == symbol; });
  return found;
}

/// sum == 0 without factors that cannot be 0.
Polynomial reduced_equation(Polynomial sum) {
  Term factor = common_factor(sum);
  std::erase_if(factor.atoms, [](Dim atom) { return bounds(atom).low <= 0; });
  return divide_exactly(sum, factor);
}

std::string describe(const SymbolInfo& info) {
  std::string text = fmt::format("dim {} is in {}..", info.name, info.low);
  if (info.high != int64_max) text += std::to_string(info.high);
  if (info.divisor != 1) text += fmt::format(" and a multiple of {}", info.divisor);
  return text;
}

/// The facts about those dims that are just a symbol.
std::string describe_symbols(const DimTable& table, std::initializer_list<Dim> dims) {
  std::string text;
  for (Dim dim : dims)
    if (const auto symbol = dim.symbol())
      text += (text.empty() ? "" : ", ") + describe(table.info(*symbol));
  return text;
}

}  // namespace

Unifier::Unifier(Module& module) : module_(module) {
  const auto symbols = static_cast<std::size_t>(module.dims->symbol_count());
  declared_.resize(symbols);
  given_.resize(symbols);
  replacement_.resize(symbols);
  for (int symbol : module.declared_symbols) declared_[static_cast<std::size_t>(symbol)] = true;
  for (ValueId input : module.inputs)
    for (Dim dim : module.value(input).type.dims) mark_given(dim);
  for_each_session_symbol(module,
                          [this](int symbol) { given_[static_cast<std::size_t>(symbol)] = true; });
}

void Unifier::add_symbols() {
  const auto known = declared_.size(),
             symbols = static_cast<std::size_t>(module_.dims->symbol_count());
  if (known == symbols) return;
  declared_.resize(symbols);
  given_.resize(symbols);
  replacement_.resize(symbols);
  for (int symbol : module_.declared_symbols) declared_[static_cast<std::size_t>(symbol)] = true;
}

void Unifier::mark_given(Dim dim) {
  for_each_symbol(dim, [&](int symbol) { given_[static_cast<std::size_t>(symbol)] = true; });
}

bool Unifier::is_replaced(int symbol) const {
  return replacement_[static_cast<std::size_t>(symbol)].valid();
}

Dim Unifier::resolve(Dim dim) const {
  return replaced_.empty() || !dim.valid() ? dim : module_.dims->substitute(dim, replacement_);
}

Unifier::Freedom Unifier::freedom(int symbol) const {
  if (!declared_[static_cast<std::size_t>(symbol)]) return Freedom::Fresh;
  return given_[static_cast<std::size_t>(symbol)] ? Freedom::Given : Freedom::NotGiven;
}

/// Solves for the term's symbol, where it stands in no other term and the coefficient divides
/// theirs.
std::optional<Unifier::Solution> Unifier::solve_for(const Polynomial& zero,
                                                    std::size_t term) const {
  const Term& chosen = zero[term];
  const std::optional<int> symbol =
      chosen.atoms.size() == 1 ? chosen.atoms[0].symbol() : std::nullopt;
  if (!symbol) return std::nullopt;
  Polynomial rest = zero;
  rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(term));
  for (Term& each : rest) {
    if (each.coefficient % chosen.coefficient != 0) return std::nullopt;
    each.coefficient = saturating_negate(each.coefficient / chosen.coefficient);
  }
  const Dim value = from_polynomial(*module_.dims, rest);
  const bool simple = value.constant() || value.symbol();
  if (contains(value, *symbol) || (!simple && freedom(*symbol) == Freedom::Given))
    return std::nullopt;
  return Solution{*symbol, value};
}

/// Takes the freest symbol first, and among equally free ones the one declared last.
std::optional<Unifier::Solution> Unifier::solve(const Polynomial& zero) const {
  std::optional<Solution> best;
  for (std::size_t i = 0; i < zero.size(); ++i) {
    const std::optional<Solution> solution = solve_for(zero, i);
    if (!solution) continue;
    const auto key = [&](int symbol) { return std::pair(freedom(symbol), symbol); };
    if (!best || key(best->symbol) < key(solution->symbol)) best = solution;
  }
  return best;
}

/// Gives `by` the facts of `replaced`; returns the contradiction where it cannot have them.
std::optional<std::string> Unifier::narrow(const SymbolInfo& replaced, Dim by) {
  DimTable& table = *module_.dims;
  const auto demand = [&](Constraint::Kind kind, Dim left, Dim right, std::optional<bool> proof) {
    if (!proof)
      constraints_.push_back(
          {kind, left, right, to_string(left), to_string(right), describe(replaced)});
    return proof != false;
  };
  const Dim low = table.constant(replaced.low), high = table.constant(replaced.high);
  const bool fits = demand(Constraint::Kind::LessEqual, low, by, prove_less_equal(low, by)) &&
                    (replaced.high == int64_max ||
                     demand(Constraint::Kind::LessEqual, by, high, prove_less_equal(by, high))) &&
                    demand(Constraint::Kind::Multiple, by, table.constant(replaced.divisor),
                           prove_multiple(by, replaced.divisor));
  if (fits) return std::nullopt;
  return fmt::format("{}, which {} is not", describe(replaced), to_string(by));
}

std::optional<std::string> Unifier::replace(Solution solution) {
  DimTable& table = *module_.dims;
  const SymbolInfo info = table.info(solution.symbol);
  if (const auto symbol = solution.value.symbol()) {
    const SymbolInfo other = table.info(*symbol);
    table.refine(*symbol, info.low, info.high, info.divisor);
    const Interval range = bounds(solution.value);
    if (range.low > range.high)
      return fmt::format("{}, but {}: no size is both", describe(info), describe(other));
  } else if (auto contradiction = narrow(info, solution.value)) {
    return contradiction;
  }
  const auto index = static_cast<std::size_t>(solution.symbol);
  replacement_[index] = solution.value;
  replaced_.emplace_back(solution.symbol, solution.value);
  if (given_[index]) mark_given(solution.value);
  for (Dim& each : replacement_)
    if (each.valid()) each = resolve(each);
  for (auto& [symbol, by] : replaced_) by = replacement_[static_cast<std::size_t>(symbol)];
  for (Constraint& constraint : constraints_) {
    constraint.left = resolve(constraint.left);
    constraint.right = resolve(constraint.right);
  }
  return std::nullopt;
}

Unifier::Outcome Unifier::unify(Dim a, Dim b) {
  const std::optional<bool> equal = prove_equal(a, b);
  if (equal == true) return {Answer::Equal, ""};
  if (equal == false) return {Answer::Contradiction, describe_symbols(*module_.dims, {a, b})};
  // A dim that a run defines never equals a declared dim beforehand: the sizes are compared when
  // the operator has run.
  bool defined = false;
  for (const Dim dim : {a, b})
    for_each_symbol(dim,
                    [&](int symbol) { defined = defined || module_.dims->info(symbol).defined; });
  if (defined) return {Answer::Unknown, ""};
  const std::optional<Solution> solution = solve(reduced_equation(to_polynomial(a - b)));
  if (!solution) return {Answer::Unknown, ""};
  const std::optional<std::string> contradiction = replace(*solution);
  if (contradiction) return {Answer::Contradiction, *contradiction};
  return {Answer::Equal, ""};
}

}  // namespace dyn::graph
