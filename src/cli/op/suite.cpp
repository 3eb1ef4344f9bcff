#include "src/cli/op/suite.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dyn/error.hpp"
#include "src/cli/input/ranges.hpp"
#include "src/cli/op/suite_kinds.hpp"

namespace dyn::cli {
namespace {

using Words = std::vector<std::string>;

struct Line {
  const std::string& path;
  int number;
  std::string text;
  Words words;

  [[noreturn]] void fail(const std::string& problem) const {
    throw Error(ErrorKind::user, fmt::format("{}:{}: {}\n  {}", path, number, problem, text));
  }
};

Words words_of(const std::string& text) {
  std::istringstream stream(text.substr(0, text.find('#')));
  Words words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

const SuiteKind& kind_of(const Line& header) {
  if (const SuiteKind* kind = suite_kind(header.words)) return *kind;
  std::string known;
  for (const SuiteKind& kind : suite_kinds())
    known += fmt::format("\n    {}  ({})", fmt::join(kind.columns, " "), kind.what);
  header.fail("the columns are those of no problem; these are known:" + known);
}

std::vector<std::int64_t> sizes_in(const Line& line, const std::string& column,
                                   const std::string& word) {
  try {
    return parse_values(word);
  } catch (const Error& error) {
    line.fail(
        fmt::format("{} is \"{}\", which is neither sizes (7 or 1,8 or 1..512*2 or 16..128+16) nor "
                    "= and an earlier column: {}",
                    column, word, error.message()));
  }
}

/// A line before it is multiplied out.
struct Ranges {
  std::vector<DimValues> sizes;
  SuiteRow common;  ///< words and ties, which all cases share
};

Ranges ranges_of(const Line& line, const SuiteKind& kind) {
  const Words& columns = kind.columns;
  if (line.words.size() != columns.size()) {
    line.fail(fmt::format("expected {} words ({}), but there are {}", columns.size(),
                          fmt::join(columns, " "), line.words.size()));
  }
  Ranges ranges{{}, {&kind, {}, {}, {}}};
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string &column = columns[i], &word = line.words[i];
    if (const auto allowed = kind.words.find(column); allowed != kind.words.end()) {
      if (std::ranges::find(allowed->second, word) == allowed->second.end())
        line.fail(fmt::format("{} is \"{}\", which is none of {}", column, word,
                              fmt::join(allowed->second, ", ")));
      ranges.common.words[column] = word;
    } else if (word.starts_with('=')) {
      const std::string other = word.substr(1);
      if (std::ranges::find(ranges.sizes, other, &DimValues::name) == ranges.sizes.end())
        line.fail(
            fmt::format("{} is \"{}\", but there is no size {} before it", column, word, other));
      ranges.common.ties[column] = other;
    } else {
      ranges.sizes.push_back({column, sizes_in(line, column, word)});
    }
  }
  return ranges;
}

std::vector<DimMap> product_of(const Line& line, const std::vector<DimValues>& sizes) {
  try {
    return product(sizes);
  } catch (const Error&) { line.fail("the line stands for more than a million problems"); }
}

void append_cases(const Line& line, const SuiteKind& kind, std::vector<OpCase>& cases) {
  const Ranges ranges = ranges_of(line, kind);
  const std::string suite = std::filesystem::path(line.path).stem().string();
  for (DimMap& sizes : product_of(line, ranges.sizes)) {
    SuiteRow row = ranges.common;
    row.sizes = std::move(sizes);
    for (const auto& [column, other] : row.ties) row.sizes[column] = row.sizes.at(other);
    try {
      cases.push_back(kind.make(row));
    } catch (const Error& error) { line.fail(error.message()); }
    cases.back().suite = suite;
  }
}

}  // namespace

std::vector<OpCase> read_suite(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error(ErrorKind::device, fmt::format("{}: cannot be read", path));
  std::vector<OpCase> cases;
  const SuiteKind* kind = nullptr;
  Line line{path, 0, {}, {}};
  while (std::getline(file, line.text)) {
    ++line.number;
    line.words = words_of(line.text);
    if (line.words.empty()) continue;
    if (kind == nullptr)
      kind = &kind_of(line);
    else
      append_cases(line, *kind, cases);
  }
  if (cases.empty())
    throw Error(ErrorKind::user, fmt::format("{}: there is no problem in this file", path));
  return cases;
}

}  // namespace dyn::cli
