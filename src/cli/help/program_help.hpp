#pragma once
// What the command line has, as plain data: the source of the manual page, of shell completions and
// of docs/command_line.md.

#include <string>
#include <vector>

namespace dyn::cli {

struct OptionHelp {
  std::vector<std::string> names;    ///< "-o", "--output"; of an argument its name alone
  std::string value;                 ///< stands for the value: "FILE"; empty: the option takes none
  std::string limits;                ///< "1 to 1024"; empty: the text says it, or there are none
  std::vector<std::string> choices;  ///< the words that it takes; empty: any
  std::string text;
  bool is_argument = false;  ///< without a flag, by its place
  bool is_required = false;
  bool repeats = false;  ///< may be given several times
};

struct CommandHelp {
  std::string name, text;
  std::string examples;  ///< lines
  std::vector<OptionHelp> options;
  std::vector<std::string> words;  ///< commands below it: of `cache`, show and clear
};

struct ProgramHelp {
  std::string name, version;
  std::string text;      ///< one sentence
  std::string examples;  ///< lines
  std::vector<OptionHelp> options;
  std::vector<CommandHelp> commands;
};

/// dynrun's own.
ProgramHelp program_help();

/// A page for man, in roff.
std::string man_page(const ProgramHelp& program);
/// A page of the documentation: a table for each command.
std::string markdown_page(const ProgramHelp& program);
/// What a shell reads to complete words. Throws Error(user) for a shell but bash, zsh and fish.
std::string completion(const ProgramHelp& program, const std::string& shell);

}  // namespace dyn::cli
