#include "src/cli/help/texts.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace dyn::cli {

std::string escaped(std::string_view text,
                    const std::vector<std::pair<char, std::string_view>>& replacements) {
  std::string result;
  for (const char each : text) {
    const auto found =
        std::ranges::find(replacements, each, [](const auto& pair) { return pair.first; });
    if (found == replacements.end())
      result += each;
    else
      result += found->second;
  }
  return result;
}

std::string wrapped(std::string_view text, std::size_t columns) {
  std::string result, line;
  const auto finish = [&] { result += line + '\n', line.clear(); };
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    if (!line.empty() && line.size() + 1 + word.size() > columns) finish();
    line += fmt::format("{}{}", line.empty() ? "" : " ", word);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  finish();
  return result;
}

std::string listed(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : i + 1 == words.size() ? " or " : ", ", words[i]);
  return text;
}

std::string value_rules(const OptionHelp& option) {
  const bool says_all = std::ranges::all_of(option.choices, [&](const std::string& choice) {
    return option.text.find(choice) != std::string::npos;
  });
  std::vector<std::string> rules;
  if (!option.choices.empty() && !says_all) rules.push_back(listed(option.choices));
  if (!option.limits.empty()) rules.push_back(option.limits);
  if (option.repeats) rules.emplace_back("may be given several times");
  if (option.is_required) rules.emplace_back("required");
  return rules.empty() ? "" : fmt::format("({})", fmt::join(rules, "; "));
}

Completes completed_by(const OptionHelp& option) {
  if (!option.choices.empty()) return Completes::choices;
  for (const char* word : {"FILE", "MODEL", "SUITE"}) {
    if (option.value.find(word) != std::string::npos) return Completes::files;
  }
  return option.value == "DIR" ? Completes::folders : Completes::nothing;
}

}  // namespace dyn::cli
