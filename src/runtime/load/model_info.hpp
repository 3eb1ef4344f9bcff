#pragma once
// What every loaded model has, whatever runs it.

#include <map>
#include <string>
#include <vector>

#include "dyn/graph.hpp"

namespace dyn::runtime {

struct ModelInfo {
  Options options;
  int threads = 1;                        ///< of one run, the caller's included
  std::vector<PortInfo> inputs, outputs;  ///< in the model's order
  std::map<std::string, Tensor> decided;  ///< values of inputs that the model was made for
  ModelMetadata metadata = {};
  std::vector<DimInfo> dims = {};      ///< that the model declares
  std::vector<StateInfo> states = {};  ///< likewise
};

}  // namespace dyn::runtime
