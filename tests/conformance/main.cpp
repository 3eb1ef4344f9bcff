// dyn-conformance: see usage.

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <set>
#include <span>
#include <stdexcept>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dyn/error.hpp"
#include "tests/conformance/baseline.hpp"
#include "tests/conformance/children.hpp"
#include "tests/conformance/report.hpp"

namespace dyn::conformance {
namespace {

constexpr const char* usage =
    "dyn-conformance --data DIR [options]: the ONNX backend test suite, through dyn. DIR: "
    "onnx/backend/test/data of the Python package\n"
    "  --only TEXT            the cases whose names contain it\n"
    "  --baseline FILE        names of cases that pass: each that does not is a failure\n"
    "  --sample N             N of them, evenly\n"
    "  --json FILE            every case, for programs\n"
    "  --write FILE           the same as a document\n"
    "  --write-baseline FILE  the names of those that pass\n"
    "  --device NAME          cpu (default), or another of dyn's\n"
    "  --threads N            of each case (1)\n"
    "  --jobs N               cases at once (2)\n"
    "  --limit SECONDS        for one case (120)\n"
    "Prints a line for each case: \"ok NAME\", \"failed NAME: why\" where the baseline says that "
    "it passes, else \"fail NAME: why\", \"refused NAME: why\".\n"
    "Exit status: 0 all of the baseline pass, 1 some do not, 2 a usage error, or files that cannot "
    "be read.\n";

struct Settings {
  std::string data, only, baseline, json, document, write_baseline;
  std::size_t sample = 0;
  RunSettings run;
  int jobs = 2;
  double limit_seconds = 120;
};

Settings parse(std::span<char*> arguments) {
  Settings settings;
  for (std::size_t i = 0; i < arguments.size(); i += 2) {
    const std::string option = arguments[i];
    if (i + 1 == arguments.size()) throw std::invalid_argument(option + " without its value");
    const std::string value = arguments[i + 1];
    if (option == "--data")
      settings.data = value;
    else if (option == "--only")
      settings.only = value;
    else if (option == "--baseline")
      settings.baseline = value;
    else if (option == "--sample")
      settings.sample = std::stoul(value);
    else if (option == "--json")
      settings.json = value;
    else if (option == "--write")
      settings.document = value;
    else if (option == "--write-baseline")
      settings.write_baseline = value;
    else if (option == "--device")
      settings.run.device = value;
    else if (option == "--threads")
      settings.run.threads = std::stoi(value);
    else if (option == "--jobs")
      settings.jobs = std::stoi(value);
    else if (option == "--limit")
      settings.limit_seconds = std::stod(value);
    else
      throw std::invalid_argument("there is no option " + option);
  }
  if (settings.data.empty()) throw std::invalid_argument("--data is missing");
  if (settings.sample > 0 && settings.baseline.empty())
    throw std::invalid_argument("--sample without --baseline");
  const bool partial = settings.sample > 0 || !settings.only.empty();
  if (partial && (!settings.document.empty() || !settings.write_baseline.empty()))
    throw std::invalid_argument("--write and --write-baseline are for the whole suite");
  return settings;
}

std::vector<Record> chosen_cases(const Settings& settings,
                                 const std::vector<std::string>& baseline) {
  const std::vector<std::string> sample = sample_of(baseline, settings.sample);
  std::vector<Record> records;
  for (Case& test : find_cases(settings.data)) {
    if (test.name.find(settings.only) == std::string::npos) continue;
    if (settings.sample > 0 && std::find(sample.begin(), sample.end(), test.name) == sample.end())
      continue;
    records.push_back({std::move(test), {}});
  }
  return records;
}

void run_all(const Settings& settings, std::vector<Record>& records,
             const std::function<void(const Record&)>& done) {
  std::vector<std::size_t> in_scope;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (!records[i].test.out_of_scope)
      in_scope.push_back(i);
    else
      records[i].outcome = {Result::OutOfScope, *records[i].test.out_of_scope, {}, 0};
  }
  const auto work = [&](std::size_t i) {
    const nlohmann::json json = run_case(records[in_scope[i]].test, settings.run);
    return json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  };
  run_children(in_scope.size(), settings.jobs, settings.limit_seconds, work,
               [&](std::size_t i, const Ended& ended) {
                 Record& record = records[in_scope[i]];
                 if (!ended.problem.empty())
                   record.outcome = {Result::Fail, "crash: " + ended.problem, {}, 0};
                 else
                   record.outcome = nlohmann::json::parse(ended.output).get<Outcome>();
                 done(record);
               });
}

/// False where the baseline lists it as passing.
bool print(const Record& record, bool must_pass) {
  const Outcome& outcome = record.outcome;
  if (outcome.result == Result::Pass)
    fmt::print("ok {}\n", record.test.name);
  else
    fmt::print("{} {}: {}\n", must_pass ? "failed" : name_of(outcome.result), record.test.name,
               outcome.reason);
  std::fflush(stdout);
  return outcome.result == Result::Pass || !must_pass;
}

void write(const std::string& path, const std::string& text) {
  if (path.empty()) return;
  std::ofstream file(path, std::ios::binary);
  if (!(file << text) || !file.flush())
    throw Error(ErrorKind::device, fmt::format("{}: cannot be written", path));
}

/// Names in the baseline without a case, for a run of the whole suite.
int print_unknown(const std::vector<Record>& records, const std::vector<std::string>& baseline) {
  std::set<std::string> names;
  for (const Record& record : records) names.insert(record.test.name);
  int unknown = 0;
  for (const std::string& name : baseline) {
    if (names.contains(name)) continue;
    fmt::print("failed {}: the suite has no such case, but the baseline names it\n", name);
    ++unknown;
  }
  return unknown;
}

int run(const Settings& settings) {
  const std::vector<std::string> baseline =
      settings.baseline.empty() ? std::vector<std::string>{} : read_baseline(settings.baseline);
  std::vector<Record> records = chosen_cases(settings, baseline);
  int failures = 0, better = 0;
  run_all(settings, records, [&](const Record& record) {
    const bool must_pass = std::binary_search(baseline.begin(), baseline.end(), record.test.name);
    if (!print(record, must_pass)) ++failures;
    if (!must_pass && record.outcome.result == Result::Pass) ++better;
  });
  if (settings.only.empty() && settings.sample == 0) failures += print_unknown(records, baseline);
  write(settings.json, json_of(records).dump(1) + "\n");
  write(settings.document, document_of(records));
  write(settings.write_baseline, baseline_of(records));
  fmt::print("note: {}\n", summary_of(records));
  if (better > 0 && !baseline.empty())
    fmt::print("note: {} cases pass that the baseline does not name; run.sh --update adds them\n",
               better);
  return failures == 0 && !records.empty() ? 0 : 1;
}

}  // namespace
}  // namespace dyn::conformance

int main(int count, char** arguments) {
  try {
    return dyn::conformance::run(
        dyn::conformance::parse({arguments + 1, static_cast<std::size_t>(count) - 1}));
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "%s\n%s", error.what(), dyn::conformance::usage);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "dyn-conformance: %s\n", error.what());
  }
  return 2;
}
