#pragma once
// The output of `dynrun select`: a row for each shape and policy, and a summary.

#include <string>
#include <vector>

#include "src/cli/select/plot.hpp"
#include "src/cli/select/record.hpp"

namespace dyn::cli {

struct SelectReport {
  std::vector<ShapeRecord> shapes;
  std::string basis;  ///< what measured_ns is: "measured" or "predicted"
  bool peers = false;
};

/// For each suite (and "all" where there are several), number of threads and policy: shapes, their
/// geometric mean, 5th percentile and least of oracle_time / policy_time with the worst shape, the
/// share of shapes where no other policy is faster by more than 1 %, the medians of candidates and
/// of the time to choose. Then a row for the oracle: the median of its programs, and how much
/// faster it is than the fastest peer.
std::vector<Row> summary_rows(const SelectReport& report);

/// The CSV lines of one shape, with the line of columns before the first.
std::string csv_lines(const ShapeRecord& shape, bool first);

/// Prints rows and summary. CSV: the summary alone, in lines that begin with #; csv_lines() writes
/// its rows. JSON: objects with "summary" follow the rows'.
std::string report_text(const SelectReport& report, Format format);

/// A panel for each number of threads, a line for each policy but the oracle.
std::vector<PlotPanel> plot_panels(const SelectReport& report);

}  // namespace dyn::cli
