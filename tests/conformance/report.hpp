#pragma once
// Reports of the suite's results, for people and for programs.

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "tests/conformance/run_case.hpp"

namespace dyn::conformance {

struct Record {
  Case test;
  Outcome outcome;
};

/// The targets of all groups of a model: "cpu", "cpu + host"; "no kernel" where nothing is left to
/// compute.
std::string place_of(const Outcome& outcome);

/// "1000 cases: 100 out of scope, 850 of 900 pass (94.4 %), 30 refused, 20 fail".
std::string summary_of(const std::vector<Record>& records);

nlohmann::json json_of(const std::vector<Record>& records);

/// docs/conformance.md: totals, a table by operator, and every case that does not pass.
std::string document_of(const std::vector<Record>& records);

}  // namespace dyn::conformance
