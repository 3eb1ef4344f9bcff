// Scripts by which bash, zsh and fish complete words.

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dyn/error.hpp"
#include "src/cli/help/program_help.hpp"
#include "src/cli/help/texts.hpp"

namespace dyn::cli {
namespace {

std::vector<std::string> command_names(const ProgramHelp& program) {
  std::vector<std::string> names;
  for (const CommandHelp& command : program.commands) names.push_back(command.name);
  return names;
}

std::vector<std::string> flags(const std::vector<OptionHelp>& options) {
  std::vector<std::string> names;
  for (const OptionHelp& option : options) {
    if (!option.is_argument) names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return names;
}

bool takes_files(const CommandHelp& command) {
  return std::ranges::any_of(command.options, [](const OptionHelp& option) {
    return option.is_argument && completed_by(option) == Completes::files;
  });
}

// --- bash ---------------------------------------------------------------------------------------

std::string bash_value(const std::string& command, const OptionHelp& option) {
  std::vector<std::string> patterns;
  for (const std::string& name : option.names) patterns.push_back(command + ":" + name);
  std::string words;
  switch (completed_by(option)) {
    case Completes::choices: words = fmt::format("-W '{}' ", fmt::join(option.choices, " ")); break;
    case Completes::files: words = "-f "; break;
    case Completes::folders: words = "-d "; break;
    case Completes::nothing: return fmt::format("    {}) return ;;\n", fmt::join(patterns, "|"));
  }
  return fmt::format("    {}) COMPREPLY=($(compgen {}-- \"$word\")); return ;;\n",
                     fmt::join(patterns, "|"), words);
}

std::string bash(const ProgramHelp& program) {
  std::string values, words;
  for (const CommandHelp& command : program.commands) {
    for (const OptionHelp& option : command.options) {
      if (!option.is_argument && !option.value.empty()) values += bash_value(command.name, option);
    }
    words += fmt::format(
        "    {}) flags='{}' arguments=\"{}\" ;;\n", command.name,
        fmt::join(flags(command.options), " "),
        takes_files(command) ? "-f" : fmt::format("-W '{}'", fmt::join(command.words, " ")));
  }
  return fmt::format(R"sh(# Completion of {0}'s command line for bash.
_{0}() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} command= flags='{1}' arguments="-W '{2}'" i
  COMPREPLY=()
  # Bash takes --flag=value apart at the sign.
  if [ "$word" = = ]; then word=
  elif [ "$before" = = ]; then before=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case ${{COMP_WORDS[i]}} in {3}) command=${{COMP_WORDS[i]}}; break ;; esac
  done
  case $command:$before in
{4}  esac
  case $command in
{5}  esac
  case $word in
    -*) COMPREPLY=($(compgen -W "$flags" -- "$word")) ;;
    *) eval "COMPREPLY=(\$(compgen $arguments -- \"\$word\"))" ;;
  esac
}}
complete -o filenames -F _{0} {0}
)sh",
                     program.name, fmt::join(flags(program.options), " "),
                     fmt::join(command_names(program), " "), fmt::join(command_names(program), "|"),
                     values, words);
}

// --- zsh ----------------------------------------------------------------------------------------

std::string zsh_text(std::string_view text) {
  return escaped(text, {{'\'', "'\\''"}, {'[', "\\["}, {']', "\\]"}, {':', "\\:"}, {'\\', "\\\\"}});
}

std::string zsh_action(const OptionHelp& option) {
  switch (completed_by(option)) {
    case Completes::choices: return fmt::format("({})", fmt::join(option.choices, " "));
    case Completes::files: return "_files";
    case Completes::folders: return "_files -/";
    case Completes::nothing: break;
  }
  return " ";
}

