#include "src/runtime/structures/kept_models.hpp"

#include <algorithm>
#include <utility>

namespace dyn::runtime {

std::shared_ptr<const Model> KeptModels::find(const std::string& key) {
  const auto known =
      std::ranges::find_if(entries_, [&](const Entry& entry) { return entry.key == key; });
  if (known == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, known);
  return entries_.front().model;
}

void KeptModels::keep(std::string key, std::shared_ptr<const Model> model) {
  entries_.push_front({std::move(key), std::move(model)});
  if (entries_.size() > kept_) entries_.pop_back();
}

std::vector<std::shared_ptr<const Model>> KeptModels::take_all() {
  std::vector<std::shared_ptr<const Model>> models;
  for (Entry& entry : entries_) models.push_back(std::move(entry.model));
  entries_.clear();
  return models;
}

}  // namespace dyn::runtime
