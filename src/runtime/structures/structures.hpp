#pragma once
// Models of one source, by the values that decide its structure.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "dyn/graph.hpp"
#include "src/runtime/structures/kept_models.hpp"

namespace dyn::runtime {

/// Makes the model for the values of all inputs that decide it, and keeps those that were used
/// last. Thread-safe; one model is made at a time.
class Structures {
 public:
  using Values = std::map<std::string, Tensor>;
  /// What is loaded with these values known: a model, or the names of more inputs whose values it
  /// needs, which are not among them.
  struct Loaded {
    std::shared_ptr<const Model> model;
    std::vector<std::string> undecided;
  };
  using Load = std::function<Loaded(const Values&)>;

  /// `deciding`: the inputs that are known to decide; `kept`: how many models, at least 1.
  Structures(std::vector<std::string> deciding, int kept, Load load);

  /// The deciding inputs found so far: other values of these may need others too.
  std::vector<std::string> deciding() const;

  /// `inputs` are the model's, with their names. Throws what loading throws.
  std::shared_ptr<const Model> model_for(const std::vector<PortInfo>& ports,
                                         std::span<const Tensor> inputs);

 private:
  static std::string key_of(const Values& values);

  std::vector<std::string> deciding_;
  Load load_;
  KeptModels models_;
  mutable std::mutex mutex_;
};

}  // namespace dyn::runtime