std::string zsh_option(const OptionHelp& option) {
  const std::string value =
      option.value.empty() ? "" : fmt::format(":{}:{}", zsh_text(option.value), zsh_action(option));
  std::string lines;
  if (option.is_argument)
    return fmt::format("        '*:{}:{}'\n", zsh_text(option.names.front()), zsh_action(option));
  const std::string others =
      option.repeats ? "*" : fmt::format("({})", fmt::join(option.names, " "));
  for (const std::string& name : option.names)
    lines += fmt::format("        '{}{}[{}]{}'\n", others, name, zsh_text(option.text), value);
  return lines;
}

/// Those of an option or argument, each line ended by a backslash.
std::string zsh_arguments(const std::vector<OptionHelp>& options) {
  std::string lines;
  for (const OptionHelp& option : options) lines += zsh_option(option);
  if (!lines.empty()) lines.pop_back();
  return escaped(lines, {{'\n', " \\\n"}});
}

std::string zsh(const ProgramHelp& program) {
  std::string commands, cases;
  for (const CommandHelp& command : program.commands) {
    commands += fmt::format("    '{}:{}'\n", command.name, zsh_text(command.text));
    cases += fmt::format("      {})\n      _arguments \\\n{}", command.name,
                         zsh_arguments(command.options));
    if (!command.words.empty())
      cases += fmt::format(" \\\n        '1:command:({})'", fmt::join(command.words, " "));
    cases += " ;;\n";
  }
  return fmt::format(R"sh(#compdef {0}
# Completion of {0}'s command line for zsh.
_{0}() {{
  local context state line
  typeset -A opt_args
  local -a commands=(
{1}  )
  _arguments -C \
{2} \
        '1:command:->command' \
        '*::argument:->argument'
  case $state in
    command) _describe -t commands command commands ;;
    argument)
      case $words[1] in
{3}      esac ;;
  esac
}}
_{0} "$@"
)sh",
                     program.name, commands, zsh_arguments(program.options), cases);
}

// --- fish ---------------------------------------------------------------------------------------

std::string fish_text(std::string_view text) {
  return escaped(text, {{'\'', "\\'"}, {'\\', "\\\\"}});
}

std::string fish_option(const ProgramHelp& program, const std::string& condition,
                        const OptionHelp& option) {
  std::string line = fmt::format("complete -c {} -n '{}'", program.name, condition);
  for (const std::string& name : option.names)
    line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (!option.value.empty()) {
    switch (completed_by(option)) {
      case Completes::choices:
        line += fmt::format(" -x -a '{}'", fmt::join(option.choices, " "));
        break;
      case Completes::files: line += " -r -F"; break;
      case Completes::folders: line += " -x -a '(__fish_complete_directories)'"; break;
      case Completes::nothing: line += " -x"; break;
    }
  }
  return fmt::format("{} -d '{}'\n", line, fish_text(option.text));
}

std::string fish(const ProgramHelp& program) {
  std::string script = fmt::format(
      "# Completion of {0}'s command line for fish.\ncomplete -c {0} -f\n", program.name);
  for (const OptionHelp& option : program.options)
    script += fish_option(program, "__fish_use_subcommand", option);
  for (const CommandHelp& command : program.commands) {
    const std::string here = "__fish_seen_subcommand_from " + command.name;
    script += fmt::format("complete -c {} -n __fish_use_subcommand -a {} -d '{}'\n", program.name,
                          command.name, fish_text(command.text));
    if (takes_files(command))
      script += fmt::format("complete -c {} -n '{}' -F\n", program.name, here);
    if (!command.words.empty())
      script += fmt::format("complete -c {} -n '{}' -a '{}'\n", program.name, here,
                            fmt::join(command.words, " "));
    for (const OptionHelp& option : command.options) {
      if (!option.is_argument) script += fish_option(program, here, option);
    }
  }
  return script;
}

}  // namespace

std::string completion(const ProgramHelp& program, const std::string& shell) {
  if (shell == "bash") return bash(program);
  if (shell == "zsh") return zsh(program);
  if (shell == "fish") return fish(program);
  throw Error(
      ErrorKind::user,
      fmt::format("there is no completion for '{}'; there is one for bash, zsh and fish", shell));
}

}  // namespace dyn::cli
