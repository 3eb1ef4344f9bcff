#pragma once
// Models of one source, by the values and ranks that decide its structure.

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

/// Makes the model for the values and ranks of all inputs that decide it, and keeps those that were
/// used last. Thread-safe; one model is made at a time.
class Structures {
 public:
  /// Names of inputs whose values, or whose ranks alone, decide.
  struct Deciding {
    std::vector<std::string> values, ranks;
  };
  struct Facts {
    std::map<std::string, Tensor> values;
    std::map<std::string, int> ranks;
  };
  /// What is loaded with these facts: a model, or more inputs that decide, which are not among
  /// them.
  struct Loaded {
    std::shared_ptr<const Model> model;
    Deciding undecided;
  };
  using Load = std::function<Loaded(const Facts&)>;

  /// `deciding`: the inputs that are known to decide; `kept`: how many models, at least 1.
  Structures(Deciding deciding, int kept, Load load);

  /// The deciding inputs found so far: other values of these may need others too.
  Deciding deciding() const;

  /// `inputs` are the model's, with their names. Throws what loading throws.
  std::shared_ptr<const Model> model_for(const std::vector<PortInfo>& ports,
                                         std::span<const Tensor> inputs);

 private:
  static std::string key_of(const Facts& facts);
  Facts facts_of(const std::vector<PortInfo>& ports, std::span<const Tensor> inputs) const;

  Deciding deciding_;
  Load load_;
  KeptModels models_;
  mutable std::mutex mutex_;
};

}  // namespace dyn::runtime
