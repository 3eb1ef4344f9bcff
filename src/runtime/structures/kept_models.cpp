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

}  // namespace dyn::runtime
