#include "src/cli/select/selected_cases.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/cli/op/op_cases.hpp"
#include "src/cli/op/op_model.hpp"
#include "src/cli/select/random_shapes.hpp"

namespace dyn::cli {
namespace {

bool has_attribute(const OpProblem& problem, const char* name, const char* value) {
  const std::pair<std::string, std::string> wanted(name, value);
  return std::ranges::find(problem.attributes, wanted) != problem.attributes.end();
}

double elements_of(const OpCase& test, std::size_t operand) {
  return static_cast<double>(
      element_count(shape_of(test.problem.operands.at(operand), test.values)));
}

/// Steps of the reductions behind each element of the result; 1 where the operator has none.
double terms_of(const OpCase& test) {
  const OpProblem& problem = test.problem;
  const Shape first = shape_of(problem.operands.at(0), test.values);
  if (problem.op == "matmul") {
    const bool transposed = has_attribute(problem, "transpose_a", "true");
    return static_cast<double>(first.at(first.size() - (transposed ? 2 : 1)));
  }
  if (problem.op == "conv")  // the filter's elements for one channel of the result
    return elements_of(test, 1) /
           std::max(1.0, static_cast<double>(shape_of(problem.operands[1], test.values).back()));
  if (problem.op == "attention") {
    const Shape keys = shape_of(problem.operands.at(1), test.values),
                values = shape_of(problem.operands.at(2), test.values);
    const auto depth = static_cast<double>(keys.back()), width = static_cast<double>(values.back());
    const bool causal = has_attribute(problem, "causal", "true");
    const auto count = static_cast<double>(keys.at(keys.size() - 2)),
               queries = static_cast<double>(first.at(first.size() - 2));
    const double seen = causal ? count - (queries - 1) / 2 : count;
    return seen * (depth + width) / std::max(1.0, width);
  }
  return 1;
}

/// A multiplication and an addition for each output and step of the reduction.
double operations_of(const OpCase& test) {
  const Shape result = result_of(test.problem, test.values).shape;
  return 2 * terms_of(test) * static_cast<double>(element_count(result));
}

}  // namespace

// Only types have brackets.
Arguments with_problems(Arguments arguments) {
  const std::vector<std::string>& words = arguments.select.words;
  const auto is_types = [](const std::string& word) { return word.find('[') != std::string::npos; };
  if (words.size() == 2 && is_types(words[1])) {
    arguments.op.op = words[0];
    arguments.op.types = words[1];
  } else {
    for (const std::string& word : words) {
      if (is_types(word))
        throw Error(
            ErrorKind::user,
            fmt::format("\"{}\": give an OPERATOR and the TYPES of its operands, or SUITE files",
                        word));
    }
    arguments.op.suites = words;
  }
  return arguments;
}

SelectedCases selected_cases(const Arguments& given) {
  const SelectArguments& select = given.select;
  SelectedCases selected{requested_cases(given)};
  std::vector<OpCase>& cases = selected.cases;
  if (select.random_only && select.random == 0)
    throw Error(ErrorKind::user, "--random-only needs --random: how many shapes to draw");
  if (select.random > 0) {
    std::vector<OpCase> drawn = random_shapes(cases, select.random, given.options.seed);
    if (select.random_only) cases.clear();
    cases.insert(cases.end(), drawn.begin(), drawn.end());
  }
  for (const OpCase& test : cases) {
    const OpResult result = result_of(
        test.problem, test.values);  // reports unsuitable problems before anything is timed
    if (result.dtype != DType::f32)
      throw Error(ErrorKind::unsupported,
                  fmt::format("{}: dynrun select compares results in f32 only", describe(test)));
  }
  if (select.most_gflop > 0) {
    selected.left_out = std::erase_if(
        cases, [&](const OpCase& test) { return operations_of(test) > select.most_gflop * 1e9; });
    if (cases.empty())
      throw Error(
          ErrorKind::user,
          fmt::format("no problem has at most {:g} GFLOP: raise --most-gflop", select.most_gflop));
  }
  return selected;
}

}  // namespace dyn::cli
