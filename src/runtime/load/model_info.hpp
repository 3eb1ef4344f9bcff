#pragma once
// What every loaded model has, whatever runs it.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dyn/graph.hpp"

namespace dyn::runtime {

class MemoryBudget;

struct ModelInfo {
  Options options;
  int threads = 1;                        ///< of one run, the caller's included
  std::vector<PortInfo> inputs, outputs;  ///< in the model's order
  std::map<std::string, Tensor> decided;  ///< values of inputs that the model was made for
  ModelMetadata metadata = {};
  std::vector<DimInfo> dims = {};                         ///< that the model declares
  std::vector<StateInfo> states = {};                     ///< likewise
  std::shared_ptr<MemoryBudget> memory_budget = nullptr;  ///< of the whole graph; nullptr: no limit
};

}  // namespace dyn::runtime
