#include "src/python/bindings/options.hpp"

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "src/python/bindings/arrays/given.hpp"
#include "src/python/bindings/host/allocator.hpp"
#include "src/python/bindings/host/functions.hpp"
#include "src/python/bindings/operators/operator_object.hpp"

namespace dyn::python {
namespace {

[[noreturn]] void refuse_value(const char* name, const char* wanted, nb::handle value) {
  user_error("the option '" + std::string(name) + "' takes " + wanted + ", not " +
             to_utf8(nb::repr(value)));
}

template <class T>
T to_integer(const char* name, nb::handle value) {
  const bool is_bool = PyBool_Check(value.ptr()) != 0;
  if (PyLong_Check(value.ptr()) == 0 || is_bool) refuse_value(name, "an int", value);
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
  const bool fits = overflow == 0 && std::in_range<T>(number);
  if (!fits)
    refuse_value(name, std::is_signed_v<T> ? "a smaller int" : "an int of 0 and more", value);
  return static_cast<T>(number);
}

std::string to_text(const char* name, nb::handle value) {
  if (PyUnicode_Check(value.ptr()) == 0) refuse_value(name, "a str", value);
  return to_utf8(value);
}

/// A str, or anything with a path.
std::string to_path(const char* name, nb::handle value) {
  if (PyUnicode_Check(value.ptr()) == 0 && !nb::hasattr(value, "__fspath__"))
    refuse_value(name, "a path", value);
  return to_utf8(nb::module_::import_("os").attr("fsdecode")(value));
}

const nb::dict& checked_dict(const char* name, const char* wanted, const nb::object& value,
                             nb::dict& into) {
  if (PyDict_Check(value.ptr()) == 0) refuse_value(name, wanted, value);
  into = nb::borrow<nb::dict>(value);
  return into;
}

std::map<std::string, Tensor> to_known(const char* name, nb::handle value) {
  std::map<std::string, Tensor> known;
  nb::dict given_inputs;
  for (const auto& [input, array] :
       checked_dict(name, "a dict of arrays", nb::borrow(value), given_inputs)) {
    const std::string input_name = to_text(name, input);
    const Given own = given(array, {"the known input", input_name}, Layout::copy, DType::i64);
    Tensor copy(own.tensor.dtype(), own.tensor.shape());  // the array may change after the load
    if (copy.bytes() > 0) std::memcpy(copy.raw(), own.tensor.raw(), copy.bytes());
    known.emplace(input_name, std::move(copy));
  }
  return known;
}

std::map<std::string, std::vector<std::string>> to_free(const char* name, nb::handle value) {
  constexpr const char* wanted = "a dict of lists, such as {\"data\": [\"N\", 3, \"H\", \"W\"]}";
  std::map<std::string, std::vector<std::string>> freed;
  nb::dict inputs;
  for (const auto& [input, words] : checked_dict(name, wanted, nb::borrow(value), inputs)) {
    if (PyList_Check(words.ptr()) == 0 && PyTuple_Check(words.ptr()) == 0)
      refuse_value(name, wanted, value);
    std::vector<std::string>& own = freed[to_text(name, input)];
    for (const nb::handle word : words) own.push_back(text_of(word));
  }
  return freed;
}

nb::object to_function(const char* name, const char* wanted, nb::handle value) {
  if (PyCallable_Check(value.ptr()) == 0) refuse_value(name, wanted, value);
  return nb::borrow(value);
}

struct OptionRow {
  const char* name;
  const char* type;  ///< for the stub of whoever calls
  void (*set)(LoadOptions& options, const char* name, nb::handle value);
};

template <auto member>
void set_option(LoadOptions& options, const char* name, nb::handle value) {
  auto& own = options.*member;
  using T = std::remove_reference_t<decltype(own)>;
  if constexpr (std::is_same_v<T, bool>) {
    if (PyBool_Check(value.ptr()) == 0) refuse_value(name, "True or False", value);
    own = value.is(Py_True);
  } else if constexpr (std::is_integral_v<T>) {
    own = to_integer<T>(name, value);
  } else {
    own = to_text(name, value);
  }
}

template <auto member>
void set_path(LoadOptions& options, const char* name, nb::handle value) {
  options.*member = to_path(name, value);
}

constexpr OptionRow option_rows[] = {
    {"threads", "int", set_option<&Options::threads>},
    {"cache_dir", "path", set_path<&Options::cache_dir>},
    {"device", "str", set_option<&Options::device>},
    {"gpu", "str", set_option<&Options::gpu>},
    {"precision", "str", set_option<&Options::precision>},
    {"weights", "str", set_option<&Options::weights>},
    {"weight_group", "int", set_option<&Options::weight_group>},
    {"isa", "str", set_option<&Options::isa>},
    {"weight_cache_bytes", "int", set_option<&Options::weight_cache_bytes>},
    {"deterministic", "bool", set_option<&Options::deterministic>},
    {"strict", "bool", set_option<&Options::strict>},
    {"policy", "str", set_option<&Options::policy>},
    {"vendor", "bool", set_option<&Options::vendor>},
    {"tuning", "path", set_path<&Options::tuning>},
    {"known_inputs", "dict[str, array]",
     [](LoadOptions& options, const char* name, nb::handle value) {
       options.known_inputs = to_known(name, value);
     }},
    {"structures", "int", set_option<&Options::structures>},
    {"max_loop_steps", "int", set_option<&Options::max_loop_steps>},
    {"plan_cache_bytes", "int", set_option<&Options::plan_cache_bytes>},
    {"memory_budget", "int", set_option<&Options::memory_budget>},
    {"device_memory", "int", set_option<&Options::device_memory>},
    {"random_weights", "bool", set_option<&Options::random_weights>},
    {"seed", "int", set_option<&Options::seed>},
    {"free_dims", "dict[str, list[str]]",
     [](LoadOptions& options, const char* name, nb::handle value) {
       options.free_dims = to_free(name, value);
     }},
    {"plugins", "list[path]",
     [](LoadOptions& options, const char* name, nb::handle value) {
       if (PyList_Check(value.ptr()) == 0 && PyTuple_Check(value.ptr()) == 0)
         refuse_value(name, "a list of paths", value);
       for (const nb::handle path : value) options.plugins.push_back(to_path(name, path));
     }},
    {"operators", "list[Operator]",
     [](LoadOptions& options, const char* name, nb::handle value) {
       options.operators = to_operators(name, value, options.failure);
     }},
    {"perf_map", "bool", set_option<&Options::perf_map>},
    {"debugger", "bool", set_option<&Options::debugger>},
    {"log", "function(level, line)",
     [](LoadOptions& options, const char* name, nb::handle value) {
       options.log = log_function(to_function(name, "a function of a level and a line", value));
     }},
    {"progress", "function(stage, done, total)",
     [](LoadOptions& options, const char* name, nb::handle value) {
       options.progress =
           progress_function(to_function(name, "a function of a stage and two numbers", value));
     }},
    {"executor", "executor",
     [](LoadOptions& options, const char* /*name*/, nb::handle value) {
       options.executor = make_executor(value);
     }},
    {"allocator", "allocator",
     [](LoadOptions& options, const char* /*name*/, nb::handle value) {
       options.allocator = make_allocator(value, options.failure);
     }},
};

[[noreturn]] void refuse_name(const std::string& name) {
  std::string known;
  for (const OptionRow& row : option_rows)
    known += (known.empty() ? "" : ", ") + std::string(row.name);
  user_error("there is no option '" + name + "'; there are " + known);
}

}  // namespace

LoadOptions to_options(const nb::dict& keywords, std::shared_ptr<PythonFailure> failure) {
  LoadOptions options;
  options.failure = std::move(failure);
  for (const auto& [key, value] : keywords) {
    const std::string name = to_utf8(key);
    const OptionRow* found = nullptr;
    for (const OptionRow& row : option_rows)
      if (name == row.name) found = &row;
    if (found == nullptr) refuse_name(name);
    found->set(options, found->name, value);
  }
  return options;
}

nb::dict option_types() {
  nb::dict types;
  for (const OptionRow& row : option_rows) types[row.name] = row.type;
  return types;
}

}  // namespace dyn::python
