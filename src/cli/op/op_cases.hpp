#pragma once
// The problems that the command line of `dynrun op` and `dynrun select` asks for.

#include <string>
#include <vector>

#include "src/cli/arguments.hpp"
#include "src/cli/op/suite.hpp"

namespace dyn::cli {

/// From arguments.op and arguments.dims: one operator at the product of its dims, or the lines of
/// all suites. Throws Error(user) for what does not go together, and what read_suite() throws.
std::vector<OpCase> requested_cases(const Arguments& arguments);

/// "matmul M=1 N=768 K=768".
std::string describe(const OpCase& test);
/// "M=1 N=768 K=768".
std::string describe_dims(const OpCase& test);

/// As docs/peers.md has it.
std::string problem_line(const OpCase& test, int copies);

}  // namespace dyn::cli
