#pragma once
// The problems that `dynrun tune` searches, one after the other.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/cli/arguments.hpp"
#include "src/cli/tune/program_timer.hpp"

namespace dyn::cli {

/// One problem at one shape, ready to be run.
struct TunedWork {
  std::string name;
  const rkernel::Kernel* kernel = nullptr;
  rkernel::PlanRequest request;
  std::function<std::unique_ptr<ProgramTimer>()> make_timer;  ///< empty: nothing is run
};

/// Visits problems until `visit` returns false.
using VisitWork = std::function<bool(const TunedWork&)>;

/// The sizes that dyn's choice is made from, as JSON: two problems with the same are alike. Empty
/// where there is nothing to choose.
std::string sizes_of(const rkernel::Kernel& kernel, const rkernel::PlanRequest& request);

/// True where the words name one model, not suites or types.
bool names_model(const std::vector<std::string>& words);

/// The contractions of the suites' or the types' operators, for each number of threads. Throws what
/// selected_cases() and loading throw.
void for_each_op(const Arguments& arguments, bool measured, const VisitWork& visit);

/// The groups with several programs of a model at the shapes asked for, and each number of threads;
/// of alike ones the first. `named` gets the model's name before any. Throws
/// Error(unsupported) for a model with states.
void for_each_group(const Arguments& arguments, bool measured,
                    const std::function<void(const std::string&)>& named, const VisitWork& visit);

}  // namespace dyn::cli
