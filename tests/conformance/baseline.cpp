#include "tests/conformance/baseline.hpp"

#include <algorithm>
#include <fstream>

#include <fmt/format.h>

#include "dyn/error.hpp"

namespace dyn::conformance {

std::vector<std::string> read_baseline(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error(ErrorKind::device, fmt::format("{}: cannot be read", path));
  std::vector<std::string> names;
  for (std::string line; std::getline(file, line);)
    if (!line.empty() && line.front() != '#') names.push_back(line);
  std::sort(names.begin(), names.end());
  return names;
}

std::string baseline_of(const std::vector<Record>& records) {
  std::string text =
      "# Cases of the ONNX suite that pass; each that stops is a failure of CI. Written by: bash "
      "tests/conformance/run.sh BUILD_DIR --update\n";
  for (const Record& record : records)
    if (record.outcome.result == Result::Pass) text += record.test.name + "\n";
  return text;
}

std::vector<std::string> sample_of(const std::vector<std::string>& baseline, std::size_t most) {
  if (baseline.size() <= most) return baseline;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < most; ++i) names.push_back(baseline[i * baseline.size() / most]);
  return names;
}

}  // namespace dyn::conformance
