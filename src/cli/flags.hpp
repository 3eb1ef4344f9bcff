#pragma once
// Flags that several commands have. Nothing but this, command_line.cpp and definition.cpp (help)
// sees CLI11.

#include <span>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "src/cli/arguments.hpp"

namespace dyn::cli {

/// A number from `least` to `most`: CLI::Range lets NaN pass.
CLI::Validator number_in(double least, double most);
/// Else CLI11 would take -1 for the largest seed.
CLI::Validator whole_number();

constexpr auto any = [](const auto&) { return true; };

/// The names of the table's rows that match.
template <class Row, class Fits>
std::vector<std::string> names(std::span<const Row> rows, Fits fits) {
  std::vector<std::string> fitting;
  for (const Row& row : rows)
    if (fits(row)) fitting.emplace_back(row.name);
  return fitting;
}

struct Flags {
  Arguments arguments;

  /// A flag that may be repeated, one value each, so that it never swallows what follows.
  template <class T>
  static void add_repeated(CLI::App* sub, const std::string& flag, std::vector<T>& values,
                           const std::string& help) {
    sub->add_option(flag, values, help)
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }

  void add_threads(CLI::App* sub);
  void add_thread_counts(CLI::App* sub, const std::string& help);
  void add_cache_dir(CLI::App* sub);
  void add_format(CLI::App* sub);
  void add_vendor(CLI::App* sub);
  void add_tuning(CLI::App* sub);
  void add_weights(CLI::App* sub);
  void add_model_flags(CLI::App* sub);
  void add_strict(CLI::App* sub);
  void add_plugins(CLI::App* sub);
  void add_timing(CLI::App* sub);
  void add_skip_load(CLI::App* sub);
  void add_free_dims(CLI::App* sub);
  void add_shape_flags(CLI::App* sub);
  void add_input_flags(CLI::App* sub);
  void add_structure_inputs(CLI::App* sub);
};

}  // namespace dyn::cli
