// docs/command_line.md.

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/cli/help/program_help.hpp"
#include "src/cli/help/texts.hpp"

namespace dyn::cli {
namespace {

constexpr std::size_t columns = 100;

std::string cell(std::string_view text) {
  return escaped(text, {{'|', "\\|"}, {'<', "&lt;"}, {'*', "\\*"}});
}

/// In a table a code has no bars.
std::string code(std::string_view text) {
  return fmt::format("`{}`", escaped(text, {{'|', "\\|"}}));
}

std::string row(const OptionHelp& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.names) names.push_back(code(name));
  std::string text = cell(option.text);
  if (const std::string rules = value_rules(option); !rules.empty()) text += ' ' + cell(rules);
  return fmt::format("| {} | {} | {} |\n", fmt::join(names, ", "),
                     option.value.empty() ? "" : code(option.value), text);
}

std::string indented(std::string_view lines) {
  std::string text;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    text += fmt::format("    {}\n", lines.substr(0, end));
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return text;
}

std::string table_of(const ProgramHelp& program, const CommandHelp& command) {
  std::string page = fmt::format("\n## {} {}\n\n{}", program.name, command.name,
                                 wrapped(command.text + ".", columns));
  if (!command.words.empty())
    page += fmt::format("\nIt has commands of its own: {}.\n", listed(command.words));
  page += "\n| option | value | meaning |\n|---|---|---|\n";
  for (const OptionHelp& option : command.options) {
    // Every command has --help.
    if (std::ranges::find(option.names, "--help") == option.names.end()) page += row(option);
  }
  if (!command.examples.empty()) page += '\n' + indented(command.examples);
  return page;
}

}  // namespace

std::string markdown_page(const ProgramHelp& program) {
  std::string page = fmt::format(
      "# {}: the command line\n\n{}\nThis page is made of the command line's own definition (`{} "
      "help "
      "--markdown`).\n\n| command | |\n|---|---|\n",
      program.name, indented(program.examples), program.name);
  for (const CommandHelp& command : program.commands)
    page +=
        fmt::format("| [{0}](#{1}-{0}) | {2} |\n", command.name, program.name, cell(command.text));
  for (const CommandHelp& command : program.commands) page += table_of(program, command);
  return page;
}

}  // namespace dyn::cli
