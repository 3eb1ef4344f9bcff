#include "src/cli/input/ranges.hpp"

#include <charconv>

#include <fmt/format.h>

#include "dyn/error.hpp"

namespace dyn::cli {
namespace {

constexpr std::size_t most_values = 1'000'000;

[[noreturn]] void values_error(std::string_view problem) {
  throw Error(ErrorKind::user, std::string(problem));
}

[[noreturn]] void dims_error(std::string_view whole, std::string_view problem) {
  throw Error(
      ErrorKind::user,
      fmt::format("--dims {}: {}. Examples: B=1,8  S=1..512*2  S=16..128+16", whole, problem));
}

struct Range {
  std::int64_t low, high, step;
  bool geometric;
};

Range parse_range(std::string_view item, std::size_t dots) {
  Range range{parse_integer(item.substr(0, dots), item), 0, 1, false};
  std::string_view rest = item.substr(dots + 2);
  const std::size_t sign = rest.find_first_of("*+");
  if (sign != std::string_view::npos) {
    range.geometric = rest[sign] == '*';
    range.step = parse_integer(rest.substr(sign + 1), item);
    rest = rest.substr(0, sign);
  }
  range.high = parse_integer(rest, item);
  return range;
}

void append_range(const Range& range, std::vector<std::int64_t>& values) {
  if (range.low > range.high) values_error("the range is empty");
  if (range.geometric && (range.low < 1 || range.step < 2))
    values_error("a..b*k needs a >= 1 and k >= 2");
  if (range.step < 1) values_error("a..b+k needs k >= 1");
  for (std::int64_t value = range.low; value <= range.high;) {
    if (values.size() == most_values) values_error("more than a million values");
    values.push_back(value);
    const bool overflow = range.geometric ? __builtin_mul_overflow(value, range.step, &value)
                                          : __builtin_add_overflow(value, range.step, &value);
    if (overflow) break;
  }
}

}  // namespace

std::int64_t parse_integer(std::string_view text, std::string_view whole) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || value < 0) {
    throw Error(
        ErrorKind::user,
        fmt::format("\"{}\" in \"{}\" is not a size (a whole number, 0 or more)", text, whole));
  }
  return value;
}

std::vector<std::int64_t> parse_values(std::string_view text) {
  std::vector<std::int64_t> values;
  for (;;) {
    const std::size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    if (const std::size_t dots = item.find(".."); dots != std::string_view::npos)
      append_range(parse_range(item, dots), values);
    else
      values.push_back(parse_integer(item, text));
    if (comma == std::string_view::npos) return values;
    text.remove_prefix(comma + 1);
  }
}

DimValues parse_dim_values(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) dims_error(text, "expected NAME=VALUES");
  const std::string_view values = text.substr(equals + 1);
  if (values.find('=') != std::string_view::npos)
    dims_error(text, "each dim needs a --dims of its own: --dims B=1 --dims S=37");
  try {
    return {std::string(text.substr(0, equals)), parse_values(values)};
  } catch (const Error& error) { dims_error(text, error.message()); }
}

std::vector<std::map<std::string, std::int64_t>> product(std::span<const DimValues> dims) {
  std::vector<std::map<std::string, std::int64_t>> combinations(1);
  for (const DimValues& dim : dims) {
    if (combinations.front().contains(dim.name)) dims_error(dim.name, "this dim is given twice");
    if (combinations.size() > most_values / dim.values.size())
      dims_error(dim.name, "more than a million combinations");
    std::vector<std::map<std::string, std::int64_t>> next;
    next.reserve(combinations.size() * dim.values.size());
    for (const auto& combination : combinations) {
      for (const std::int64_t value : dim.values) next.emplace_back(combination)[dim.name] = value;
    }
    combinations = std::move(next);
  }
  return combinations;
}

}  // namespace dyn::cli
