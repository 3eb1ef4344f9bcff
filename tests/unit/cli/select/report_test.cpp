// The output and plots of dynrun select.

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <unistd.h>

#include <doctest/doctest.h>

#include "dyn/error.hpp"
#include "src/cli/select/plot.hpp"
#include "src/cli/select/select_report.hpp"

using namespace dyn;
using namespace dyn::cli;
using rkernel::Policy;

namespace {

ShapeRecord shape_of(const std::string& suite, const std::string& shape, int threads, double dyn,
                     double vortex, double oracle) {
  ShapeRecord record{suite, shape, threads, 60, oracle, std::nullopt, {}};
  record.policies.push_back({Policy::Dyn,
                             50,
                             "tile 14x32, block 1 x 2",
                             1e-6,
                             dyn,
                             {{2e-6, 4e-6, 3e-6}, {1e-7, 3e-7, 2e-7}}});
  record.policies.push_back({Policy::Vortex, 10, "a \"quoted\" one", 2e-6, vortex, {{1e-6}, {}}});
  record.policies.push_back({Policy::Vendor, 0, "none: not here", std::nullopt, std::nullopt, {}});
  record.policies.push_back({Policy::Oracle, 60, "best", std::nullopt, oracle, {}});
  return record;
}

SelectReport two_shapes() {
  return {{shape_of("s", "M=1 threads=1", 1, 10e-6, 20e-6, 10e-6),
           shape_of("s", "M=2 threads=1", 1, 16e-6, 15.9e-6, 4e-6)},
          "measured",
          false};
}

std::string all_csv(const SelectReport& report) {
  std::string text;
  for (const ShapeRecord& shape : report.shapes)
    text += csv_lines(shape, &shape == report.shapes.data());
  return text + report_text(report, Format::csv);
}

/// Elements are closed in order, attributes quoted, text escaped; returns how many elements of a
/// name there are, or -1 where it is not well formed.
int count_elements(const std::string& xml, const std::string& wanted) {
  std::vector<std::string> open;
  int found = 0;
  for (std::size_t at = 0; at < xml.size();) {
    if (xml[at] == '>') return -1;
    if (xml[at] == '&' && xml.compare(at, 4, "&lt;") != 0 && xml.compare(at, 4, "&gt;") != 0 &&
        xml.compare(at, 5, "&amp;") != 0 && xml.compare(at, 6, "&quot;") != 0) {
      return -1;
    }
    if (xml[at] != '<') {
      ++at;
      continue;
    }
    const std::size_t end = xml.find('>', at);
    if (end == std::string::npos) return -1;
    std::string tag = xml.substr(at + 1, end - at - 1);
    at = end + 1;
    if (tag.find('<') != std::string::npos || std::count(tag.begin(), tag.end(), '"') % 2 != 0)
      return -1;
    const bool closes = tag.starts_with('/'), alone = tag.ends_with('/');
    if (closes) tag.erase(0, 1);
    const std::string name = tag.substr(0, tag.find_first_of(" /"));
    if (closes) {
      if (open.empty() || open.back() != name) return -1;
      open.pop_back();
      continue;
    }
    if (name == wanted) ++found;
    if (!alone) open.push_back(name);
  }
  return open.empty() ? found : -1;
}

}  // namespace

TEST_CASE("select: the CSV has these columns, quoted, and the summary behind #") {
  const std::string text = all_csv(two_shapes());
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  CHECK(line == "shape,policy,candidates,program,predicted_ns,measured_ns,choose_ns");
  std::getline(lines, line);
  CHECK(line == "M=1 threads=1,dyn,50,\"tile 14x32, block 1 x 2\",1000,10000,3000");
  std::getline(lines, line);
  CHECK(line == "M=1 threads=1,vortex,10,\"a \"\"quoted\"\" one\",2000,20000,1000");
  std::getline(lines, line);
  CHECK(line == "M=1 threads=1,vendor,0,none: not here,,,");
  std::getline(lines, line);
  CHECK(line == "M=1 threads=1,oracle,60,best,,10000,");
  for (int i = 0; i < 4; ++i) std::getline(lines, line);
  std::vector<std::string> comments;
  while (std::getline(lines, line)) comments.push_back(line);
  REQUIRE(comments.size() == 4);
  // 10/10 and 4/16: their geometric mean is a half.
  CHECK(comments[0] ==
        "# summary=dyn suite=s threads=1 shapes=2 times=measured geometric_mean=0.5 p5=0.2875 "
        "worst=0.25 share_best=1 candidates=50 choose_ns=3000 "
        "choose_ns_p95=4000 remembered_ns=200 remembered_ns_p95=300 worst_shape=M=2 threads=1");
  CHECK(comments[1].find(
            "share_best=0.5 candidates=10 choose_ns=1000 choose_ns_p95=1000 worst_shape=M=2") !=
        std::string::npos);
  CHECK(comments[2] == "# summary=vendor suite=s threads=1 shapes=0 times=measured");
  CHECK(
      comments[3] ==
      "# summary=oracle suite=s threads=1 shapes=2 times=measured candidates=60 candidates_p5=60");
}

