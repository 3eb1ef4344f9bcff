#include "graph/text/suggest.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "graph/ir/custom_op.hpp"

namespace dyn::graph {
namespace {

constexpr std::size_t longest_compared = 64;
constexpr std::size_t most_suggestions = 3;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

/// Insertions, removals, replacements and swaps of neighbours (optimal string alignment),
/// regardless of case.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(above);
    above.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (same ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                           lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::string join(const std::vector<std::string_view>& names, std::string_view last,
                 std::string_view quote) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? last : std::string_view(", ");
    text += fmt::format("{0}{1}{0}", quote, names[i]);
  }
  return text;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string_view>& known) {
  if (name.size() > longest_compared) return "";
  const std::size_t limit = std::max<std::size_t>(1, name.size() / 3);
  std::vector<std::pair<std::size_t, std::string_view>> near;
  for (const std::string_view candidate : known) {
    // Lengths that differ by more than the limit need more edits than that.
    if (candidate.size() > name.size() + limit || name.size() > candidate.size() + limit) continue;
    const std::size_t distance = edit_distance(name, candidate);
    if (distance <= limit) near.emplace_back(distance, candidate);
  }
  std::sort(near.begin(), near.end());
  std::vector<std::string_view> best;
  for (const auto& [distance, candidate] : near) {
    if (best.size() < most_suggestions &&
        std::find(best.begin(), best.end(), candidate) == best.end()) {
      best.push_back(candidate);
    }
  }
  return best.empty() ? "" : fmt::format("; did you mean {}?", join(best, " or ", "`"));
}

std::string list_of_names(const std::vector<std::string_view>& names) {
  return names.empty() ? "none" : join(names, " and ", "`");
}

std::string unknown_operator(std::string_view name, const std::string& shown,
                             const CustomOps* custom) {
  std::vector<std::string_view> known;
  if (custom != nullptr) known = custom->names();
  for (const OpDef& def : all_ops()) known.push_back(def.name);
  const std::string near = did_you_mean(name, known);
  const bool is_given = name.find("::") != std::string_view::npos && near.empty();
  return fmt::format("unknown operator {}{}{}", shown, near,
                     is_given ? "; the program, or a plug-in, gives operators of such names" : "");
}

std::string unknown_attribute(const OpDef& op, std::string_view name, const std::string& shown) {
  std::vector<std::string_view> known;
  for (const AttrDef& attr : op.attrs) known.push_back(attr.name);
  return fmt::format("`{}` has no attribute {}{}; its attributes: {}", op.name, shown,
                     did_you_mean(name, known), list_of_names(known));
}

std::string wrong_symbol(const SymbolInfo& info, const std::string& shown) {
  if (info.low < 0)
    return fmt::format("the dim {} has the negative lower bound {}", shown, info.low);
  if (info.divisor < 1) return fmt::format("the divisor of the dim {} is less than 1", shown);
  const std::int64_t first_multiple =
      info.low / info.divisor + (info.low % info.divisor == 0 ? 0 : 1);
  if (info.high < info.low || info.high / info.divisor < first_multiple)
    return fmt::format("the dim {} has no values: {}..{}, multiples of {}", shown, info.low,
                       info.high, info.divisor);
  if (info.hint &&
      (*info.hint < info.low || *info.hint > info.high || *info.hint % info.divisor != 0))
    return fmt::format("the hint {} is not a value of the dim {}", *info.hint, shown);
  return "";
}

std::string wrong_results(const OpDef& op, std::size_t results) {
  if (op.outputs < 0 || results == static_cast<std::size_t>(op.outputs)) return "";
  return fmt::format("`{}` has {} result{}, here {} {} expected", op.name, op.outputs,
                     op.outputs == 1 ? "" : "s", results, results == 1 ? "is" : "are");
}

}  // namespace dyn::graph
