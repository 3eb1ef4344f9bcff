#include "src/cli/select/record.hpp"

#include "src/base/statistics.hpp"
#include "src/cli/report/units.hpp"

namespace dyn::cli {
namespace {

Cell nanoseconds(const std::optional<double>& seconds) {
  return seconds ? Cell(*seconds * ns) : Cell();
}

}  // namespace

std::optional<double> ShapeRecord::ratio(const PolicyRecord& policy) const {
  if (!oracle_seconds || !policy.measured_seconds) return std::nullopt;
  return *oracle_seconds / *policy.measured_seconds;
}

Row csv_row(const ShapeRecord& shape, const PolicyRecord& policy) {
  const std::vector<double>& fresh = policy.choosing.fresh;
  return {{"shape", shape.shape},
          {"policy", std::string(name_of(policy.policy))},
          {"candidates", policy.candidates},
          {"program", policy.program},
          {"predicted_ns", nanoseconds(policy.predicted_seconds)},
          {"measured_ns", nanoseconds(policy.measured_seconds)},
          {"choose_ns", fresh.empty() ? Cell() : Cell(percentile(fresh, 50) * ns)}};
}

}  // namespace dyn::cli
