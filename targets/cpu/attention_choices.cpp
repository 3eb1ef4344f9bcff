#include "targets/cpu/attention_choices.hpp"

#include <mutex>

namespace dyn::cpu {
namespace {

constexpr std::size_t most_choices = 1 << 10;  ///< remembered; beyond it the memory starts anew

}  // namespace

rkernel::AttentionChoice AttentionChoices::choose(const rkernel::Machine& machine, const rkernel::AttentionShape& shape, int threads) const {
  const Key key{shape.batch, shape.queries, shape.keys, shape.depth, shape.value_depth, shape.causal, shape.masked, shape.keys_unit,
                shape.values_unit, shape.fixed_order, threads};
  {
    const std::shared_lock lock(mutex_);
    if (const auto found = memory_.find(key); found != memory_.end()) return found->second;
  }
  const rkernel::AttentionChoice choice = rkernel::select_attention(machine, shape, threads);
  const std::unique_lock lock(mutex_);
  if (memory_.size() >= most_choices) memory_.clear();
  memory_.emplace(key, choice);
  return choice;
}

}  // namespace dyn::cpu
