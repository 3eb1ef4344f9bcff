// dynrun

#include "src/cli/arguments.hpp"

int main(int argc, char** argv) { return dyn::cli::run_command_line(argc, argv); }
