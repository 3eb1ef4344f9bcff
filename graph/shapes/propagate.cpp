#include "graph/shapes/propagate.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "graph/ir/diagnostic.hpp"
#include "graph/ir/verify.hpp"
#include "graph/ops/infer.hpp"
#include "graph/ops/state_rules.hpp"

namespace dyn::graph {

Propagation::Propagation(Module& module)
    : module_(module),
      unifier_(module),
      users_(module.values.size()),
      known_(module.values.size()),
      constraints_(module.nodes.size()) {
  for (std::size_t i = 0; i < module.nodes.size(); ++i) add_uses(static_cast<int>(i));
  for (std::size_t i = 0; i < module.values.size(); ++i)
    known_[i] = module.values[i].kind != ValueKind::Result;
}

void Propagation::add_uses(int node) {
  for (ValueId input : module_.nodes[static_cast<std::size_t>(node)].inputs)
    users_[static_cast<std::size_t>(input)].push_back(node);
}

bool Propagation::is_ready(int node) const {
  return std::ranges::all_of(
      module_.nodes[static_cast<std::size_t>(node)].inputs,
      [&](ValueId input) { return known_[static_cast<std::size_t>(input)]; });
}

void Propagation::enqueue_users(ValueId value) {
  for (int user : users_[static_cast<std::size_t>(value)])
    if (is_ready(user)) worklist_.insert(user);
}

void Propagation::add_values() {
  for (std::size_t i = known_.size(); i < module_.values.size(); ++i)
    known_.push_back(module_.values[i].kind != ValueKind::Result);
  users_.resize(module_.values.size());
}

void Propagation::add_given(const TensorType& type) {
  unifier_.add_symbols();
  for (const Dim dim : type.dims) unifier_.mark_given(dim);
}

void Propagation::add_node() {
  unifier_.add_symbols();
  add_values();
  const int node = static_cast<int>(module_.nodes.size()) - 1;
  const Node& last = module_.nodes.back();
  if (is_append(last) && length_symbol(last)) unifier_.mark_given(attr_dim(module_, last, "at"));
  constraints_.resize(module_.nodes.size());
  add_uses(node);
  if (generation_ > 0) resolve_attrs(module_.nodes.back());
  worklist_.insert(node);
  drain();
}

void Propagation::run() {
  for (std::size_t i = 0; i < module_.nodes.size(); ++i)
    if (is_ready(static_cast<int>(i))) worklist_.insert(static_cast<int>(i));
  finish();
}

void Propagation::finish() {
  do {
    drain();
    check_claims();
  } while (!worklist_.empty());
  collect_constraints();
  for (const auto& [symbol, by] : unifier_.replaced()) {
    module_.replaced_symbols.emplace_back(symbol, by);
    std::erase(module_.declared_symbols, symbol);
  }
  check_symbols();
}

void Propagation::drain() {
  while (!worklist_.empty()) {
    const int node = *worklist_.begin();
    worklist_.erase(worklist_.begin());
    compute(node);
    resolve_module();
  }
}

void Propagation::compute(int node) {
  current_ = node;
  constraints_[static_cast<std::size_t>(node)].clear();
  std::vector<TensorType> outputs(module_.nodes[static_cast<std::size_t>(node)].outputs.size());
  this->node().op->infer(*this, outputs);
  store(outputs);
}

void Propagation::store(std::vector<TensorType>& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    check_output_type(outputs[i]);
    resolve_dims(outputs[i].dims);
    std::ranges::transform(outputs[i].dims, outputs[i].dims.begin(), abbreviated);
    const ValueId id = node().outputs[i];
    TensorType& type = module_.value(id).type;
    const auto index = static_cast<std::size_t>(id);
    if (known_[index] && type.dtype == outputs[i].dtype && type.dims == outputs[i].dims) continue;
    type = outputs[i];
    known_[index] = true;
    enqueue_users(id);
  }
}

void Propagation::check_output_type(const TensorType& type) const {
  if (type.rank() > max_rank)
    fail(fmt::format("the result would have {} dims; at most {} are supported", type.rank(),
                     max_rank));
  if (!is_countable(type))
    fail(
        fmt::format("the result would be {}, with more bytes than 63 bits count", to_string(type)));
  for (Dim dim : type.dims)
    if (bounds(dim).high < 0)
      fail(fmt::format("the result would be {}, with a negative dim", to_string(type)));
}

/// The declared types of outputs are claims, which may tell more about symbols.
void Propagation::check_claims() {
  current_ = -1;
  claim_constraints_.clear();
  for (std::size_t i = 0; i < module_.output_types.size(); ++i) {
    const std::string& name = module_.output_names[i];
    const TensorType actual = module_.value(module_.outputs[i]).type,
                     claim = module_.output_types[i];
    if (claim.dtype != actual.dtype || claim.rank() != actual.rank())
      fail(fmt::format("the output {} is declared {}, but is {}", name, to_string(claim),
                       to_string(actual)));
    for (std::size_t d = 0; d < claim.dims.size(); ++d)
      if (claim.dims[d].valid())
        require_equal(claim.dims[d], actual.dims[d],
                      fmt::format("{} as declared (dim {})", name, d),
                      fmt::format("{} as computed (dim {})", name, d));
  }
  resolve_module();
}

bool Propagation::resolve_dims(std::vector<Dim>& dims) const {
  bool changed = false;
  for (Dim& dim : dims) {
    const Dim resolved = unifier_.resolve(dim);
    changed = changed || resolved != dim;
    dim = resolved;
  }
  return changed;
}

void Propagation::resolve_attrs(Node& node) const {
  for (Attr& attr : node.attrs) {
    if (auto* list = std::get_if<std::vector<Dim>>(&attr.value)) resolve_dims(*list);
    if (auto* dim = std::get_if<Dim>(&attr.value)) *dim = unifier_.resolve(*dim);
  }
}

bool Propagation::resolve_constraints(std::vector<Constraint>& constraints) const {
  bool changed = false;
  for (Constraint& constraint : constraints) {
    std::vector<Dim> sides{constraint.left, constraint.right};
    changed |= resolve_dims(sides);
    constraint.left = sides[0];
    constraint.right = sides[1];
  }
  return changed;
}

/// Updates everything that contains replaced symbols, and puts the changed values on the worklist.
void Propagation::resolve_module() {
  if (unifier_.generation() == generation_) return;
  generation_ = unifier_.generation();
  for (std::size_t i = 0; i < module_.values.size(); ++i)
    if (known_[i] && resolve_dims(module_.values[i].type.dims))
      enqueue_users(static_cast<ValueId>(i));
  for (std::size_t i = 0; i < module_.nodes.size(); ++i) {
    resolve_attrs(module_.nodes[i]);
    if (resolve_constraints(constraints_[i]) && is_ready(static_cast<int>(i)))
      worklist_.insert(static_cast<int>(i));
  }
  resolve_constraints(claim_constraints_);
  for (TensorType& claim : module_.output_types) resolve_dims(claim.dims);
  resolve_constraints(module_.constraints);
}

void propagate_shapes(Module& module) {
  verify_structure(module);
  Propagation(module).run();
}

}  // namespace dyn::graph
