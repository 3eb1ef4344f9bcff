#include "src/cli/op/suite.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/cli/ranges.hpp"

namespace dyn::cli {
namespace {

using Words = std::vector<std::string>;

const Words constant_columns = {"M", "N", "K"};
const Words fresh_columns = {"M", "N", "K", "TA", "TB"};

struct Line {
  const std::string& path;
  int number;
  std::string text;
  Words words;

  [[noreturn]] void fail(const std::string& problem, ErrorKind kind = ErrorKind::user) const {
    throw Error(kind, fmt::format("{}:{}: {}\n  {}", path, number, problem, text));
  }
};

Words words_of(const std::string& text) {
  std::istringstream stream(text.substr(0, text.find('#')));
  Words words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

void check_header(const Line& line) {
  if (line.words == constant_columns || line.words == fresh_columns) return;
  const auto has = [&](const char* name) { return std::find(line.words.begin(), line.words.end(), name) != line.words.end(); };
  if (has("KH") && has("KW")) {
    line.fail("this is a suite of convolutions, and dyn has no convolution yet", ErrorKind::unsupported);
  }
  line.fail("the columns must be \"M N K\" (constant weight) or \"M N K TA TB\" (both operands fresh)");
}

bool transposed(const Line& line, const std::string& word) {
  if (word != "N" && word != "T") line.fail(fmt::format("\"{}\" says neither N (as it is) nor T (transposed)", word));
  return word == "T";
}

OpProblem matmul_of(const Line& line, bool constant) {
  if (constant) return constant_matmul(line.words[1], line.words[2]);
  OpProblem problem{"matmul", {}, {{false, DType::f32, {"M", "K"}}, {false, DType::f32, {"K", "N"}}}};
  const char* names[] = {"transpose_a", "transpose_b"};
  for (std::size_t i = 0; i < problem.operands.size(); ++i) {
    if (!transposed(line, line.words[3 + i])) continue;
    problem.attributes.emplace_back(names[i], "true");
    std::swap(problem.operands[i].dims[0], problem.operands[i].dims[1]);
  }
  return problem;
}

OpCase case_of(const Line& line, const Words& columns) {
  if (line.words.size() != columns.size()) {
    line.fail(fmt::format("expected {} words ({}), but there are {}", columns.size(), fmt::join(columns, " "), line.words.size()));
  }
  OpCase test;
  test.suite = std::filesystem::path(line.path).stem().string();
  for (std::size_t i = 0; i < constant_columns.size(); ++i) {
    try {
      test.values[columns[i]] = parse_integer(line.words[i], line.text);
    } catch (const Error&) {
      line.fail(fmt::format("{} is \"{}\", which is not a size", columns[i], line.words[i]));
    }
    test.names.push_back(columns[i]);
  }
  test.problem = matmul_of(line, columns == constant_columns);
  return test;
}

}  // namespace

OpProblem constant_matmul(const std::string& n, const std::string& k) {
  return {"matmul", {}, {{false, DType::f32, {"M", k}}, {true, DType::f32, {k, n}}}};
}

std::vector<OpCase> read_suite(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error(ErrorKind::device, fmt::format("{}: cannot be read", path));
  std::vector<OpCase> cases;
  Words columns;
  Line line{path, 0, {}, {}};
  while (std::getline(file, line.text)) {
    ++line.number;
    line.words = words_of(line.text);
    if (line.words.empty()) continue;
    if (columns.empty()) {
      check_header(line);
      columns = line.words;
    } else {
      cases.push_back(case_of(line, columns));
    }
  }
  if (cases.empty()) throw Error(ErrorKind::user, fmt::format("{}: there is no problem in this file", path));
  return cases;
}

}  // namespace dyn::cli
