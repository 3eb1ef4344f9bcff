#include "src/cli/select/random_shapes.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "dyn/error.hpp"
#include "src/cli/op/suite_kinds.hpp"

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

/// The ranges of drawn columns that have a size in some case of a suite. A size of 0 has no
/// logarithm: a range begins at 1.
std::map<std::string, Ranges> ranges_of(const std::vector<OpCase>& cases) {
  std::map<std::string, Ranges> suites;
  for (const OpCase& test : cases) {
    if (test.row.kind == nullptr)
      throw Error(ErrorKind::user,
                  "--random draws shapes in the ranges of suites: give it with SUITE files, not "
                  "with TYPES");
    for (const std::string& column : test.row.kind->drawn) {
      if (const auto size = test.values.find(column); size != test.values.end())
        suites[test.suite][column].cover(std::max<std::int64_t>(size->second, 1));
    }
  }
  return suites;
}

OpCase drawn_like(const OpCase& like, const Ranges& ranges, std::mt19937_64& generator) {
  SuiteRow row = like.row;
  for (const auto& [column, range] : ranges) row.sizes[column] = draw(range, generator);
  for (const auto& [column, other] : row.ties) row.sizes[column] = row.sizes.at(other);
  row.kind->fit(row);
  // Fitting may have made one of two tied sizes greater.
  for (const auto& [column, other] : row.ties)
    row.sizes[column] = row.sizes[other] = std::max(row.sizes.at(column), row.sizes.at(other));
  OpCase test = row.kind->make(row);
  for (std::size_t i = 0; i < test.problem.operands.size(); ++i)
    test.problem.operands[i].dtype = like.problem.operands[i].dtype;
  test.suite = "random";
  return test;
}

}  // namespace

std::vector<OpCase> random_shapes(const std::vector<OpCase>& cases, int count, std::uint64_t seed) {
  const std::map<std::string, Ranges> suites = ranges_of(cases);
  std::mt19937_64 generator(seed);
  std::uniform_int_distribution<std::size_t> any(0, cases.size() - 1);
  std::vector<OpCase> drawn;
  for (int i = 0; i < count; ++i) {
    const OpCase& like = cases[any(generator)];
    drawn.push_back(drawn_like(like, suites.at(like.suite), generator));
  }
  return drawn;
}

}  // namespace dyn::cli
