#pragma once
// How long `dynrun tune` searches for the programs of one problem.

#include <cstdint>
#include <optional>
#include <string>

namespace dyn::cli {

/// One of them, above 0.
struct TuneBudget {
  std::optional<std::int64_t> programs;
  std::optional<double> seconds;
};

/// "200": programs; "30s", "1.5m", "2h": time. Throws Error(user) for other texts, and for 0.
TuneBudget parse_budget(const std::string& text);

}  // namespace dyn::cli
