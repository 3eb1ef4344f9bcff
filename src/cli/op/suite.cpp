#include "src/cli/op/suite.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/cli/input/ranges.hpp"

namespace dyn::cli {
namespace {

using Words = std::vector<std::string>;

const Words constant_columns = {"M", "N", "K"};
const Words fresh_columns = {"M", "N", "K", "TA", "TB"};
const Words conv_columns = {"IC", "IH", "IW", "OC", "KH", "KW", "SH",
                            "SW", "PT", "PL", "PB", "PR", "G"};

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

/// True for the columns of convolutions, with or without the batch, which then is free.
bool is_convolutions(const Words& columns) {
  const bool has_batch = !columns.empty() && columns.front() == "N";
  return std::equal(columns.begin() + has_batch, columns.end(), conv_columns.begin(),
                    conv_columns.end());
}

void check_header(const Line& line) {
  if (line.words == constant_columns || line.words == fresh_columns || is_convolutions(line.words))
    return;
  line.fail(
      fmt::format("the columns must be \"M N K\" (constant weight), \"M N K TA TB\" (both operands "
                  "fresh) or, of convolutions, \"{}\", with or without N before them",
                  fmt::join(conv_columns, " ")));
}

bool transposed(const Line& line, const std::string& word) {
  if (word != "N" && word != "T")
    line.fail(fmt::format("\"{}\" says neither N (as it is) nor T (transposed)", word));
  return word == "T";
}

OpProblem matmul_of(const Line& line, bool constant) {
  if (constant) return constant_matmul(line.words[1], line.words[2]);
  OpProblem problem{
      "matmul", {}, {{false, DType::f32, {"M", "K"}}, {false, DType::f32, {"K", "N"}}}};
  const char* names[] = {"transpose_a", "transpose_b"};
  for (std::size_t i = 0; i < problem.operands.size(); ++i) {
    if (!transposed(line, line.words[3 + i])) continue;
    problem.attributes.emplace_back(names[i], "true");
    std::swap(problem.operands[i].dims[0], problem.operands[i].dims[1]);
  }
  return problem;
}

std::int64_t size_in(const Line& line, const std::string& column, const std::string& word) {
  try {
    return parse_integer(word, line.text);
  } catch (const Error&) {
    line.fail(fmt::format("{} is \"{}\", which is not a size", column, word));
  }
}

/// Batch and resolution are names, as in a program that runs at any size; filters are constant.
OpCase conv_of(const Line& line, const Words& columns) {
  OpCase test;
  DimMap of;
  for (std::size_t i = 0; i < columns.size(); ++i)
    of[columns[i]] = size_in(line, columns[i], line.words[i]);
  const std::int64_t groups = of.at("G");
  if (groups < 1 || of.at("IC") % groups != 0)
    line.fail(fmt::format("G is {}, which does not divide IC", groups));
  const auto word = [&](const char* column) { return fmt::format("{}", of.at(column)); };
  const auto pair = [&](const char* first, const char* second) {
    return fmt::format("[{},{}]", of.at(first), of.at(second));
  };
  test.problem = {
      "conv",
      {{"strides", pair("SH", "SW")},
       {"before", pair("PT", "PL")},
       {"after", pair("PB", "PR")},
       {"groups", word("G")}},
      {{false, DType::f32, {"N", "IH", "IW", word("IC")}},
       {true,
        DType::f32,
        {word("KH"), word("KW"), fmt::format("{}", of.at("IC") / groups), word("OC")}}}};
  for (const char* name : {"N", "IH", "IW", "IC", "OC", "KH", "KW"}) {
    test.names.emplace_back(name);
    if (of.contains(name)) test.values[name] = of.at(name);
  }
  return test;
}

OpCase case_of(const Line& line, const Words& columns) {
  if (line.words.size() != columns.size()) {
    line.fail(fmt::format("expected {} words ({}), but there are {}", columns.size(),
                          fmt::join(columns, " "), line.words.size()));
  }
  OpCase test;
  if (is_convolutions(columns)) {
    test = conv_of(line, columns);
  } else {
    for (std::size_t i = 0; i < constant_columns.size(); ++i) {
      test.values[columns[i]] = size_in(line, columns[i], line.words[i]);
      test.names.push_back(columns[i]);
    }
    test.problem = matmul_of(line, columns == constant_columns);
  }
  test.suite = std::filesystem::path(line.path).stem().string();
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
  if (cases.empty())
    throw Error(ErrorKind::user, fmt::format("{}: there is no problem in this file", path));
  return cases;
}

}  // namespace dyn::cli
