#pragma once
// What the cost model is fitted to: a file of programs with the time that each took.

#include <fstream>
#include <string>
#include <vector>

#include "src/cli/op/suite.hpp"
#include "src/runtime/plan/candidates.hpp"

namespace dyn::cli {

/// A file of lines in JSON: `{"machine": ...}` where it changes, then one line for each shape,
/// `{"suite", "shape", "threads", "sizes": [...], "programs": [[index of sizes, program, seconds],
/// ...]}` (src/choice/calibration/measurements.hpp reads it). Lines are written as they come.
class MeasurementFile {
 public:
  /// Begins the file anew. Throws Error(device) that names the file where it cannot be written.
  explicit MeasurementFile(std::string path);

  /// `seconds`: of each program. Those of no cost model are left out. Throws as above.
  void add(const OpCase& test, const std::string& shape, int threads, const std::string& machine,
           const runtime::CandidateUnion& candidates, const std::vector<double>& seconds);

 private:
  void write(const std::string& line);

  std::string path_;
  std::ofstream file_;
  std::string machine_;  ///< of the lines that follow
};

}  // namespace dyn::cli
