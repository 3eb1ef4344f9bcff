// Shared objects with operators.

#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "dyn/operator.hpp"
#include "dyn/plugin.h"
#include "src/c/guard.hpp"
#include "src/c/plugin_calls.hpp"

namespace dyn {
namespace {

using c::user_error;

/// Functions of a plug-in need it: a library is loaded as long as anybody has a copy.
using Library = std::shared_ptr<void>;

Library opened(const std::string& path) {
  // Without a slash the loader would look for the name among the system's libraries.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  void* handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = ::dlerror();
    throw Error(ErrorKind::device,
                fmt::format("it cannot be loaded: {}", why == nullptr ? "no reason" : why));
  }
  return {handle, [](void* library) { ::dlclose(library); }};
}

const dyn_plugin& described(const Library& library) {
  const auto get =
      reinterpret_cast<dyn_plugin_get_function>(::dlsym(library.get(), "dyn_plugin_get"));
  if (get == nullptr)
    user_error("it is no plug-in: it has no function dyn_plugin_get (dyn/plugin.h)");
  const dyn_plugin* plugin = get();
  if (plugin == nullptr) user_error("dyn_plugin_get gave nothing (NULL)");
  return *plugin;
}

void check_table(const dyn_plugin& plugin) {
  if (plugin.version >> 16 != DYN_PLUGIN_MAJOR)
    throw Error(ErrorKind::unsupported,
                fmt::format("it was built for version {}.{} of dyn's plug-ins; this library reads "
                            "version {}",
                            plugin.version >> 16, plugin.version & 0xffff, DYN_PLUGIN_MAJOR));
  if (plugin.struct_size < sizeof(dyn_plugin))
    user_error(
        fmt::format("its dyn_plugin has {} bytes, not {}", plugin.struct_size, sizeof(dyn_plugin)));
  if (plugin.operators == nullptr && plugin.operator_count > 0)
    user_error("its operators are NULL");
}

std::string given_text(const char* text, const char* what) {
  if (text == nullptr) user_error(fmt::format("{} is NULL", what));
  return text;
}

OperatorAttribute attribute_from(const dyn_plugin_attribute* from) {
  if (from == nullptr || from->struct_size < sizeof(dyn_plugin_attribute))
    user_error("an attribute is NULL, or shorter than its structure");
  OperatorAttribute attribute{
      given_text(from->name, "the name of an attribute"), {}, from->required != 0};
  switch (from->kind) {
    case DYN_PLUGIN_BOOLEAN: attribute.default_value = from->boolean != 0; break;
    case DYN_PLUGIN_NUMBER: attribute.default_value = from->number; break;
    case DYN_PLUGIN_INTEGER: attribute.default_value = from->integer; break;
    case DYN_PLUGIN_WORD:
      attribute.default_value = from->required != 0 && from->word == nullptr
                                    ? std::string("none")
                                    : given_text(from->word, "the default word of an attribute");
      break;
    case DYN_PLUGIN_INTEGERS:
      if (from->integers == nullptr && from->integer_count > 0)
        user_error("the default list of an attribute is NULL");
      attribute.default_value =
          std::vector<std::int64_t>(from->integers, from->integers + from->integer_count);
      break;
    default:
      user_error(
          fmt::format("the attribute {} has kind {}, which is none", attribute.name, from->kind));
  }
  return attribute;
}

/// `function` with errors that name the plug-in, which stays loaded as long as the function does.
template <class Function>
auto of_plugin(const Library& library, const std::string& place, const dyn_plugin_operator& from,
               Function function) {
  return [library, place, &from, function](auto&&... arguments) {
    try {
      return function(from, arguments...);
    } catch (const Error& error) { throw error.within(place); } catch (const std::bad_alloc&) {
      throw Error(ErrorKind::device, "no memory", {place});
    } catch (const std::exception& error) {
      throw Error(ErrorKind::user, fmt::format("it threw: {}", error.what()), {place});
    } catch (...) { throw Error(ErrorKind::user, "it threw what is no std::exception", {place}); }
  };
}

/// A plug-in may be older than the member.
bool has_definition(const dyn_plugin_operator& from) {
  return from.struct_size >= sizeof(dyn_plugin_operator) && from.definition != nullptr;
}

Operator operator_from(const dyn_plugin_operator* from, const Library& library,
                       const std::string& place) {
  if (from == nullptr || from->struct_size < offsetof(dyn_plugin_operator, definition))
    user_error("an operator is NULL, or shorter than its structure");
  Operator given;
  given.domain = given_text(from->domain, "the domain of an operator");
  given.name = given_text(from->name, "the name of an operator");
  const auto has_list = [&](const void* list, std::size_t count, const char* what) {
    if (list == nullptr && count > 0)
      user_error(fmt::format("the {} of {}::{} are NULL", what, given.domain, given.name));
  };
  has_list(from->input_names, from->input_count, "names of the inputs");
  has_list(from->attributes, from->attribute_count, "attributes");
  for (std::uint32_t i = 0; i < from->input_count; ++i)
    given.inputs.push_back(given_text(from->input_names[i], "the name of an input"));
  given.optional_inputs = from->optional_input_count;
  given.outputs = from->output_count;
  for (std::size_t i = 0; i < from->attribute_count; ++i)
    given.attributes.push_back(attribute_from(from->attributes[i]));
  if (from->shape != nullptr) given.shape = of_plugin(library, place, *from, c::call_shape);
  if (from->kernel != nullptr) given.kernel = of_plugin(library, place, *from, c::call_kernel);
  if (from->expression != nullptr) given.expression = from->expression;
  if (has_definition(*from))
    given.definition = of_plugin(library, place, *from, c::call_definition);
  return given;
}

/// `place`: what all errors name. `described`: gives the table.
template <class Described>
Operators operators_of(const Library& library, const std::string& place, Described described) {
  try {
    const dyn_plugin& plugin = described();
    check_table(plugin);
    std::vector<Operator> operators;
    for (std::size_t i = 0; i < plugin.operator_count; ++i)
      operators.push_back(operator_from(plugin.operators[i], library, place));
    return Operators(operators);
  } catch (const Error& error) { throw error.within(place); } catch (const std::bad_alloc&) {
    throw;
  } catch (...) { throw Error(ErrorKind::user, "dyn_plugin_get threw an exception", {place}); }
}

}  // namespace

Operators Operators::from_plugin(const std::string& path) {
  const std::string place = fmt::format("the plug-in '{}'", path);
  Library library;
  try {
    library = opened(path);
  } catch (const Error& error) { throw error.within(place); }
  return operators_of(library, place, [&]() -> const dyn_plugin& { return described(library); });
}

Operators Operators::from_table(const dyn_plugin& table, const std::shared_ptr<void>& owner) {
  return operators_of(owner, "the program's table of operators",
                      [&]() -> const dyn_plugin& { return table; });
}

}  // namespace dyn
