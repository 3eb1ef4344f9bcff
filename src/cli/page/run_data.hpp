#pragma once
// The data of a report, as src/cli/page/report.js reads it.

#include <string>

#include "dyn/profile.hpp"
#include "src/cli/page/page.hpp"
#include "src/cli/report/table.hpp"

namespace dyn::cli {

/// Raised with every change of the data that a reader of the former one would not understand.
inline constexpr int report_version = 1;

/// A run: groups by name, and for each event, slice and buffer an array of numbers. Times are
/// nanoseconds since the run's start. Of more slices than a page draws well, those of one thread in
/// one stage become one.
ReportData run_data(const Profile& profile);

/// A row as an object; unknown cells are null.
ReportData row_data(const Row& row);

/// Why this is no report that the page's script can show; "" where it is one.
std::string problem_of(const ReportData& data);

}  // namespace dyn::cli
