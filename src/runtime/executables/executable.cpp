#include "src/runtime/executables/executable.hpp"

#include <fmt/format.h>

#include "src/runtime/system/errors.hpp"

namespace dyn::runtime {

void Executable::refuse_states() const {
  if (states().empty()) return;
  user_error(
      fmt::format("the model '{}' has state, '{}' among it, which lives in a session; make "
                  "a dyn::Session of the "
                  "graph and run that",
                  module().name, module().value(states()[0].state).name));
}

const CompiledGroups& Executable::groups() const {
  static const CompiledGroups none;
  return none;
}

MemoryNeeded Executable::memory_needed(std::span<const std::int64_t> symbols) const {
  const PlanPtr plan = plans().plan(symbols);
  MemoryNeeded needed{weight_bytes().host, plan->intermediate_bytes(), 0};
  for (std::size_t i = 0; i < plan->output_shapes.size(); ++i)
    needed.outputs += static_cast<std::size_t>(element_count(plan->output_shapes[i])) *
                      size_of(info_.outputs[i].dtype);
  return needed;
}

}  // namespace dyn::runtime