TEST_CASE("select: a summary for each suite and number of threads, and for all suites together") {
  SelectReport report = two_shapes();
  report.shapes.push_back(shape_of("t", "M=3 threads=1", 1, 1, 1, 1));
  report.shapes.push_back(shape_of("t", "M=3 threads=2", 2, 1, 1, 1));
  report.peers = true;
  report.shapes[0].peer_seconds = 20e-6;
  report.shapes[2].peer_seconds = 0.5;
  const std::vector<Row> rows = summary_rows(report);
  CHECK(rows.size() == 4 * (1 + 2 + 2));  // s has no two threads
  const std::string text = all_csv(report);
  CHECK(text.find("# summary=dyn suite=all threads=1 shapes=3") != std::string::npos);
  CHECK(text.find("# summary=dyn suite=all threads=2 shapes=1") != std::string::npos);
  CHECK(text.find("# summary=oracle suite=all threads=1 shapes=3 times=measured candidates=60 "
                  "candidates_p5=60 peer_shapes=2 peer_time_over_oracle=1 ") != std::string::npos);
  CHECK(report_text(report, Format::json).find("\"summary\": \"oracle\"") != std::string::npos);
  CHECK(report_text(report, Format::md).find("| geometric_mean |") != std::string::npos);
}

TEST_CASE("select: shapes without anything to compute are no part of a summary") {
  SelectReport report = two_shapes();
  ShapeRecord empty{"s", "M=0 threads=1", 1, 0, std::nullopt, std::nullopt, {}};
  for (const Policy policy : {Policy::Dyn, Policy::Vortex, Policy::Vendor, Policy::Oracle}) {
    empty.policies.push_back(
        {policy, 0, "none: there is nothing to compute", std::nullopt, std::nullopt, {}});
  }
  const std::vector<Row> before = summary_rows(report);
  report.shapes.push_back(empty);
  CHECK(summary_rows(report) == before);
  CHECK(all_csv(report).find("M=0 threads=1,dyn,0,none: there is nothing to compute,,,\n") !=
        std::string::npos);
  const SelectReport nothing{{empty}, "measured", false};
  CHECK(report_text(nothing, Format::csv).find("# summary=dyn suite=s threads=1 shapes=0") !=
        std::string::npos);
  CHECK(count_elements(ratio_plot("t", "v", plot_panels(nothing)), "polyline") == 0);
}

TEST_CASE(
    "select: the plot is well-formed, with a line for each policy and a panel for each number of "
    "threads") {
  SelectReport report = two_shapes();
  report.shapes.push_back(shape_of("s", "M=1 threads=2", 2, 1, 1, 1));
  const std::vector<PlotPanel> panels = plot_panels(report);
  REQUIRE(panels.size() == 2);
  CHECK(panels[0].title == "1 thread");
  CHECK(panels[1].title == "2 threads");
  REQUIRE(panels[0].lines.size() == 2);  // neither the oracle nor a policy without programs
  CHECK(panels[0].lines[0].name == "dyn");
  CHECK(panels[0].lines[0].values.size() == 2);
  const std::string svg = ratio_plot("a < b & \"c\"", "oracle's time", panels);
  CHECK(count_elements(svg, "polyline") == 4);
  CHECK(count_elements(svg, "text") > 20);
  CHECK(svg.find("a &lt; b &amp; &quot;c&quot;") != std::string::npos);
  CHECK(svg.find("nan") == std::string::npos);
  CHECK(svg.find("transform=\"rotate(") != std::string::npos);
  CHECK(count_elements("<a><b></a></b>", "a") == -1);
  CHECK(count_elements("<a b=\"></a>", "a") == -1);
}

TEST_CASE("select: a plot that cannot be written") {
  CHECK_THROWS_WITH_AS(write_plot("/nowhere/plot.svg", ""),
                       doctest::Contains("--plot /nowhere/plot.svg: cannot be written"), Error);
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("dyn-plot-" + std::to_string(getpid()) + ".svg");
  write_plot(path.string(), "<svg/>");
  std::ifstream file(path);
  std::string text;
  std::getline(file, text);
  CHECK(text == "<svg/>");
  std::filesystem::remove(path);
}
