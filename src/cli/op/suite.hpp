#pragma once
// Files of shapes to measure on (tests/bench/suites, docs/workloads.md).

#include <map>
#include <string>
#include <vector>

#include "src/cli/op/operand.hpp"

namespace dyn::cli {

struct SuiteKind;

/// One case as the columns of a suite give it.
struct SuiteRow {
  const SuiteKind* kind = nullptr;           ///< nullptr: the case is from no suite
  DimMap sizes;                              ///< by column
  std::map<std::string, std::string> words;  ///< of columns that hold words: "T" of TA
  std::map<std::string, std::string> ties;   ///< columns that repeat the size of another
};

/// One line of a table: an operator at one shape.
struct OpCase {
  OpProblem problem;
  DimMap values;
  std::string suite;  ///< empty: from the command line
  std::vector<std::string>
      names;  ///< names of the dims that the row shows, in order; all have values
  SuiteRow row = {};
};

/// The problems of a file, in its order. docs/workloads.md describes the format. `#` starts a
/// comment; the first other line names the columns, which say what kind of problem the file has
/// (suite_kinds()); each further line stands for the product of its columns' values. Convolutions
/// may leave out their N: then the cases have no value for it. Throws Error(device) where the file
/// cannot be read, Error(user) with file, line number and text for a broken line.
std::vector<OpCase> read_suite(const std::string& path);

}  // namespace dyn::cli
