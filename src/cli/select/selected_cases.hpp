#pragma once
// The problems that dynrun select measures.

#include <cstddef>
#include <vector>

#include "src/cli/arguments.hpp"
#include "src/cli/op/suite.hpp"

namespace dyn::cli {

struct SelectedCases {
  std::vector<OpCase> cases;
  std::size_t left_out = 0;  ///< cases with more operations than SelectArguments::most_gflop
};

/// SelectArguments::words, SUITE... or OPERATOR TYPES, as those of `dynrun op`. Throws Error(user)
/// where suites and types are mixed.
Arguments with_problems(Arguments arguments);

/// The problems of the suites or of the types and dims, and random ones. Throws Error(user) for
/// mistakes in the command line or a suite, and where no problem is left; Error(unsupported) for
/// results that are not f32.
SelectedCases selected_cases(const Arguments& given);

}  // namespace dyn::cli
