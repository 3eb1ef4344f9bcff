#include "src/runtime/structures/undecided_executable.hpp"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/runtime/structures/undecided_execution.hpp"
#include "src/runtime/system/errors.hpp"

namespace dyn::runtime {

UndecidedExecutable::UndecidedExecutable(ModelInfo info, Structures::Deciding deciding,
                                         Structures::Load load,
                                         std::shared_ptr<rkernel::Device> device)
    : Executable(std::move(info)),
      device_(std::move(device)),
      structures_(std::move(deciding), this->info().options.structures, std::move(load)) {}

std::unique_ptr<Execution> UndecidedExecutable::make_execution(CallPorts& ports,
                                                               SessionState*) const {
  return std::make_unique<UndecidedExecution>(*this, ports);
}

std::vector<std::string> UndecidedExecutable::deciding_inputs() const {
  Structures::Deciding deciding = structures_.deciding();
  deciding.values.insert(deciding.values.end(), deciding.ranks.begin(), deciding.ranks.end());
  return deciding.values;
}

void UndecidedExecutable::refuse() const {
  const Structures::Deciding deciding = structures_.deciding();
  if (deciding.values.empty() && !deciding.ranks.empty())
    user_error(
        fmt::format("the file does not say what rank its input(s) {} have, which decides the "
                    "structure of the model; give their dims at load (Options::free_dims, "
                    "--free), or just run it",
                    fmt::join(deciding.ranks, ", ")));
  user_error(
      fmt::format("the values of its input(s) {} decide the structure of the model; give "
                  "them at load (Options::known_inputs, --load-inputs), or just run it",
                  fmt::join(deciding.values, ", ")));
}

}  // namespace dyn::runtime
