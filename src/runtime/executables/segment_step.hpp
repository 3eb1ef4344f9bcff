#pragma once
// One step of a run that decides sizes.

#include <memory>
#include <vector>

#include "graph/passes/segments.hpp"

namespace dyn::runtime {

class Model;

struct SegmentStep {
  graph::Segment segment;
  std::shared_ptr<const Model> model;  ///< nullptr: its one node is run by the host
  std::shared_ptr<const Model> body;   ///< that each step of a `loop` runs; else nullptr
  std::vector<graph::ValueId> last;    ///< values that no later step reads, and that are no outputs
};

}  // namespace dyn::runtime
