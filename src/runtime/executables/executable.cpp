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

}  // namespace dyn::runtime
