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

/// A multiplication and an addition for each output and step of K.
double operations_of(const OpCase& test) {
  const OpProblem& problem = test.problem;
  const bool transposed =
      std::ranges::find(problem.attributes, std::pair<std::string, std::string>(
                                                "transpose_a", "true")) != problem.attributes.end();
  const Shape a = shape_of(problem.operands.at(0), test.values);
  double operations = 2 * static_cast<double>(a.at(a.size() - (transposed ? 2 : 1)));
  for (const std::int64_t extent : result_of(problem, test.values).shape)
    operations *= static_cast<double>(extent);
  return operations;
}

}  // namespace

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
