#pragma once
// What the writers of help pages share.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/cli/help/program_help.hpp"

namespace dyn::cli {

/// `text` with each of these characters replaced.
std::string escaped(std::string_view text,
                    const std::vector<std::pair<char, std::string_view>>& replacements);

/// The lines of `text`, broken at spaces so that each has at most `columns`.
std::string wrapped(std::string_view text, std::size_t columns);

/// "one, two or three".
std::string listed(const std::vector<std::string>& words);

/// What the text of an option does not say: "(1 to 1024; may be given several times)".
std::string value_rules(const OptionHelp& option);

/// What completes a value.
enum class Completes { nothing, choices, files, folders };
Completes completed_by(const OptionHelp& option);

}  // namespace dyn::cli
