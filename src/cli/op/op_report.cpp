#include "src/cli/op/op_report.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "src/base/statistics.hpp"

namespace dyn::cli {
namespace {

constexpr double near_best = 0.97, lost = 0.95;
constexpr double worst_decile = 10;

using Measure = std::pair<std::string, std::function<std::optional<double>(const OpRecord&)>>;

std::vector<Measure> measures_of(const std::vector<std::string>& peers) {
  std::vector<Measure> measures{
      {"limit_ratio", [](const OpRecord& record) { return record.limit_ratio; }}};
  for (std::size_t i = 0; i < peers.size(); ++i) {
    measures.emplace_back("ratio_" + peers[i],
                          [i](const OpRecord& record) { return record.ratios[i]; });
  }
  if (!peers.empty())
    measures.emplace_back("ratio_best", [](const OpRecord& record) { return record.ratio_best(); });
  return measures;
}

Row summary_row(const Measure& measure, int threads, const std::string& state,
                const std::vector<double>& values) {
  const auto good =
      std::count_if(values.begin(), values.end(), [](double value) { return value >= near_best; });
  return {{"summary", measure.first},
          {"threads", std::int64_t{threads}},
          {"state", state},
          {"shapes", static_cast<std::int64_t>(values.size())},
          {"geometric_mean", geometric_mean(values)},
          {"worst_decile", percentile(values, worst_decile)},
          {"share_at_0.97", static_cast<double>(good) / static_cast<double>(values.size())}};
}

std::string lost_heading(std::size_t count) {
  return fmt::format("{} shapes below {} of the best peer", count, lost);
}

}  // namespace

std::optional<double> OpRecord::ratio_best() const {
  std::optional<double> best;
  for (const std::optional<double>& ratio : ratios) {
    if (ratio) best = best ? std::min(*best, *ratio) : *ratio;
  }
  return best;
}

std::vector<Row> summary_rows(const std::vector<OpRecord>& records,
                              const std::vector<std::string>& peers) {
  std::set<std::pair<int, std::string>> settings;
  for (const OpRecord& record : records) settings.emplace(record.threads, record.state);
  std::vector<Row> rows;
  for (const auto& [threads, state] : settings) {
    for (const Measure& measure : measures_of(peers)) {
      std::vector<double> values;
      for (const OpRecord& record : records) {
        if (record.threads != threads || record.state != state) continue;
        if (const std::optional<double> value = measure.second(record)) values.push_back(*value);
      }
      if (!values.empty()) rows.push_back(summary_row(measure, threads, state, values));
    }
  }
  return rows;
}

std::vector<std::string> lost_shapes(const std::vector<OpRecord>& records,
                                     const std::vector<std::string>& peers) {
  std::vector<std::pair<double, std::string>> found;
  for (const OpRecord& record : records) {
    const std::optional<double> best = record.ratio_best();
    if (!best || *best >= lost) continue;
    const std::size_t peer = static_cast<std::size_t>(
        std::find(record.ratios.begin(), record.ratios.end(), best) - record.ratios.begin());
    found.emplace_back(*best, fmt::format("{} threads={} {}: {:.3f} of {}", record.label,
                                          record.threads, record.state, *best, peers[peer]));
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> lines;
  for (const auto& [ratio, line] : found) lines.push_back(line);
  return lines;
}

std::string report_text(const std::vector<OpRecord>& records, const std::vector<std::string>& peers,
                        Format format) {
  std::vector<Row> rows;
  for (const OpRecord& record : records) rows.push_back(record.row);
  const std::vector<Row> summary = summary_rows(records, peers);
  const std::vector<std::string> lines = lost_shapes(records, peers);
  if (format == Format::json) {
    rows.insert(rows.end(), summary.begin(), summary.end());
    for (const std::string& line : lines)
      rows.push_back({{"summary", std::string("lost")}, {"shape", line}});
    return to_text(rows, format);
  }
  std::string text = to_text(rows, format);
  if (format == Format::md) {
    text += "\n" + to_text(summary, format);
    if (!lines.empty()) text += fmt::format("\n{}:\n\n", lost_heading(lines.size()));
    for (const std::string& line : lines) text += "- " + line + "\n";
    return text;
  }
  for (const Row& row : summary) text += csv_comment(row);
  if (!lines.empty()) text += fmt::format("# {}:\n", lost_heading(lines.size()));
  for (const std::string& line : lines) text += "# lost: " + line + "\n";
  return text;
}

}  // namespace dyn::cli
