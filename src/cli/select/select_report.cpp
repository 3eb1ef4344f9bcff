#include "src/cli/select/select_report.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "src/base/statistics.hpp"
#include "src/cli/report/units.hpp"

namespace dyn::cli {
namespace {

constexpr double tie = 1.01;
constexpr double low_percentile = 5, high_percentile = 95;
constexpr const char* all_suites = "all";

using Shapes = std::vector<const ShapeRecord*>;

/// One suite at one number of threads.
struct Setting {
  std::string suite;
  int threads = 1;
  Shapes shapes;
};

std::vector<Setting> settings_of(const std::vector<ShapeRecord>& records) {
  std::vector<std::string> suites;
  std::set<int> threads;
  for (const ShapeRecord& record : records) {
    if (std::find(suites.begin(), suites.end(), record.suite) == suites.end())
      suites.push_back(record.suite);
    threads.insert(record.threads);
  }
  if (suites.size() > 1) suites.emplace_back(all_suites);
  std::vector<Setting> settings;
  for (const std::string& suite : suites) {
    for (const int count : threads) {
      Setting setting{suite, count, {}};
      for (const ShapeRecord& record : records) {
        const bool of_suite = record.suite == suite || (suites.size() > 1 && suite == all_suites);
        if (of_suite && record.threads == count) setting.shapes.push_back(&record);
      }
      settings.push_back(std::move(setting));
    }
  }
  return settings;
}

/// The least seconds of all policies that predict.
std::optional<double> least_seconds(const ShapeRecord& shape) {
  std::optional<double> least;
  for (const PolicyRecord& policy : shape.policies) {
    if (policy.is_oracle() || !policy.measured_seconds) continue;
    least = least ? std::min(*least, *policy.measured_seconds) : *policy.measured_seconds;
  }
  return least;
}

/// All records of one policy in one setting.
struct PolicySums {
  std::vector<double> ratios, candidates, fresh, remembered;
  std::string worst_shape;
  std::int64_t best = 0;

