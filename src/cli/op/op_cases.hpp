#pragma once
// The problems that the command line of `dynrun op` and `dynrun select` asks for.

#include <string>
#include <vector>

#include "src/cli/arguments.hpp"
#include "src/cli/op/suite.hpp"

namespace dyn::cli {

/// From arguments.op and arguments.dims: one operator at the product of its dims, or the lines of
/// all suites. Throws Error(user) for arguments that do not go together, and whatever read_suite()
/// throws.
std::vector<OpCase> requested_cases(const Arguments& arguments);

/// "matmul M=1 N=768 K=768".
std::string describe(const OpCase& test);
/// "M=1 N=768 K=768".
std::string describe_dims(const OpCase& test);

/// The problem in the words of docs/peers.md.
std::string problem_line(const OpCase& test, int copies);

}  // namespace dyn::cli
