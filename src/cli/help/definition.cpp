#include "src/cli/help/definition.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

#include <fmt/format.h>

namespace dyn::cli {
namespace {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> words;
  while (true) {
    const std::size_t at = text.find(separator);
    words.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return words;
    text.remove_prefix(at + 1);
  }
}

/// "md|csv|json" are words to choose from; in "NAME|FILE.json" capitals stand for something else.
bool is_choice(const std::string& type) {
  return type.find('|') != std::string::npos &&
         std::ranges::none_of(type, [](unsigned char each) { return std::isupper(each) != 0; });
}

/// CLI11 says in one text what a value is and what is checked: "TEXT:{f32,bf16}",
/// "INT:INT in [1 - 1024]", "UINT:whole number", "FILE".
void set_value(OptionHelp& option, const std::string& type) {
  const std::size_t colon = type.find(':');
  option.value = type.substr(0, colon);
  if (is_choice(option.value)) option.choices = split(option.value, '|');
  if (colon == std::string::npos) return;
  const std::string check = type.substr(colon + 1);
  const std::size_t range = check.find(" in [");
  if (check.starts_with('{') && check.ends_with('}')) {
    option.choices = split(std::string_view(check).substr(1, check.size() - 2), ',');
  } else if (range != std::string::npos) {
    const std::string bounds = check.substr(range + 5, check.size() - range - 6);
    const std::size_t dash = bounds.find(" - ");
    option.limits = bounds.substr(0, dash) + " to " + bounds.substr(dash + 3);
  } else {
    option.limits = check;
  }
}

OptionHelp described(const CLI::Option& option) {
  OptionHelp help;
  help.is_argument = option.get_positional();
  if (help.is_argument) {
    help.names = {option.get_name(true)};
  } else {
    for (const std::string& name : option.get_snames()) help.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) help.names.push_back("--" + name);
  }
  if (option.get_items_expected_max() > 0) set_value(help, option.get_type_name());
  help.text = option.get_description();
  help.is_required = option.get_required();
  help.repeats = option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll &&
                 option.get_items_expected_max() == 1;
  return help;
}

std::vector<OptionHelp> described_options(const CLI::App& app) {
  std::vector<OptionHelp> options;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_group().empty()) options.push_back(described(*option));
  }
  return options;
}

std::vector<const CLI::App*> shown_commands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* each) { return !each->get_group().empty(); });
}

CommandHelp described_command(const CLI::App& app) {
  CommandHelp help{
      app.get_name(), app.get_description(), app.get_footer(), described_options(app), {}};
  for (const CLI::App* below : shown_commands(app)) help.words.push_back(below->get_name());
  return help;
}

}  // namespace

ProgramHelp described(const CLI::App& app) {
  ProgramHelp help;
  // The first line says what it is, the others are examples.
  const std::string text = app.get_description();
  const std::size_t end = text.find('\n');
  help.name = text.substr(0, text.find(':'));
  help.text = text.substr(help.name.size() + 2, end - help.name.size() - 2);
  help.examples = end == std::string::npos ? "" : text.substr(end + 1);
  help.options = described_options(app);
  for (const CLI::App* command : shown_commands(app))
    help.commands.push_back(described_command(*command));
  return help;
}

}  // namespace dyn::cli
