#include "src/c/option_table.hpp"

#include <cstddef>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "dyn/error.hpp"

namespace dyn::c {
namespace {

using Member = std::variant<std::string Options::*, int Options::*, std::int64_t Options::*,
                            std::uint64_t Options::*, bool Options::*>;
static_assert(std::is_same_v<std::size_t, std::uint64_t>);

struct Option {
  std::string_view name;
  Member member;
};

const Option table[] = {
    {"threads", &Options::threads},
    {"cache_dir", &Options::cache_dir},
    {"device", &Options::device},
    {"gpu", &Options::gpu},
    {"precision", &Options::precision},
    {"weights", &Options::weights},
    {"weight_group", &Options::weight_group},
    {"isa", &Options::isa},
    {"weight_cache_bytes", &Options::weight_cache_bytes},
    {"deterministic", &Options::deterministic},
    {"strict", &Options::strict},
    {"policy", &Options::policy},
    {"vendor", &Options::vendor},
    {"tuning", &Options::tuning},
    {"structures", &Options::structures},
    {"max_loop_steps", &Options::max_loop_steps},
    {"plan_cache_bytes", &Options::plan_cache_bytes},
    {"memory_budget", &Options::memory_budget},
    {"device_memory", &Options::device_memory},
    {"random_weights", &Options::random_weights},
    {"seed", &Options::seed},
    {"perf_map", &Options::perf_map},
    {"debugger", &Options::debugger},
};

const Option& find_option(std::string_view name) {
  for (const Option& option : table) {
    if (option.name == name) return option;
  }
  throw Error(ErrorKind::user, fmt::format("there is no option '{}'; those with a value are {}",
                                           name, option_names()));
}

/// Names the kind of value that an option takes.
struct Kinds {
  const char* operator()(std::string Options::*) const { return "a text"; }
  const char* operator()(bool Options::*) const { return "a flag"; }
  template <class Number>
  const char* operator()(Number Options::*) const {
    return "an integer";
  }
};

[[noreturn]] void refuse_kind(const Option& option, const char* given) {
  throw Error(ErrorKind::user, fmt::format("the option '{}' takes {}, not {}", option.name,
                                           std::visit(Kinds(), option.member), given));
}

template <class Value>
void set_plain(Options& options, std::string_view name, Value value, const char* kind) {
  const Option& option = find_option(name);
  const auto* member = std::get_if<decltype(Value()) Options::*>(&option.member);
  if (member == nullptr) refuse_kind(option, kind);
  options.** member = std::move(value);
}

}  // namespace

void set_option(Options& options, std::string_view name, std::string_view value) {
  set_plain(options, name, std::string(value), "a text");
}

void set_option(Options& options, std::string_view name, bool value) {
  set_plain(options, name, value, "a flag");
}

void set_option(Options& options, std::string_view name, std::int64_t value) {
  const Option& option = find_option(name);
  const auto set = [&]<class T>(T Options::* member) {
    if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, bool>) {
      refuse_kind(option, "an integer");
    } else {
      if (!std::in_range<T>(value))
        throw Error(ErrorKind::user, fmt::format("the option '{}' does not take {}: its least is "
                                                 "{}, its greatest {}",
                                                 name, value, std::numeric_limits<T>::min(),
                                                 std::numeric_limits<T>::max()));
      options.*member = static_cast<T>(value);
    }
  };
  std::visit(set, option.member);
}

std::string option_names() {
  std::string names;
  for (const Option& option : table) {
    if (!names.empty()) names += ", ";
    names += option.name;
  }
  return names;
}

}  // namespace dyn::c
