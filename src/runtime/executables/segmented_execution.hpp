#pragma once
// A model whose run decides sizes, as a list of models that run one after the other, with what
// decides between them.

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "dyn/tensor.hpp"
#include "graph/passes/segments.hpp"
#include "src/runtime/load/model.hpp"

namespace dyn::runtime {

/// Immutable once loaded.
struct SegmentStep {
  graph::Segment segment;
  std::shared_ptr<const Model> model;  ///< nullptr: its one node is run by the host
  std::vector<graph::ValueId> last;    ///< values that no later step reads, and that are no outputs
};

/// `load` makes the model of a segment.
std::vector<SegmentStep> load_segments(
    const graph::Module& module,
    const std::function<std::shared_ptr<const Model>(const graph::Segment&)>& load);

/// One caller's runs of all steps. Not thread-safe.
class SegmentRun {
 public:
  explicit SegmentRun(const Model::Impl& parts);
  ~SegmentRun();

  /// `symbols` come from the inputs; those that the run defines are 0. Throws what runs throw, and
  /// Error(user) for sizes that do not fit.
  std::vector<Tensor> run(const std::vector<Tensor>& inputs, std::vector<std::int64_t> symbols);

 private:
  bool is_needed(const graph::Segment& segment) const;
  void run_model(std::size_t step);
  void run_node(const graph::Node& node);
  void choose(const graph::Node& node);
  void define(const graph::Node& node, std::span<const std::int64_t> values);
  Tensor value(graph::ValueId id) const;

  const Model::Impl& parts_;
  std::vector<std::unique_ptr<CallState>> calls_;  ///< by step; nullptr for those of the host
  std::map<graph::ValueId, Tensor> values_;
  std::vector<std::int64_t> symbols_;
  std::vector<bool> known_;  ///< by symbol
};

}  // namespace dyn::runtime
