#include "tests/unit/reference/evaluate.hpp"

#include <cmath>
#include <cstddef>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dyn/error.hpp"
#include "graph/text/text.hpp"
#include "tests/support/graph_text.hpp"

namespace dyn::testing {
namespace {

reference::Array filled(const graph::TensorType& type, const Numbers& values) {
  std::vector<std::int64_t> dims;
  for (const auto dim : type.dims) dims.push_back(dim.constant().value());
  auto array = reference::make_array(type.dtype, dims);
  if (static_cast<std::size_t>(array.size()) != values.size()) {
    throw Error(ErrorKind::user, "the test gives a wrong number of values");
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (is_float(type.dtype)) {
      array.floats[i] = values[i];
    } else {
      array.integers[i] = static_cast<std::int64_t>(values[i]);
    }
  }
  return array;
}

reference::Array no_weights(graph::ValueId) {
  throw Error(ErrorKind::user, "the test has no weights");
}

}  // namespace

std::vector<reference::Array> evaluate_all(const std::string& statement, const std::string& results,
                                           const std::vector<Argument>& arguments,
                                           reference::Precision precision) {
  std::vector<std::string> parameters;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    parameters.push_back(fmt::format("{}: {}", static_cast<char>('a' + i), arguments[i].type));
  }
  const auto text =
      graph_text({}, fmt::format("{}", fmt::join(parameters, ", ")), results, statement);
  const auto module = graph::parse(text);
  std::vector<reference::Array> inputs;
  std::vector<std::vector<std::int64_t>> dims;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    inputs.push_back(filled(module.value(module.inputs[i]).type, arguments[i].values));
    dims.push_back(inputs.back().dims);
  }
  return reference::run(module, reference::bind_symbols(module, dims), inputs, no_weights,
                        precision);
}

reference::Array evaluate(const std::string& expression, const std::string& result,
                          const std::vector<Argument>& arguments, reference::Precision precision) {
  return evaluate_all("r = " + expression, "r: " + result, arguments, precision).at(0);
}

Numbers numbers(const reference::Array& array) {
  if (is_float(array.dtype)) return array.floats;
  return Numbers(array.integers.begin(), array.integers.end());
}

bool close(const Numbers& actual, const Numbers& expected, double tolerance) {
  bool good = actual.size() == expected.size();
  for (std::size_t i = 0; good && i < actual.size(); ++i) {
    good = actual[i] == expected[i] || (std::isnan(actual[i]) && std::isnan(expected[i])) ||
           std::fabs(actual[i] - expected[i]) <= tolerance;
  }
  if (!good) fmt::print(stderr, "actual   {}\nexpected {}\n", actual, expected);
  return good;
}

}  // namespace dyn::testing
