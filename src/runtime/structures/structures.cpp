#include "src/runtime/executables/structures.hpp"

#include <algorithm>
#include <utility>

namespace dyn::runtime {

Structures::Structures(std::vector<std::string> deciding, std::size_t kept, Load load)
    : deciding_(std::move(deciding)), kept_(kept), load_(std::move(load)) {}

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
  std::string key = key_of(values);
  const auto known =
      std::ranges::find_if(entries_, [&](const Entry& entry) { return entry.key == key; });
  if (known != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, known);
    return entries_.front().model;
  }
  Loaded loaded = load_(values);
  while (loaded.model == nullptr) {
    deciding_.insert(deciding_.end(), loaded.undecided.begin(), loaded.undecided.end());
    take();
    loaded = load_(values);
  }
  entries_.push_front({key_of(values), loaded.model});
  if (entries_.size() > kept_) entries_.pop_back();
  return loaded.model;
}

}  // namespace dyn::runtime
