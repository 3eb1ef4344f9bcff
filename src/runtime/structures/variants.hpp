#pragma once
// Models of one source, by what the shapes of inputs make of its structure.

#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>

#include "dyn/tensor.hpp"
#include "src/runtime/structures/kept_models.hpp"

namespace dyn::runtime {

/// Makes the model for shapes for which the usual one does not hold, and keeps those that were used
/// last. Thread-safe; one model is made at a time.
class Variants {
 public:
  /// Names of sizes that are 1 at some shapes, which the usual model does not expect.
  using Key = std::set<std::string>;
  /// Empty: the usual model holds. Any number of threads may ask.
  using KeyAt = std::function<Key(std::span<const Shape* const> inputs)>;
  using Load = std::function<std::shared_ptr<const Model>(const Key&)>;

  /// `kept`: how many models, at least 1.
  Variants(KeyAt key_at, int kept, Load load);

  /// nullptr: the usual one. Throws what loading throws.
  std::shared_ptr<const Model> model_at(std::span<const Shape* const> inputs);

  /// Keeps none from now on; those that are in use, or are being made, live on, trimmed.
  void forget();

 private:
  std::shared_ptr<const Model> find(const std::string& text);

  const KeyAt key_at_;
  const Load load_;
  std::mutex loading_;  ///< before the other
  std::mutex mutex_;    ///< of the models; not held while one is made
  KeptModels models_;
};

}  // namespace dyn::runtime
