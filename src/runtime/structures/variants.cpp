#include "src/runtime/structures/variants.hpp"

#include <utility>

#include "src/runtime/load/model.hpp"

namespace dyn::runtime {

Variants::Variants(KeyAt key_at, int kept, Load load)
    : key_at_(std::move(key_at)), load_(std::move(load)), models_(kept) {}

std::shared_ptr<const Model> Variants::model_at(std::span<const Shape* const> inputs) {
  const Key key = key_at_(inputs);
  if (key.empty()) return nullptr;
  std::string text;
  for (const std::string& fact : key) text += fact + '\n';
  if (std::shared_ptr<const Model> known = find(text)) return known;
  const std::lock_guard one_at_a_time(loading_);
  if (std::shared_ptr<const Model> known = find(text)) return known;
  std::shared_ptr<const Model> made = load_(key);
  const std::lock_guard lock(mutex_);
  models_.keep(std::move(text), made);
  return made;
}

void Variants::forget() {
  std::vector<std::shared_ptr<const Model>> models;
  {
    const std::lock_guard lock(mutex_);
    models = models_.take_all();
  }
  for (const auto& model : models) model->executable().trim();
}

std::shared_ptr<const Model> Variants::find(const std::string& text) {
  const std::lock_guard lock(mutex_);
  return models_.find(text);
}

}  // namespace dyn::runtime
