#include "src/runtime/structures/undecided_executable.hpp"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/runtime/structures/undecided_execution.hpp"
#include "src/runtime/system/errors.hpp"

namespace dyn::runtime {

UndecidedExecutable::UndecidedExecutable(ModelInfo info, std::vector<std::string> deciding,
                                         Structures::Load load)
    : Executable(std::move(info)),
      structures_(std::move(deciding), this->info().options.structures, std::move(load)) {}

std::unique_ptr<Execution> UndecidedExecutable::make_execution(CallPorts& ports,
                                                               SessionState*) const {
  return std::make_unique<UndecidedExecution>(*this, ports);
}

void UndecidedExecutable::refuse() const {
  user_error(
      fmt::format("the values of its input(s) {} decide the structure of the model; give "
                  "them at load (Options::known_inputs, --load-inputs), or just run it",
                  fmt::join(deciding_inputs(), ", ")));
}

}  // namespace dyn::runtime
