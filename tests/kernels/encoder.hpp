#pragma once
// tests/models/encoder_small.dyn with random weights, for the CPU and for the reference.

#include <map>
#include <string>
#include <vector>

#include "dyn/graph.hpp"
#include "graph/ir/module.hpp"
#include "targets/reference/reference.hpp"
#include "tests/kernels/random.hpp"

namespace dyn::testing {

/// Random weights of every file weight of a module: as arrays, and as the bytes of a safetensors
/// file whose tensors are not aligned.
class RandomWeights {
 public:
  RandomWeights(const graph::Module& module, Random& random);

  const std::string& file() const { return file_; }
  reference::Array operator()(graph::ValueId id) const { return arrays_.at(id); }

 private:
  std::map<graph::ValueId, reference::Array> arrays_;
  std::string file_;
};

class Encoder {
 public:
  explicit Encoder(const char* test);

  const Graph& graph() const { return graph_; }
  Random& random() { return random_; }

  /// ids and mask for one batch; each row's mask keeps a random number of positions from the front,
  /// 0 included.
  std::vector<Tensor> make_inputs(std::int64_t batch, std::int64_t length);
  std::vector<reference::Array> expect(const std::vector<Tensor>& inputs) const;

 private:
  std::string text_;
  Random random_;
  graph::Module module_;
  RandomWeights weights_;
  Graph graph_;
};

/// Row `row` of every input, as a batch of one.
std::vector<Tensor> row_of(const std::vector<Tensor>& inputs, std::int64_t row);

}  // namespace dyn::testing
