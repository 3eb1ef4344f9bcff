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
/// used last. Thread-safe; one model is made at a time, and who needs a known one does not wait for
/// that.
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
  /// The values of the input of this number, on the host, which stay until the model is there.
  using Values = std::function<const Tensor&(std::size_t input)>;

  /// `deciding`: the inputs that are known to decide; `kept`: how many models, at least 1.
  Structures(Deciding deciding, int kept, Load load);

  /// The deciding inputs found so far: other values of these may need others too.
  Deciding deciding() const;

  /// `inputs` are the model's, with their names. Asks for the values of those alone whose values
  /// decide, and while it holds no lock: they may come from other callers' work. Throws what
  /// loading and `values` throw.
  std::shared_ptr<const Model> model_for(const std::vector<PortInfo>& ports,
                                         std::span<const Tensor> inputs, const Values& values);

  /// Keeps none from now on; those that are in use, or are being made, live on, trimmed.
  void forget();

 private:
  static std::string key_of(const Facts& facts);
  std::shared_ptr<const Model> find(const std::string& key);
  std::shared_ptr<const Model> load(const Facts& facts, const std::string& key);

  const Load load_;
  std::mutex loading_;        ///< before the other
  mutable std::mutex mutex_;  ///< of the rest; not held while a model is made
  Deciding deciding_;
  KeptModels models_;
};

}  // namespace dyn::runtime
