#pragma once
// Files of shapes to measure on (tests/bench/suites).

#include <string>
#include <vector>

#include "src/cli/op/operand.hpp"

namespace dyn::cli {

/// One line of a table: an operator at one shape.
struct OpCase {
  OpProblem problem;
  DimMap values;
  std::string suite;  ///< empty: from the command line
  std::vector<std::string>
      names;  ///< names of the dims that the row shows, in order; all have values
};

/// A matmul of any M with a constant weight.
OpProblem constant_matmul(const std::string& n, const std::string& k);

/// The matmuls or convolutions of a file. `#` starts a comment; the first other line names the
/// columns: `M N K` (the second operand is a constant weight), `M N K TA TB` (both are inputs; N or
/// T says whether each is transposed), or those of convolutions with constant filters, where N may
/// be left out: then the cases have no value for it. Throws Error(device) where the file cannot be
/// read, Error(user) with file, line number and text for a broken line.
std::vector<OpCase> read_suite(const std::string& path);

}  // namespace dyn::cli
