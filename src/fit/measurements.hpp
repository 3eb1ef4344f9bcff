#pragma once
// Programs with the time that each took, as `dynrun select --measurements` writes them.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/choice/cpu/select.hpp"

namespace dyn::fit {

struct MeasuredProgram {
  std::size_t sizes = 0;  ///< index of MeasuredShape::sizes: what the cost model is given
  choice::Choice program;
  double seconds = 0;
};

/// All programs of one problem on one number of threads; there is at least one.
struct MeasuredShape {
  std::string suite, shape;
  int threads = 1;
  std::shared_ptr<const choice::Machine> machine;
  std::vector<choice::ContractionShape> sizes;
  std::vector<MeasuredProgram> programs;

  double best_seconds() const;
};

/// Throws Error(user) that names the file and the line for what is no such file.
std::vector<MeasuredShape> read_measurements(std::span<const std::string> paths);

}  // namespace dyn::fit
