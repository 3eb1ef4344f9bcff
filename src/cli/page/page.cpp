#include "src/cli/page/page.hpp"

#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/cli/input/written_file.hpp"
#include "src/cli/page/page_texts.hpp"
#include "src/cli/page/run_data.hpp"
#include "src/runtime/system/mapped_file.hpp"

namespace dyn::cli {
namespace {

constexpr std::string_view data_begins = R"(<script type="application/json" id="data">)";
constexpr std::string_view data_ends = "</script>";

std::string with_replaced(std::string_view text, char from, std::string_view to) {
  std::string result;
  for (const char c : text) {
    if (c == from)
      result += to;
    else
      result += c;
  }
  return result;
}

std::string escaped(const std::string& text) {
  return with_replaced(with_replaced(text, '&', "&amp;"), '<', "&lt;");
}

/// Each {{name}} of the skeleton becomes its text, in one walk: texts may have braces themselves.
std::string filled(std::string_view skeleton,
                   const std::vector<std::pair<std::string_view, std::string>>& texts) {
  std::string result;
  while (true) {
    const std::size_t begin = skeleton.find("{{");
    result += skeleton.substr(0, begin);
    if (begin == std::string_view::npos) return result;
    const std::size_t end = skeleton.find("}}", begin);
    const std::string_view name = skeleton.substr(begin + 2, end - begin - 2);
    for (const auto& [known, text] : texts) {
      if (known == name) result += text;
    }
    skeleton.remove_prefix(end + 2);
  }
}

/// The data of a page: it has no "<", so the element ends at the first one behind it. Data alone
/// begins with a brace, and may have anything in its strings.
std::string_view data_in(std::string_view text) {
  const std::size_t begin = text.find(data_begins);
  if (begin == std::string_view::npos || text.starts_with('{')) return text;
  text.remove_prefix(begin + data_begins.size());
  return text.substr(0, text.find(data_ends));
}

}  // namespace

std::string data_text(const ReportData& data) {
  return data.dump(-1, ' ', false, ReportData::error_handler_t::replace);
}

std::string page_of(const std::string& title, const ReportData& data) {
  // Only strings have "<": no name of a tensor ends the element or begins another.
  return filled(page_skeleton, {{"title", escaped(title)},
                                {"style", page_style},
                                {"data", with_replaced(data_text(data), '<', "\\u003c")},
                                {"scripts", page_scripts}});
}

ReportData read_report(const std::string& path) {
  const std::string text = runtime::read_text_file(path);
  ReportData data = ReportData::parse(data_in(text), nullptr, /*allow_exceptions=*/false);
  const std::string problem = problem_of(data);
  if (!problem.empty())
    throw Error(ErrorKind::user,
                fmt::format("{}: {}; give a page or data of dynrun report", path, problem));
  return data;
}

ReportData compared(const ReportData& first, const ReportData& second) {
  return {{"format", "dyn-comparison"}, {"version", report_version}, {"a", first}, {"b", second}};
}

void write_report(const std::string& path, const std::string& title, const ReportData& data) {
  write_file(path, [&](std::ostream& file) {
    if (path.ends_with(".json"))
      file << data_text(data) << '\n';
    else
      file << page_of(title, data);
  });
}

}  // namespace dyn::cli
