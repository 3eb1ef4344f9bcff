#pragma once
// Runs of one `loop`: its body, step after step.

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/ops/loop.hpp"
#include "src/runtime/run/call_state.hpp"

namespace dyn::runtime {

/// Steps take turns in two calls of the body, each of which reads what the other has made: carried
/// values are never copied, and once their shapes stay, a step allocates nothing. Not thread-safe.
class LoopExecution {
 public:
  /// `place` names the loop in messages; `most_steps`: beyond it a run is an error.
  LoopExecution(const std::shared_ptr<const Model>& body, const graph::LoopPlaces& places,
                std::string place, std::int64_t most_steps);

  struct Results {
    std::int64_t steps = 0;
    std::vector<Tensor> carried;
    std::vector<Tensor> collected;  ///< empty tensors where there was no step
  };
  /// `operands`: the node's. Throws Error(user) where they do not fit, and what the body's runs
  /// throw, with the number of the step. `control`: nullptr where nothing ends the run early.
  /// `builder`: of the run's profile; nullptr: there is none.
  Results run(std::span<const Tensor> operands, const RunControl* control, ProfileBuilder* builder);

 private:
  /// What every other step runs.
  struct Side {
    explicit Side(const std::shared_ptr<const Model>& body);
    CallState call;
    Tensor step, condition;
    std::vector<Tensor> slices;  ///< small ones are copied here; empty: the input is a view
  };
  /// Slices that the steps have made, one behind the other.
  struct Stack {
    Tensor slices;  ///< [room, slice...]; its first `steps` are filled
    std::int64_t room = 0;
  };

  std::int64_t count_of(std::span<const Tensor> operands) const;
  void prepare(Side& side, std::span<const Tensor> operands);
  void give_carried(Side& side, const Side& other, std::span<const Tensor> operands,
                    std::int64_t step);
  void give_slices(Side& side, std::span<const Tensor> operands, std::int64_t step);
  void collect(const Side& side, std::int64_t step, std::int64_t most);
  void release();

  const graph::LoopPlaces places_;
  const std::string place_;
  const std::int64_t most_steps_;
  const std::shared_ptr<Allocator> allocator_;
  std::array<Side, 2> sides_;
  std::vector<Stack> stacks_;  ///< by collected output
};

}  // namespace dyn::runtime
