// The dims that a session fixes when it is made.

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/runtime/plan/binder.hpp"
#include "src/runtime/system/errors.hpp"

namespace dyn::runtime {

std::vector<std::int64_t> Binder::bind_session(
    const std::map<std::string, std::int64_t>& dims) const {
  std::vector<std::int64_t> symbols(used_.size());
  std::vector<std::string> own;
  for (std::size_t s = 0; s < symbols.size(); ++s) {
    const int symbol = static_cast<int>(s);
    if (!in_session_[s] || is_length(symbol)) continue;
    const graph::SymbolInfo& info = module_.dims->info(symbol);
    own.push_back(info.name);
    const auto given = dims.find(info.name);
    if (given == dims.end() && !info.hint) {
      user_error(fmt::format(
          "dim {} of the model's state has no value and no hint; give the session one", info.name));
    }
    symbols[s] = given == dims.end() ? *info.hint : given->second;
    check_symbol(symbol, symbols[s]);
  }
  for (const auto& [name, value] : dims) {
    if (std::find(own.begin(), own.end(), name) != own.end()) continue;
    user_error(fmt::format(
        "a session has no dim '{}' to choose; {}", name,
        own.empty() ? "this model's states have none"
                    : fmt::format("those of this model's states are {}", fmt::join(own, ", "))));
  }
  return symbols;
}

}  // namespace dyn::runtime
