#pragma once
// Reports as pages that need no network, and their data back from such pages.

#include <string>

#include <nlohmann/json.hpp>

namespace dyn::cli {

/// What a page shows. A report (docs/profiling.md) or two of them.
using ReportData = nlohmann::ordered_json;

/// The data as text; bytes that are no UTF-8 are replaced.
std::string data_text(const ReportData& data);

/// A page that loads nothing from elsewhere, with the data in it. `title` is any text.
std::string page_of(const std::string& title, const ReportData& data);

/// The data of a page, or of a file of it alone. Throws Error(user) where the file holds no report
/// of a version that this dyn knows, Error(device) where it cannot be read.
ReportData read_report(const std::string& path);

/// Both reports, for a page that compares them.
ReportData compared(const ReportData& first, const ReportData& second);

/// A page, or, where the name ends in ".json", the data alone. Throws Error(device) where it cannot
/// be written.
void write_report(const std::string& path, const std::string& title, const ReportData& data);

}  // namespace dyn::cli
