#include "src/runtime/structures/structures.hpp"

#include <algorithm>
#include <utility>

namespace dyn::runtime {

namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

void append(std::vector<std::string>& names, const std::vector<std::string>& more) {
  names.insert(names.end(), more.begin(), more.end());
}

}  // namespace

Structures::Structures(Deciding deciding, int kept, Load load)
    : deciding_(std::move(deciding)), load_(std::move(load)), models_(kept) {}

Structures::Deciding Structures::deciding() const {
  const std::lock_guard lock(mutex_);
  return deciding_;
}

/// Names, ranks, shapes and bytes; lengths stand before what varies.
std::string Structures::key_of(const Facts& facts) {
  std::string key;
  for (const auto& [name, rank] : facts.ranks) key += name + '@' + std::to_string(rank) + ';';
  for (const auto& [name, tensor] : facts.values) {
    key += name + to_string(tensor.shape()) + std::string(name_of(tensor.dtype())) + ':';
    key.append(static_cast<const char*>(tensor.raw()), tensor.bytes());
  }
  return key;
}

Structures::Facts Structures::facts_of(const std::vector<PortInfo>& ports,
                                       std::span<const Tensor> inputs) const {
  Facts facts;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const std::string& name = ports[i].name;
    if (contains(deciding_.values, name)) facts.values.emplace(name, inputs[i]);
    if (contains(deciding_.ranks, name))
      facts.ranks.emplace(name, static_cast<int>(inputs[i].shape().size()));
  }
  return facts;
}

std::shared_ptr<const Model> Structures::model_for(const std::vector<PortInfo>& ports,
                                                   std::span<const Tensor> inputs) {
  const std::lock_guard lock(mutex_);
  Facts facts = facts_of(ports, inputs);
  if (std::shared_ptr<const Model> known = models_.find(key_of(facts))) return known;
  Loaded loaded = load_(facts);
  while (loaded.model == nullptr) {
    append(deciding_.values, loaded.undecided.values);
    append(deciding_.ranks, loaded.undecided.ranks);
    facts = facts_of(ports, inputs);
    loaded = load_(facts);
  }
  models_.keep(key_of(facts), loaded.model);
  return loaded.model;
}

}  // namespace dyn::runtime
