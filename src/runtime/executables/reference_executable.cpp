#include "src/runtime/executables/reference_executable.hpp"

#include <utility>

#include "src/runtime/executables/reference_execution.hpp"
#include "src/runtime/load/option_values.hpp"
#include "src/runtime/plan/oracle.hpp"

namespace dyn::runtime {

ReferenceExecutable::ReferenceExecutable(ModelInfo info, graph::Module module,
                                         const LoadRequest& request, LoadReport& report)
    : Executable(std::move(info)),
      module_(std::move(module)),
      states_(graph::appended_states(module_)),
      binder_(request.segment == nullptr ? Binder(module_) : Binder::of_segment(module_)),
      weights_(ResidentWeights::plain(module_, request, this->info(), report)),
      plans_(Planner(module_), this->info().options.plan_cache_bytes, measurer_of(*this)) {}

std::string ReferenceExecutable::device_name() const { return reference_device; }

std::unique_ptr<Execution> ReferenceExecutable::make_execution(CallPorts& ports,
                                                               SessionState* session) const {
  return std::make_unique<ReferenceExecution>(*this, ports, session);
}

}  // namespace dyn::runtime
