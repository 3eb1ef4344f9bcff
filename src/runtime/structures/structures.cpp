#include "src/runtime/structures/structures.hpp"

#include <algorithm>
#include <utility>

#include "src/runtime/load/model.hpp"

namespace dyn::runtime {

namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

/// Another thread may have found the same.
void append(std::vector<std::string>& names, const std::vector<std::string>& more) {
  for (const std::string& name : more) {
    if (!contains(names, name)) names.push_back(name);
  }
}

Structures::Facts facts_of(const Structures::Deciding& deciding, const std::vector<PortInfo>& ports,
                           std::span<const Tensor> inputs, const Structures::Values& values) {
  Structures::Facts facts;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const std::string& name = ports[i].name;
    if (contains(deciding.values, name)) facts.values.emplace(name, values(i));
    if (contains(deciding.ranks, name))
      facts.ranks.emplace(name, static_cast<int>(inputs[i].shape().size()));
  }
  return facts;
}

}  // namespace

Structures::Structures(Deciding deciding, int kept, Load load)
    : load_(std::move(load)), deciding_(std::move(deciding)), models_(kept) {}

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

void Structures::forget() {
  std::vector<std::shared_ptr<const Model>> models;
  {
    const std::lock_guard lock(mutex_);
    models = models_.take_all();
  }
  for (const auto& model : models) model->executable().trim();
}

std::shared_ptr<const Model> Structures::find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  return models_.find(key);
}

/// nullptr: more inputs decide, and are known now.
std::shared_ptr<const Model> Structures::load(const Facts& facts, const std::string& key) {
  const std::lock_guard one_at_a_time(loading_);
  if (std::shared_ptr<const Model> known = find(key)) return known;
  Loaded loaded = load_(facts);
  const std::lock_guard lock(mutex_);
  append(deciding_.values, loaded.undecided.values);
  append(deciding_.ranks, loaded.undecided.ranks);
  if (loaded.model) models_.keep(key, loaded.model);
  return loaded.model;
}

std::shared_ptr<const Model> Structures::model_for(const std::vector<PortInfo>& ports,
                                                   std::span<const Tensor> inputs,
                                                   const Values& values) {
  for (;;) {
    const Facts facts = facts_of(deciding(), ports, inputs, values);
    const std::string key = key_of(facts);
    if (std::shared_ptr<const Model> known = find(key)) return known;
    if (std::shared_ptr<const Model> made = load(facts, key)) return made;
  }
}

}  // namespace dyn::runtime
