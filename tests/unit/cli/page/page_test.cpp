// Pages of reports: what is in them, and their data back.

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "dyn/error.hpp"
#include "src/cli/page/page.hpp"
#include "src/cli/page/run_data.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace dyn;
using namespace dyn::cli;

namespace {

const char* const nasty = R"(</script><script>alert("1")</script><!-- & 'é)";

Profile small_profile() {
  Profile profile;
  profile.start_ns = 1'000'000'000'000'000;
  profile.end_ns = profile.start_ns + 900;
  profile.threads = 2;
  profile.arena_bytes = 256;
  profile.groups.push_back({.name = nasty,
                            .operators = "matmul",
                            .kernel = "",
                            .program = "8x32",
                            .device = "cpu/avx2",
                            .flops = 100,
                            .bytes = 50,
                            .tickets = 8});
  profile.events.push_back({Profile::Kind::copy, 0, profile.start_ns + 10, profile.start_ns + 20});
  profile.events.push_back(
      {Profile::Kind::group, 0, profile.start_ns + 100, profile.start_ns + 800});
  for (int i = 0; i < 4; ++i)
    profile.slices.push_back({1, i / 2, 0, 2 * i, 2, profile.start_ns + 100 + 50 * (i % 2),
                              profile.start_ns + 140 + 50 * (i % 2)});
  profile.buffers.push_back({"a <b>", false, 64, 128, 0, 1});
  return profile;
}

ReportData small_report() {
  return {{"format", "dyn-report"},
          {"version", report_version},
          {"dyn", "0.1.0"},
          {"made", "today"},
          {"model", nasty},
          {"machine", "a CPU"},
          {"device", "cpu/avx2"},
          {"options", {{"threads", "2"}}},
          {"loads", ReportData::array({{{"load", "this"}, {"total_ms", 12.5}}})},
          {"peak", nullptr},
          {"peers", ReportData::array()},
          {"shapes", ReportData::array({{{"dims", {{"S", 3}}},
                                         {"threads", 2},
                                         {"times", {{"median_ms", 0.25}, {"limit_ms", nullptr}}},
                                         {"peers", ReportData::object()},
                                         {"run", run_data(small_profile())},
                                         {"choices", ReportData::array()}}})}};
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

std::string written(const testing::TemporaryFolder& folder, const std::string& name,
                    const std::string& text) {
  const std::string path = (std::filesystem::path(folder.path()) / name).string();
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

void check_refused(const ReportData& data, const std::string& reason) {
  CAPTURE(reason);
  CHECK(problem_of(data).find(reason) != std::string::npos);
}

}  // namespace

TEST_CASE("a page gives its data back, whatever names are in it") {
  const testing::TemporaryFolder folder;
  const std::string page = page_of(nasty, small_report());
  CHECK(read_report(written(folder, "a.html", page)) == small_report());
  CHECK(read_report(written(folder, "a.json", data_text(small_report()))) == small_report());
  const std::string again = (std::filesystem::path(folder.path()) / "again.json").string();
  write_report(again, "title", small_report());
  CHECK(read_report(again) == small_report());
  ReportData tricky = small_report();
  tricky["model"] = R"(<script type="application/json" id="data">{}</script>)";
  CHECK(read_report(written(folder, "b.json", data_text(tricky))) == tricky);
  CHECK(read_report(written(folder, "b.html", page_of("", tricky))) == tricky);
}

TEST_CASE("names of a page end no element and begin none") {
  const std::string page = page_of(nasty, small_report());
  CHECK(count_of(page, "<script") == 2);
  CHECK(count_of(page, "</script") == 2);
  CHECK(count_of(page, "<!--") == 0);
  CHECK(page.find("<title>&lt;/script>&lt;script>alert(\"1\")") != std::string::npos);
}

TEST_CASE("a page loads nothing from elsewhere") {
  const std::string page = page_of("title", small_report());
  CHECK(page.find("default-src 'none'") != std::string::npos);
  CHECK(count_of(page, "http") == count_of(page, "http://www.w3.org/2000/svg") + 1);  // http-equiv
  for (const char* part : {"src=", "<link", "@import", "url(", "fetch(", "XMLHttpRequest"})
    CHECK(count_of(page, part) == 0);
  CHECK(count_of(page, "{{") == 0);
}

TEST_CASE("bytes of names that are no UTF-8 are replaced") {
  ReportData report = small_report();
  report["model"] = "a\xff";
  const testing::TemporaryFolder folder;
  const ReportData read = read_report(written(folder, "a.html", page_of("a\xff", report)));
  CHECK(read["model"] == "a\xEF\xBF\xBD");
}

TEST_CASE("times of a run's data count from its start") {
  const ReportData run = run_data(small_profile());
  CHECK(run["duration_ns"] == 900);
  CHECK(run["events"] == ReportData::parse("[[1,0,10,20],[0,0,100,800]]"));
  CHECK(run["slices"][3] == ReportData::parse("[1,1,0,6,2,150,190]"));
  CHECK(run["buffers"][0] == ReportData::parse(R"(["a <b>",0,64,128,0,1])"));
}

TEST_CASE("of very many slices those of one thread in one stage become one") {
  Profile profile = small_profile();
  profile.slices.clear();
  constexpr int count = 30000;
  for (int thread = 0; thread < 2; ++thread)
    for (int i = 0; i < count; ++i)
      profile.slices.push_back({1, thread, 0, thread * count + i, 1, profile.start_ns + 100 + i,
                                profile.start_ns + 101 + i});
  const ReportData run = run_data(profile);
  CHECK(run["slices"] ==
        ReportData::parse("[[1,0,0,0,30000,100,30100],[1,1,0,30000,30000,100,30100]]"));
}

TEST_CASE("what is no report is refused with the reason") {
  CHECK(problem_of(small_report()).empty());
  check_refused(ReportData::parse("[1]"), "no report of one model");
  check_refused(compared(small_report(), small_report()), "no report of one model");
  ReportData report = small_report();
  report["version"] = 2;
  check_refused(report, "its version is 2, and this dyn reads 1");
  report["version"] = "one";
  check_refused(report, "its version is \"one\"");
  report.erase("version");
  check_refused(report, "its version is null");
  report["format"] = 1;
  check_refused(report, "no report of one model");
  report = small_report();
  report["shapes"] = 5;
  check_refused(report, "\"shapes\" are no list");
  report["shapes"] = ReportData::array({1});
  check_refused(report, "a shape lacks \"dims\"");
  report = small_report();
  report["model"] = 5;
  check_refused(report, "\"model\" is no text");
  report = small_report();
  report.erase("loads");
  check_refused(report, "it lacks \"loads\"");
  report = small_report();
  report["shapes"][0].erase("run");
  check_refused(report, "a shape lacks \"run\"");
  for (const auto& [rows, column, value] :
       {std::tuple("events", 1, 1), {"slices", 0, 2}, {"buffers", 5, 2}, {"events", 1, -1}}) {
    report = small_report();
    report["shapes"][0]["run"][rows][0][column] = value;
    check_refused(report, "the run of a shape is broken");
  }
  const testing::TemporaryFolder folder;
  CHECK_THROWS_WITH_AS(read_report(written(folder, "a.html", "<html>")),
                       doctest::Contains("it holds no report of one model; give a page or data"),
                       Error);
  CHECK_THROWS_AS(read_report("/nonexistent/page.html"), Error);
}

TEST_CASE("a comparison has both reports") {
  const ReportData both = compared(small_report(), small_report());
  CHECK(both["format"] == "dyn-comparison");
  CHECK(both["a"] == small_report());
  CHECK(both["b"] == small_report());
}
