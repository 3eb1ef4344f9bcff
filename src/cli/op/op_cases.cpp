#include "src/cli/op/op_cases.hpp"

#include <algorithm>
#include <optional>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dyn/error.hpp"
#include "src/cli/input/ranges.hpp"
#include "src/cli/op/op_model.hpp"

namespace dyn::cli {
namespace {

std::vector<OpCase> cases_from_types(const Arguments& arguments) {
  OpCase base;
  base.problem = {arguments.op.op, {}, parse_operands(arguments.op.types)};
  for (const std::string& text : arguments.op.attributes)
    base.problem.attributes.push_back(parse_attribute(text));
  base.names = dim_names(base.problem.operands);
  std::vector<DimValues> dims;
  for (const std::string& text : arguments.dims) {
    dims.push_back(parse_dim_values(text));
    if (std::find(base.names.begin(), base.names.end(), dims.back().name) == base.names.end()) {
      throw Error(ErrorKind::user, fmt::format("--dims {}: no operand has that dim", text));
    }
  }
  std::vector<OpCase> cases;
  for (const DimMap& values : product(dims)) {
    cases.push_back(base);
    cases.back().values = values;
  }
  return cases;
}

/// A case without a batch becomes one case for each N that --dims names; without --dims, N is 1.
std::vector<OpCase> with_free_batch(const std::vector<OpCase>& cases,
                                    const std::vector<std::string>& dims) {
  const auto is_free = [](const OpCase& test) {
    return !test.values.contains("N") && std::ranges::find(test.names, "N") != test.names.end();
  };
  if (!dims.empty() && std::ranges::none_of(cases, is_free))
    throw Error(ErrorKind::user, "--dims does not go with --suite, but for convolutions without N");
  std::vector<DimValues> given;
  for (const std::string& text : dims) {
    given.push_back(parse_dim_values(text));
    if (given.back().name != "N")
      throw Error(ErrorKind::user,
                  fmt::format("--dims {}: the suite says what {} is", text, given.back().name));
  }
  std::vector<OpCase> all;
  for (const OpCase& test : cases) {
    for (const DimMap& values : is_free(test) ? product(given) : std::vector<DimMap>{{}}) {
      all.push_back(test);
      if (is_free(test)) all.back().values["N"] = values.contains("N") ? values.at("N") : 1;
    }
  }
  return all;
}

/// Gives the operands of each case the dtypes in the list.
void set_dtypes(std::vector<OpCase>& cases, const std::string& list) {
  std::vector<DType> dtypes;
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');) {
    const std::optional<DType> dtype = parse_dtype(word);
    if (!dtype)
      throw Error(ErrorKind::user, fmt::format("--dtypes {}: \"{}\" is no dtype", list, word));
    dtypes.push_back(*dtype);
  }
  for (OpCase& test : cases) {
    std::vector<OpOperand>& operands = test.problem.operands;
    if (operands.size() != dtypes.size())
      throw Error(ErrorKind::user, fmt::format("--dtypes {}: {} has {} operands", list,
                                               test.problem.op, operands.size()));
    for (std::size_t i = 0; i < dtypes.size(); ++i) operands[i].dtype = dtypes[i];
  }
}

}  // namespace

std::vector<OpCase> requested_cases(const Arguments& arguments) {
  const OpArguments& op = arguments.op;
  if (op.op.empty() && op.suites.empty())
    throw Error(ErrorKind::user, "give an OPERATOR and the TYPES of its operands, or --suite FILE");
  if (op.suites.empty() == op.types.empty())
    throw Error(ErrorKind::user, "give either the TYPES of the operands, or --suite FILE");
  if (!op.dtypes.empty() && op.suites.empty())
    throw Error(ErrorKind::user, "--dtypes goes with --suite; TYPES say them themselves");
  if (!op.types.empty()) return cases_from_types(arguments);
  if (!op.attributes.empty()) throw Error(ErrorKind::user, "--attr does not go with --suite");
  std::vector<OpCase> cases;
  for (const std::string& path : op.suites) {
    const std::vector<OpCase> read = read_suite(path);
    cases.insert(cases.end(), read.begin(), read.end());
  }
  if (!op.dtypes.empty()) set_dtypes(cases, op.dtypes);
  const auto other = std::ranges::find_if(
      cases, [&](const OpCase& test) { return !op.op.empty() && test.problem.op != op.op; });
  if (other != cases.end())
    throw Error(ErrorKind::user, fmt::format("--suite {} holds shapes of {}, not of {}",
                                             other->suite, other->problem.op, op.op));
  return with_free_batch(cases, arguments.dims);
}

std::string describe(const OpCase& test) {
  std::string text = test.problem.op;
  if (!test.names.empty()) text += ' ' + describe_dims(test);
  for (const auto& [name, value] : test.problem.attributes)
    text += fmt::format(" {}={}", name, value);
  return text;
}

std::string describe_dims(const OpCase& test) {
  std::string text;
  for (const std::string& name : test.names)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, test.values.at(name));
  return text;
}

std::string problem_line(const OpCase& test, int copies) {
  std::string line = fmt::format("problem {} copies={}", test.problem.op, copies);
  const auto add = [&](const char* kind, DType dtype, const Shape& shape) {
    line += fmt::format(" {}={}:{}", kind, name_of(dtype), fmt::join(shape, "x"));
  };
  for (const auto& [name, value] : test.problem.attributes)
    line += fmt::format(" @{}={}", name, value);
  for (const OpOperand& operand : test.problem.operands) {
    add(operand.constant ? "weight" : "input", operand.dtype, shape_of(operand, test.values));
  }
  const OpResult result = result_of(test.problem, test.values);
  add("output", result.dtype, result.shape);
  return line;
}

}  // namespace dyn::cli
