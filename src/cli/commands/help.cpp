// dynrun help: the command line as a file, for man, for the documentation and for shells.

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/cli/arguments.hpp"
#include "src/cli/help/program_help.hpp"

namespace dyn::cli {

void print_help(const Arguments& arguments) {
  const HelpArguments& help = arguments.help;
  if (!help.man && !help.markdown && help.completion.empty())
    throw Error(ErrorKind::user,
                "help of what form? --man, --markdown, or --completion with bash, zsh or fish; "
                "dynrun --help is for people");
  const ProgramHelp program = program_help();
  fmt::print("{}", help.man        ? man_page(program)
                   : help.markdown ? markdown_page(program)
                                   : completion(program, help.completion));
}

}  // namespace dyn::cli
