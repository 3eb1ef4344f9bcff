// roff, as man reads it.

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/cli/help/program_help.hpp"
#include "src/cli/help/texts.hpp"

namespace dyn::cli {
namespace {

/// Words as they are: a line that begins with a dot or a quote would be a request.
std::string roff(std::string_view text) {
  const std::string words = escaped(text, {{'\\', "\\e"},
                                           {'-', "\\-"},
                                           {'"', "\\(dq"},
                                           {'\'', "\\(aq"},
                                           {'~', "\\(ti"},
                                           {'^', "\\(ha"}});
  return words.starts_with('.') ? "\\&" + words : words;
}

std::string as_they_are(std::string_view lines) {
  std::string page = ".nf\n";
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    page += roff(lines.substr(0, end)) + '\n';
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return page + ".fi\n";
}

std::string item(const OptionHelp& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.names)
    names.push_back(fmt::format("\\f{}{}\\fR", option.is_argument ? 'I' : 'B', roff(name)));
  std::string page = fmt::format(".TP\n{}", fmt::join(names, ", "));
  if (!option.is_argument && !option.value.empty())
    page += fmt::format(" \\fI{}\\fR", roff(option.value));
  page += fmt::format("\n{}\n", roff(option.text));
  if (const std::string rules = value_rules(option); !rules.empty()) page += roff(rules) + '\n';
  return page;
}

std::string synopsis(const CommandHelp& command) {
  std::string line;
  for (const OptionHelp& option : command.options) {
    if (option.is_argument) line += fmt::format(" \\fI{}\\fR", roff(option.value));
    if (!option.is_argument && option.is_required)
      line += fmt::format(" \\fB{}\\fR \\fI{}\\fR", roff(option.names.front()), roff(option.value));
  }
  for (const std::string& word : command.words)
    line += fmt::format("{}\\fB{}\\fR", line.empty() ? " [" : "|", word);
  return line + (command.words.empty() ? "" : "]");
}

std::string section(const ProgramHelp& program, const CommandHelp& command) {
  std::string page = fmt::format(".SS \\fB{} {}\\fR{} [\\fIoptions\\fR]\n{}\n", program.name,
                                 command.name, synopsis(command), roff(command.text + "."));
  for (const OptionHelp& option : command.options) page += item(option);
  if (!command.examples.empty()) page += ".PP\nExamples:\n.PP\n" + as_they_are(command.examples);
  return page;
}

}  // namespace

std::string man_page(const ProgramHelp& program) {
  std::string title = program.name;
  std::ranges::transform(title, title.begin(),
                         [](unsigned char each) { return std::toupper(each); });
  std::string page = fmt::format(
      ".TH {} 1 \"\" \"dyn {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n\\fB{}\\fR "
      "\\fIcommand\\fR "
      "[\\fIoptions\\fR]\n.SH DESCRIPTION\n{}\n.SH OPTIONS\n",
      title, program.version, program.name, roff(program.text), program.name,
      as_they_are(program.examples));
  for (const OptionHelp& option : program.options) page += item(option);
  page += ".SH COMMANDS\n";
  for (const CommandHelp& command : program.commands) page += section(program, command);
  return page +
         ".SH EXIT STATUS\n0 after success, 1 after an error, 2 where the command line is wrong.\n"
         ".SH ENVIRONMENT\n.TP\n\\fBDYN_CACHE_DIR\\fR\nThe directory of generated code, "
         "measurements and prepacked "
         "weights, where no option names one.\n";
}

}  // namespace dyn::cli
