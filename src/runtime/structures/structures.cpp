#include "src/runtime/structures/structures.hpp"

#include <algorithm>
#include <utility>

namespace dyn::runtime {

Structures::Structures(std::vector<std::string> deciding, int kept, Load load)
    : deciding_(std::move(deciding)), load_(std::move(load)), models_(kept) {}

std::vector<std::string> Structures::deciding() const {
  const std::lock_guard lock(mutex_);
  return deciding_;
}

/// Names, shapes and bytes; lengths stand before what varies.
std::string Structures::key_of(const Values& values) {
  std::string key;
  for (const auto& [name, tensor] : values) {
    key += name + to_string(tensor.shape()) + std::string(name_of(tensor.dtype())) + ':';
    key.append(static_cast<const char*>(tensor.raw()), tensor.bytes());
  }
  return key;
}

std::shared_ptr<const Model> Structures::model_for(const std::vector<PortInfo>& ports,
                                                   std::span<const Tensor> inputs) {
  const std::lock_guard lock(mutex_);
  Values values;
  const auto take = [&] {
    for (std::size_t i = 0; i < ports.size(); ++i) {
      if (std::ranges::find(deciding_, ports[i].name) != deciding_.end())
        values.emplace(ports[i].name, inputs[i]);
    }
  };
  take();
  if (std::shared_ptr<const Model> known = models_.find(key_of(values))) return known;
  Loaded loaded = load_(values);
  while (loaded.model == nullptr) {
    deciding_.insert(deciding_.end(), loaded.undecided.begin(), loaded.undecided.end());
    take();
    loaded = load_(values);
  }
  models_.keep(key_of(values), loaded.model);
  return loaded.model;
}

}  // namespace dyn::runtime
