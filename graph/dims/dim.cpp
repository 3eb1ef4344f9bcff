#include "graph/dims/dim.hpp"

#include <deque>
#include <functional>
#include <map>
#include <numeric>
#include <unordered_map>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "graph/dims/checked.hpp"
#include "graph/dims/interner.hpp"
#include "graph/dims/rules.hpp"

namespace dyn::graph {

struct DimTable::Impl {
  struct NodeKey {
    DimOp op;
    std::int64_t value;
    std::vector<Dim> operands;
    bool operator==(const NodeKey&) const = default;
  };

  struct NodeKeyHash {
    std::size_t operator()(const NodeKey& key) const {
      std::size_t hash =
          static_cast<std::size_t>(key.op) * 31 + std::hash<std::int64_t>()(key.value);
      for (Dim operand : key.operands)
        hash = hash * 1000003 + std::hash<const void*>()(operand.node());
      return hash;
    }
  };

  std::deque<DimNode> nodes;  ///< by id; a deque, so that nodes stay where they are
  std::vector<DimFacts> facts;
  std::unordered_map<NodeKey, Dim, NodeKeyHash> interned;
  std::vector<SymbolInfo> symbols;
  std::map<std::string, Dim, std::less<>> symbol_of_name;  ///< and named dims
  std::unordered_map<const DimNode*, std::string> names;   ///< of named dims
  int fresh_symbols = 0;
};

DimTable& Dim::table() const noexcept { return *node_->table; }

std::optional<std::int64_t> Dim::constant() const noexcept {
  if (!node_ || node_->op != DimOp::Constant) return std::nullopt;
  return node_->value;
}

std::optional<int> Dim::symbol() const noexcept {
  if (!node_ || node_->op != DimOp::Symbol) return std::nullopt;
  return static_cast<int>(node_->value);
}

Dim DimInterner::intern(DimTable& table, DimOp op, std::vector<Dim> operands, std::int64_t value) {
  DimTable::Impl& impl = *table.impl_;
  DimTable::Impl::NodeKey key{op, value, std::move(operands)};
  if (const auto found = impl.interned.find(key); found != impl.interned.end())
    return found->second;
  // May intern other nodes, so it comes before this node gets its id.
  const DimFacts facts = derive_facts(table, op, key.operands, value);
  const int id = static_cast<int>(impl.nodes.size());
  impl.nodes.push_back({op, value, key.operands, &table, id});
  impl.facts.push_back(facts);
  const Dim dim(&impl.nodes.back());
  impl.interned.emplace(std::move(key), dim);
  return dim;
}

const DimFacts& DimInterner::facts(Dim dim) {
  return dim.table().impl_->facts[static_cast<std::size_t>(dim.node()->id)];
}

void DimInterner::fail_too_large() {
  throw Error(ErrorKind::model,
              fmt::format("a dim's expression has more than {} parts", max_expression_size));
}

DimTable::DimTable() : impl_(std::make_unique<Impl>()) {}
DimTable::~DimTable() = default;

Dim DimTable::constant(std::int64_t value) {
  return DimInterner::intern(*this, DimOp::Constant, {}, value);
}

Dim DimTable::symbol(SymbolInfo info) {
  if (info.name.empty()) {
    do info.name = fmt::format("_{}", impl_->fresh_symbols++);
    while (find_symbol(info.name));
  }
  if (find_symbol(info.name))
    throw Error(ErrorKind::model, fmt::format("dim {} is defined twice", info.name));
  if (info.divisor < 1)
    throw Error(ErrorKind::model,
                fmt::format("dim {}: divisor {} is below 1", info.name, info.divisor));
  const auto index = static_cast<std::int64_t>(impl_->symbols.size());
  impl_->symbols.push_back(std::move(info));
  const Dim dim = DimInterner::intern(*this, DimOp::Symbol, {}, index);
  impl_->symbol_of_name.emplace(impl_->symbols.back().name, dim);
  return dim;
}

std::optional<Dim> DimTable::find_symbol(std::string_view name) const {
  const auto found = impl_->symbol_of_name.find(name);
  if (found == impl_->symbol_of_name.end()) return std::nullopt;
  return found->second;
}

const SymbolInfo& DimTable::info(int symbol) const {
  return impl_->symbols[static_cast<std::size_t>(symbol)];
}

void DimTable::refine(int symbol, std::int64_t low, std::int64_t high, std::int64_t divisor) {
  SymbolInfo& info = impl_->symbols[static_cast<std::size_t>(symbol)];
  info.low = std::max(info.low, low);
  info.high = std::min(info.high, high);
  info.divisor = saturating_multiply(info.divisor, divisor / std::gcd(info.divisor, divisor));
  for (std::size_t id = 0; id < impl_->nodes.size(); ++id) {
    const DimNode& node = impl_->nodes[id];
    impl_->facts[id] = derive_facts(*this, node.op, node.operands, node.value);
  }
}

void DimTable::define(int symbol) {
  impl_->symbols[static_cast<std::size_t>(symbol)].defined = true;
}

namespace {

/// FNV-1a, the same everywhere.
std::uint32_t hash_of(std::string_view text) {
  std::uint32_t hash = 2166136261U;
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 16777619U;
  return hash;
}

}  // namespace

Dim DimTable::named(Dim dim, const std::string& name) {
  const DimOp op = dim.node()->op;
  const bool is_atom = op == DimOp::Constant || op == DimOp::Symbol || op == DimOp::Named;
  const Dim result = is_atom ? dim : DimInterner::intern(*this, DimOp::Named, {dim});
  std::string own = name;
  if (own.empty() && (is_atom || impl_->names.contains(result.node()))) return result;
  if (own.empty()) own = fmt::format("size_{:08x}", hash_of(to_string(dim)));
  while (name.empty() && find_symbol(own)) own += '_';
  impl_->symbol_of_name.emplace(own, result);
  if (!is_atom) impl_->names.emplace(result.node(), own);
  return result;
}

const std::string& DimTable::name_of(Dim named) const { return impl_->names.at(named.node()); }

int DimTable::symbol_count() const { return static_cast<int>(impl_->symbols.size()); }
int DimTable::node_count() const { return static_cast<int>(impl_->nodes.size()); }
Dim DimTable::at(int id) const { return Dim(&impl_->nodes[static_cast<std::size_t>(id)]); }

Dim DimTable::add(Dim a, Dim b) { return apply_rules(*this, DimOp::Add, a, b); }
Dim DimTable::multiply(Dim a, Dim b) {
  // Terms multiply.
  constexpr std::size_t most_terms = 256;
  const auto terms = [](Dim dim) {
    return dim.node()->op == DimOp::Add ? dim.node()->operands.size() : 1;
  };
  if (terms(a) > 1 && terms(b) > 1 && terms(a) * terms(b) > most_terms)
    return apply_rules(*this, DimOp::Mul, named(a), named(b));
  return apply_rules(*this, DimOp::Mul, a, b);
}
Dim DimTable::floordiv(Dim a, Dim b) { return apply_rules(*this, DimOp::FloorDiv, a, b); }
Dim DimTable::mod(Dim a, Dim b) { return apply_rules(*this, DimOp::Mod, a, b); }
Dim DimTable::minimum(Dim a, Dim b) { return apply_rules(*this, DimOp::Min, a, b); }
Dim DimTable::maximum(Dim a, Dim b) { return apply_rules(*this, DimOp::Max, a, b); }

namespace {

using Memo = std::unordered_map<int, Dim>;

Dim substitute_memoized(DimTable& table, Dim dim, std::span<const Dim> replacement, Memo& memo) {
  const DimNode& node = *dim.node();
  if (const auto symbol = dim.symbol()) {
    const auto index = static_cast<std::size_t>(*symbol);
    return index < replacement.size() && replacement[index].valid() ? replacement[index] : dim;
  }
  if (node.operands.empty()) return dim;
  if (const auto found = memo.find(node.id); found != memo.end()) return found->second;
  if (node.op == DimOp::Named) {
    const Dim inner = substitute_memoized(table, node.operands[0], replacement, memo);
    return memo.emplace(node.id, inner == node.operands[0] ? dim : abbreviated(inner))
        .first->second;
  }
  Dim result = substitute_memoized(table, node.operands[0], replacement, memo);
  for (std::size_t i = 1; i < node.operands.size(); ++i)
    result = apply_rules(table, node.op, result,
                         substitute_memoized(table, node.operands[i], replacement, memo));
  memo.emplace(node.id, result);
  return result;
}

}  // namespace

Dim DimTable::substitute(Dim dim, std::span<const Dim> replacement) {
  Memo memo;
  for (const Dim named : named_parts(dim)) substitute_memoized(*this, named, replacement, memo);
  return substitute_memoized(*this, dim, replacement, memo);
}

Dim abbreviated(Dim dim) {
  return DimInterner::facts(dim).size > max_plain_size ? dim.table().named(dim) : dim;
}

std::vector<Dim> named_parts(Dim dim) {
  if (!DimInterner::facts(dim).has_names) return {};
  // Operands have smaller ids than their users: the order of ids is that of the computation.
  std::map<int, Dim> parts;
  std::vector<Dim> open{dim};
  while (!open.empty()) {
    const Dim next = open.back();
    open.pop_back();
    if (!DimInterner::facts(next).has_names) continue;
    const DimNode& node = *next.node();
    if (node.op == DimOp::Named && !parts.emplace(node.id, next).second) continue;
    open.insert(open.end(), node.operands.begin(), node.operands.end());
  }
  std::vector<Dim> list;
  for (const auto& [id, part] : parts) list.push_back(part);
  return list;
}

Dim operator+(Dim a, Dim b) { return a.table().add(a, b); }
Dim operator-(Dim a, Dim b) { return a + b * -1; }
Dim operator*(Dim a, Dim b) { return a.table().multiply(a, b); }
Dim operator+(Dim a, std::int64_t b) { return a + a.table().constant(b); }
Dim operator-(Dim a, std::int64_t b) { return a + saturating_negate(b); }
Dim operator*(Dim a, std::int64_t b) { return a * a.table().constant(b); }
Dim floordiv(Dim a, Dim b) { return a.table().floordiv(a, b); }
Dim mod(Dim a, Dim b) { return a.table().mod(a, b); }
Dim min(Dim a, Dim b) { return a.table().minimum(a, b); }
Dim max(Dim a, Dim b) { return a.table().maximum(a, b); }

}  // namespace dyn::graph