  PolicySums(const Shapes& shapes, std::size_t index) {
    double worst = 0;
    for (const ShapeRecord* shape : shapes) {
      const PolicyRecord& policy = shape->policies[index];
      const std::optional<double> ratio = shape->ratio(policy);
      if (!ratio) continue;
      if (ratios.empty() || *ratio < worst) {
        worst = *ratio;
        worst_shape = shape->shape;
      }
      ratios.push_back(*ratio);
      candidates.push_back(static_cast<double>(policy.candidates));
      if (*policy.measured_seconds <= tie * least_seconds(*shape).value_or(0)) ++best;
      fresh.insert(fresh.end(), policy.choosing.fresh.begin(), policy.choosing.fresh.end());
      remembered.insert(remembered.end(), policy.choosing.remembered.begin(),
                        policy.choosing.remembered.end());
    }
  }
};

void add_times(Row& row, const std::string& name, const std::vector<double>& samples) {
  row.emplace_back(name, samples.empty() ? Cell() : Cell(percentile(samples, 50) * ns));
  row.emplace_back(name + "_p95",
                   samples.empty() ? Cell() : Cell(percentile(samples, high_percentile) * ns));
}

Row head_of(const Setting& setting, const std::string& summary, std::size_t shapes,
            const std::string& basis) {
  Row row{{"summary", summary}};
  if (!setting.suite.empty()) row.emplace_back("suite", setting.suite);
  row.emplace_back("threads", std::int64_t{setting.threads});
  row.emplace_back("shapes", static_cast<std::int64_t>(shapes));
  row.emplace_back("times", basis);
  return row;
}

Row policy_row(const Setting& setting, std::size_t index, const std::string& basis) {
  const PolicySums sums(setting.shapes, index);
  Row row = head_of(setting, std::string(name_of(setting.shapes.front()->policies[index].policy)),
                    sums.ratios.size(), basis);
  if (sums.ratios.empty()) return row;
  row.emplace_back("geometric_mean", geometric_mean(sums.ratios));
  row.emplace_back("p5", percentile(sums.ratios, low_percentile));
  row.emplace_back("worst", percentile(sums.ratios, 0));
  row.emplace_back("share_best",
                   static_cast<double>(sums.best) / static_cast<double>(sums.ratios.size()));
  row.emplace_back("candidates", percentile(sums.candidates, 50));
  add_times(row, "choose_ns", sums.fresh);
  add_times(row, "remembered_ns", sums.remembered);
  row.emplace_back("worst_shape", sums.worst_shape);
  return row;
}

Row oracle_row(const Setting& setting, const SelectReport& report) {
  std::vector<double> programs, ratios;
  for (const ShapeRecord* shape : setting.shapes) {
    if (!shape->oracle_seconds) continue;
    programs.push_back(static_cast<double>(shape->programs));
    if (shape->peer_seconds) ratios.push_back(*shape->peer_seconds / *shape->oracle_seconds);
  }
  Row row = head_of(setting, "oracle", programs.size(), report.basis);
  if (!programs.empty()) {
    row.emplace_back("candidates", percentile(programs, 50));
    row.emplace_back("candidates_p5", percentile(programs, low_percentile));
  }
  if (report.peers && !ratios.empty()) {
    row.emplace_back("peer_shapes", static_cast<std::int64_t>(ratios.size()));
    row.emplace_back("peer_time_over_oracle", geometric_mean(ratios));
    row.emplace_back("peer_time_over_oracle_p5", percentile(ratios, low_percentile));
  }
  return row;
}

}  // namespace

std::vector<Row> summary_rows(const SelectReport& report) {
  std::vector<Row> rows;
  for (const Setting& setting : settings_of(report.shapes)) {
    if (setting.shapes.empty()) continue;
    const std::vector<PolicyRecord>& policies = setting.shapes.front()->policies;
    for (std::size_t i = 0; i < policies.size(); ++i) {
      if (!policies[i].is_oracle()) rows.push_back(policy_row(setting, i, report.basis));
    }
    rows.push_back(oracle_row(setting, report));
  }
  return rows;
}

std::string csv_lines(const ShapeRecord& shape, bool first) {
  std::vector<Row> rows;
  for (const PolicyRecord& policy : shape.policies) rows.push_back(csv_row(shape, policy));
  const std::string text = to_text(rows, Format::csv);
  return first ? text : text.substr(text.find('\n') + 1);
}

std::string report_text(const SelectReport& report, Format format) {
  const std::vector<Row> summary = summary_rows(report);
  if (format == Format::csv) {
    std::string text;
    for (const Row& row : summary) text += csv_comment(row);
    return text;
  }
  std::vector<Row> rows;
  for (const ShapeRecord& shape : report.shapes) {
    for (const PolicyRecord& policy : shape.policies) rows.push_back(csv_row(shape, policy));
  }
  if (format == Format::md) return to_text(rows, format) + "\n" + to_text(summary, format);
  rows.insert(rows.end(), summary.begin(), summary.end());
  return to_text(rows, format);
}

std::vector<PlotPanel> plot_panels(const SelectReport& report) {
  std::set<int> threads;
  for (const ShapeRecord& shape : report.shapes) threads.insert(shape.threads);
  std::vector<PlotPanel> panels;
  for (const int count : threads) {
    PlotPanel& panel = panels.emplace_back(
        PlotPanel{fmt::format("{} thread{}", count, count == 1 ? "" : "s"), {}});
    for (const ShapeRecord& shape : report.shapes) {
      if (shape.threads != count) continue;
      for (const PolicyRecord& policy : shape.policies) {
        const std::optional<double> ratio = shape.ratio(policy);
        if (policy.is_oracle() || !ratio) continue;
        const std::string name(name_of(policy.policy));
        auto line = std::find_if(panel.lines.begin(), panel.lines.end(),
                                 [&](const PlotLine& known) { return known.name == name; });
        if (line == panel.lines.end()) line = panel.lines.insert(line, PlotLine{name, {}});
        line->values.push_back(*ratio);
      }
    }
  }
  return panels;
}

}  // namespace dyn::cli
