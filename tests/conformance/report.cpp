#include "tests/conformance/report.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace dyn::conformance {
namespace {

struct Counts {
  int cases = 0, in_scope = 0, run = 0, pass = 0, refused = 0;
  std::map<std::string, int> places;  ///< places where the passing cases ran

  void add(const Outcome& outcome) {
    ++cases;
    if (outcome.result == Result::OutOfScope) return;
    ++in_scope;
    refused += outcome.result == Result::Refused ? 1 : 0;
    run += outcome.result == Result::Refused ? 0 : 1;
    if (outcome.result != Result::Pass) return;
    ++pass;
    ++places[place_of(outcome)];
  }
  double percent() const { return in_scope == 0 ? 100 : 100.0 * pass / in_scope; }
};

Counts count_all(const std::vector<Record>& records) {
  Counts counts;
  for (const Record& record : records) counts.add(record.outcome);
  return counts;
}

std::string list_of(const std::map<std::string, int>& places) {
  std::string list;
  for (const auto& [place, count] : places)
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", place, count);
  return list;
}

constexpr const char* introduction =
    "# Conformance\n\n"
    "The backend test suite of the ONNX project (PyPI package `onnx` 1.23.2, opset 28), run by "
    "`dyn-conformance` through `dyn::Graph::load` and `run` with device \"cpu\".\n"
    "This file is written by it, with the baseline that CI holds:\n\n"
    "    bash tests/conformance/run.sh build/release --update\n\n"
    "Outputs are compared as in the suite's own runner: equal dtypes and shapes, |actual - "
    "expected| <= 1e-7 + 1e-3 |expected| where a case declares nothing else.\n"
    "A case is out of scope for what its model declares: operators on the letters of texts, "
    "sequences, "
    "optional types, maps, training operators, image decoding and\n"
    "random generators. `refused`: dyn says that it does not support the model. `run`: the rest of "
    "what is in scope. Targets are those of the kernels of the cases that\n"
    "pass: `cpu` is generated code throughout; `no kernel` a model whose outputs are constants, or "
    "views of its inputs.\n\n";

std::string totals_of(const std::vector<Record>& records) {
  const Counts counts = count_all(records);
  return fmt::format(
      "## Totals\n\n| cases | out of scope | in scope | refused | run | pass | of those in scope | "
      "on target |\n|---|---|---|---|---|---|---|---|\n"
      "| {} | {} | {} | {} | {} | {} | {:.1f} % | {} |\n\n",
      counts.cases, counts.cases - counts.in_scope, counts.in_scope, counts.refused, counts.run,
      counts.pass, counts.percent(), list_of(counts.places));
}

/// A case of several operators counts for each.
std::string table_of(const std::vector<Record>& records) {
  std::map<std::string, Counts> by_operator;
  for (const Record& record : records)
    for (const std::string& name : record.test.operators) by_operator[name].add(record.outcome);
  std::string text =
      "## By operator\n\nA model of several operators counts for each of them; a function's "
      "expansion for the function.\n\n"
      "| operator | cases | in scope | run | pass | on target |\n|---|---|---|---|---|---|\n";
  for (const auto& [name, counts] : by_operator)
    text += fmt::format("| {} | {} | {} | {} | {} | {} |\n", name, counts.cases, counts.in_scope,
                        counts.run, counts.pass, list_of(counts.places));
  return text + "\n";
}

std::string lines_of(const std::vector<Record>& records, Result result, const char* title) {
  std::string text;
  for (const Record& record : records)
    if (record.outcome.result == result)
      text += fmt::format("- `{}`: {}\n", record.test.name, record.outcome.reason);
  return text.empty() ? std::string() : fmt::format("## {}\n\n{}\n", title, text);
}

std::string out_of_scope_of(const std::vector<Record>& records) {
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const Record& record : records)
    if (record.outcome.result == Result::OutOfScope)
      by_reason[record.outcome.reason].push_back(record.test.name);
  std::string text = "## Out of scope\n\n";
  for (const auto& [reason, names] : by_reason) {
    text += fmt::format("- {} ({}):", reason, names.size());
    for (const std::string& name : names) text += fmt::format(" `{}`", name);
    text += "\n";
  }
  return text;
}

}  // namespace

std::string place_of(const Outcome& outcome) {
  std::set<std::string> places;
  for (const auto& [target, groups] : outcome.targets)
    places.insert(target.substr(0, target.find('/')));
  std::string text;
  for (const std::string& place : places) text += (text.empty() ? "" : " + ") + place;
  return text.empty() ? "no kernel" : text;
}

std::string summary_of(const std::vector<Record>& records) {
  const Counts counts = count_all(records);
  return fmt::format("{} cases: {} out of scope, {} of {} pass ({:.1f} %; {}), {} refused, {} fail",
                     counts.cases, counts.cases - counts.in_scope, counts.pass, counts.in_scope,
                     counts.percent(), list_of(counts.places), counts.refused,
                     counts.run - counts.pass);
}

nlohmann::json json_of(const std::vector<Record>& records) {
  nlohmann::json cases = nlohmann::json::array();
  for (const Record& record : records) {
    nlohmann::json entry = record.outcome;
    entry["name"] = record.test.name;
    entry["operators"] = record.test.operators;
    entry["place"] = place_of(record.outcome);
    cases.push_back(std::move(entry));
  }
  return cases;
}

std::string document_of(const std::vector<Record>& records) {
  return introduction + totals_of(records) + table_of(records) +
         lines_of(records, Result::Fail, "Failing") +
         lines_of(records, Result::Refused, "Refused") + out_of_scope_of(records);
}

}  // namespace dyn::conformance
