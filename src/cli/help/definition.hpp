#pragma once
// From CLI11's definition of a command line to plain data.

#include <CLI/CLI.hpp>

#include "src/cli/help/program_help.hpp"

namespace dyn::cli {

/// The commands of `app` that its help shows.
ProgramHelp described(const CLI::App& app);

}  // namespace dyn::cli
