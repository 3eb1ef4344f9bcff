#pragma once
// The kinds of problems that a suite's columns can describe.

#include <span>
#include <string>
#include <vector>

#include "src/cli/op/suite.hpp"

namespace dyn::cli {

struct SuiteKind {
  std::string_view what;                                  ///< "matmuls with a constant weight"
  std::vector<std::string> columns;                       ///< in the order of the file
  std::map<std::string, std::vector<std::string>> words;  ///< what columns of words may hold
  std::vector<std::string> drawn;  ///< sizes that `dynrun select --random` draws
  /// The case of a row with all columns; its suite is left empty. Throws Error(user) that says what
  /// does not fit, for the caller to say where.
  OpCase (*make)(const SuiteRow& row);
  /// Makes drawn sizes greater where the row has no case else: images smaller than filters, for
  /// example. Channels become multiples of the groups.
  void (*fit)(SuiteRow& row);
};

/// All kinds, those of fewer columns first.
std::span<const SuiteKind> suite_kinds();

/// The kind with just these columns; nullptr where there is none.
const SuiteKind* suite_kind(const std::vector<std::string>& columns);

}  // namespace dyn::cli
