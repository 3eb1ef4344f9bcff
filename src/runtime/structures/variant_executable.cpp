#include "src/runtime/structures/variant_executable.hpp"

#include <utility>

#include "src/runtime/load/model.hpp"
#include "src/runtime/structures/variant_execution.hpp"

namespace dyn::runtime {

VariantExecutable::VariantExecutable(std::shared_ptr<const Model> usual, Variants::KeyAt key_at,
                                     Variants::Load load)
    : Executable(usual->executable().info()),
      usual_(std::move(usual)),
      variants_(std::move(key_at), info().options.structures, std::move(load)) {}

const Executable& VariantExecutable::of_usual() const { return usual_->executable(); }

std::unique_ptr<Execution> VariantExecutable::make_execution(CallPorts& ports,
                                                             SessionState* session) const {
  return std::make_unique<VariantExecution>(*this, of_usual().make_execution(ports, session),
                                            ports);
}

}  // namespace dyn::runtime
