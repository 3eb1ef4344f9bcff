#include "src/cli/tune/budget.hpp"

#include <charconv>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "dyn/error.hpp"

namespace dyn::cli {
namespace {

constexpr double most_seconds = 1e7;
constexpr std::int64_t most_programs = 1'000'000;

Error no_budget(const std::string& text, const std::string& why) {
  return {ErrorKind::user,
          fmt::format("--budget {}: {}; give a number of programs for each problem, such as 200, "
                      "or a time, such as 30s or 5m",
                      text, why)};
}

/// Seconds of a unit; 0: there is none of that name.
double unit_seconds(std::string_view unit) {
  if (unit == "s") return 1;
  if (unit == "m") return 60;
  return unit == "h" ? 3600 : 0;
}

}  // namespace

TuneBudget parse_budget(const std::string& text) {
  const char *const first = text.data(), *const last = first + text.size();
  double number = 0;
  const auto [rest, error] = std::from_chars(first, last, number);
  if (error != std::errc() || !std::isfinite(number)) throw no_budget(text, "that is no number");
  if (number <= 0) throw no_budget(text, "nothing would be tried");
  if (rest == last) {
    if (number != std::floor(number)) throw no_budget(text, "programs are whole");
    if (number > static_cast<double>(most_programs))
      throw no_budget(text, fmt::format("at most {} programs can be tried", most_programs));
    return {static_cast<std::int64_t>(number), std::nullopt};
  }
  const double seconds = number * unit_seconds({rest, last});
  if (seconds == 0) throw no_budget(text, "units of time are s, m and h");
  if (seconds > most_seconds)
    throw no_budget(text, fmt::format("at most {:g} s can be spent", most_seconds));
  return {std::nullopt, seconds};
}

}  // namespace dyn::cli
