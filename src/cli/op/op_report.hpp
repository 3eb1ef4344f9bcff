#pragma once
// The output of `dynrun op`: a row for each shape, and a summary.

#include <optional>
#include <string>
#include <vector>

#include "src/cli/report/table.hpp"

namespace dyn::cli {

/// One measured shape.
struct OpRecord {
  Row row;
  std::string label;  ///< operator and dims: "matmul M=1 N=768 K=768"
  int threads = 1;
  std::string state;  ///< "warm" or "cold"
  std::optional<double> limit_ratio;
  std::vector<std::optional<double>> ratios;  ///< for each peer, its time over dyn's

  /// dyn's speed relative to the fastest peer; none where no peer has a time.
  std::optional<double> ratio_best() const;
};

/// A row for each measure (limit_ratio, ratio_<peer>, ratio_best), number of threads and state: how
/// many shapes, their geometric mean, the worst decile (10th percentile), and the shares at 0.97 or
/// better.
std::vector<Row> summary_rows(const std::vector<OpRecord>& records,
                              const std::vector<std::string>& peers);

/// Labels of the shapes whose ratio_best is below 0.95, worst first.
std::vector<std::string> lost_shapes(const std::vector<OpRecord>& records,
                                     const std::vector<std::string>& peers);

/// Prints rows and summary. CSV: summary lines begin with #. JSON: objects with "summary" follow
/// the rows'.
std::string report_text(const std::vector<OpRecord>& records, const std::vector<std::string>& peers,
                        Format format);

}  // namespace dyn::cli
