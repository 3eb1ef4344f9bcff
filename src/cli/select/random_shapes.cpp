#include "src/cli/select/random_shapes.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include <fmt/format.h>

#include "dyn/error.hpp"

namespace dyn::cli {
namespace {

struct Range {
  std::int64_t low = 0, high = 0;
  void cover(std::int64_t value) {
    low = low == 0 ? value : std::min(low, value);
    high = std::max(high, value);
  }
};
using Ranges = std::map<std::string, Range>;  // by dim

std::int64_t draw(const Range& range, std::mt19937_64& generator) {
  const double low = std::log(static_cast<double>(range.low)),
               high = std::log(static_cast<double>(range.high));
  const double value =
      std::exp(std::uniform_real_distribution(low, std::nextafter(high, high + 1))(generator));
  return std::clamp<std::int64_t>(std::llround(value), range.low, range.high);
}

OpCase with_values(OpCase test, const DimMap& values) {
  if (test.problem.operands[1].constant)
    test.problem =
        constant_matmul(fmt::format("{}", values.at("N")), fmt::format("{}", values.at("K")));
  test.values = values;
  test.suite = "random";
  return test;
}

}  // namespace

std::vector<OpCase> random_shapes(const std::vector<OpCase>& cases, int count, std::uint64_t seed) {
  std::map<std::string, Ranges> suites;
  for (const OpCase& test : cases) {
    if (test.suite.empty())
      throw Error(ErrorKind::user,
                  "--random draws shapes in the ranges of suites: give it with SUITE files, not "
                  "with TYPES");
    // A size of 0 has no logarithm: a range begins at 1.
    for (const auto& [dim, value] : test.values)
      suites[test.suite][dim].cover(std::max<std::int64_t>(value, 1));
  }
  std::mt19937_64 generator(seed);
  std::vector<OpCase> drawn;
  for (int i = 0; i < count; ++i) {
    const OpCase& like =
        cases[std::uniform_int_distribution<std::size_t>(0, cases.size() - 1)(generator)];
    DimMap values;
    for (const auto& [dim, range] : suites[like.suite]) values[dim] = draw(range, generator);
    drawn.push_back(with_values(like, values));
  }
  return drawn;
}

}  // namespace dyn::cli
