// Shared objects with operators.

#include "src/runtime/build/plugins.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/runtime/build/given_operator.hpp"
#include "src/runtime/build/plugin_node.hpp"
#include "src/runtime/system/errors.hpp"

namespace dyn {
namespace {

/// What functions of a plug-in need: a library is loaded as long as anybody has a copy.
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
    runtime::user_error("it is no plug-in: it has no function dyn_plugin_get (dyn/plugin.h)");
  const dyn_plugin* plugin = get();
  if (plugin == nullptr) runtime::user_error("dyn_plugin_get gave nothing (NULL)");
  return *plugin;
}

void check_table(const dyn_plugin& plugin) {
  if (plugin.version >> 16 != DYN_PLUGIN_MAJOR)
    throw Error(ErrorKind::unsupported,
                fmt::format("it was built for version {}.{} of dyn's plug-ins; this library reads "
                            "version {}",
                            plugin.version >> 16, plugin.version & 0xffff, DYN_PLUGIN_MAJOR));
  if (plugin.struct_size < sizeof(dyn_plugin))
    runtime::user_error(
        fmt::format("its dyn_plugin has {} bytes, not {}", plugin.struct_size, sizeof(dyn_plugin)));
  if (plugin.operators == nullptr && plugin.operator_count > 0)
    runtime::user_error("its operators are NULL");
}

std::string text_of(const char* text, const char* what) {
  if (text == nullptr) runtime::user_error(fmt::format("{} is NULL", what));
  return text;
}

OperatorAttribute attribute_from(const dyn_plugin_attribute* from) {
  if (from == nullptr || from->struct_size < sizeof(dyn_plugin_attribute))
    runtime::user_error("an attribute is NULL, or shorter than its structure");
  OperatorAttribute attribute{
      text_of(from->name, "the name of an attribute"), {}, from->required != 0};
  switch (from->kind) {
    case DYN_PLUGIN_BOOLEAN: attribute.default_value = from->boolean != 0; break;
    case DYN_PLUGIN_NUMBER: attribute.default_value = from->number; break;
    case DYN_PLUGIN_INTEGER: attribute.default_value = from->integer; break;
    case DYN_PLUGIN_WORD:
      attribute.default_value = from->required != 0 && from->word == nullptr
                                    ? std::string("none")
                                    : text_of(from->word, "the default word of an attribute");
      break;
    case DYN_PLUGIN_INTEGERS:
      if (from->integers == nullptr && from->integer_count > 0)
        runtime::user_error("the default list of an attribute is NULL");
      attribute.default_value =
          std::vector<std::int64_t>(from->integers, from->integers + from->integer_count);
      break;
    default:
      runtime::user_error(
          fmt::format("the attribute {} has kind {}, which is none", attribute.name, from->kind));
  }
  return attribute;
}

/// Throws what a function of the plug-in has come to, where that is no success.
void check_outcome(int outcome, const dyn_plugin_node& node) {
  if (node.error) std::rethrow_exception(node.error);
  if (!node.message.empty()) runtime::user_error(node.message);
  if (outcome != 0)
    runtime::user_error(fmt::format("it failed with {} and gave no reason", outcome));
}

dyn_plugin_type type_for(const TensorType& type, dyn_plugin_node& node) {
  dyn_plugin_type plain{
      static_cast<dyn_plugin_dtype>(type.dtype), static_cast<std::uint32_t>(type.rank()), {}};
  for (std::size_t i = 0; i < type.rank(); ++i) plain.dims[i] = node.keep(type.dims[i]);
  return plain;
}

/// A type that a plug-in has filled in. Sizes are some that it was given.
TensorType type_from(const dyn_plugin_type& plain, const dyn_plugin_node& node) {
  if (plain.dtype < 0 || static_cast<std::size_t>(plain.dtype) >= all_dtypes().size())
    runtime::user_error(fmt::format("it gives the dtype {}, which is none", plain.dtype));
  if (plain.rank > DYN_PLUGIN_MAX_RANK)
    runtime::user_error(fmt::format("it gives a type of {} dims; at most {} are supported",
                                    plain.rank, DYN_PLUGIN_MAX_RANK));
  TensorType type{static_cast<DType>(plain.dtype), {}};
  for (std::uint32_t i = 0; i < plain.rank; ++i) {
    const dyn_plugin_dim* dim = plain.dims[i];
    const bool is_known =
        std::ranges::any_of(node.dims, [&](const dyn_plugin_dim& each) { return &each == dim; });
    if (!is_known)
      runtime::user_error(fmt::format("dim {} of a type that it gives is {}", i,
                                      dim == nullptr ? "NULL" : "no size that it was given"));
    runtime::check_given_size(dim->dim);
    type.dims.push_back(dim->dim);
  }
  return type;
}

std::vector<TensorType> shapes_by(const dyn_plugin_operator& from, const ShapeContext& context) {
  dyn_plugin_node node;
  node.attributes = &context.attributes();
  node.shape = &context;
  std::vector<dyn_plugin_type> inputs, outputs(from.output_count);
  for (const TensorType& type : context.inputs()) inputs.push_back(type_for(type, node));
  for (dyn_plugin_type& type : outputs) type = {-1, 0, {}};
  const dyn_plugin_shape_call call{sizeof(dyn_plugin_shape_call),
                                   static_cast<std::uint32_t>(inputs.size()),
                                   &runtime::plugin_host(),
                                   &node,
                                   inputs.data(),
                                   outputs.data()};
  check_outcome(from.shape(&call, from.data), node);
  std::vector<TensorType> types;
  for (const dyn_plugin_type& type : outputs) types.push_back(type_from(type, node));
  return types;
}

std::vector<dyn_plugin_tensor> plain_tensors(std::span<const Tensor> tensors) {
  std::vector<dyn_plugin_tensor> plain;
  for (const Tensor& tensor : tensors)
    plain.push_back({static_cast<dyn_plugin_dtype>(tensor.dtype()),
                     static_cast<std::uint32_t>(tensor.shape().size()), tensor.shape().data(),
                     const_cast<void*>(tensor.raw())});
  return plain;
}

void run_by(const dyn_plugin_operator& from, const KernelContext& context) {
  dyn_plugin_node node;
  node.attributes = &context.attributes();
  const std::vector<dyn_plugin_tensor> inputs = plain_tensors(context.inputs()),
                                       outputs = plain_tensors(context.outputs());
  const dyn_plugin_kernel_call call{sizeof(dyn_plugin_kernel_call),
                                    static_cast<std::uint32_t>(inputs.size()),
                                    &runtime::plugin_host(),
                                    &node,
                                    inputs.data(),
                                    outputs.data()};
  check_outcome(from.kernel(&call, from.data), node);
}

/// `function` with errors that name the plug-in, which stays loaded as long as the function does.
template <class Function>
auto of_plugin(const Library& library, const std::string& place, const dyn_plugin_operator& from,
               Function function) {
  return [library, place, &from, function](const auto& context) {
    try {
      return function(from, context);
    } catch (const Error& error) { throw error.within(place); } catch (const std::bad_alloc&) {
      throw Error(ErrorKind::device, "no memory", {place});
    } catch (const std::exception& error) {
      throw Error(ErrorKind::user, fmt::format("it threw: {}", error.what()), {place});
    } catch (...) { throw Error(ErrorKind::user, "it threw what is no std::exception", {place}); }
  };
}

Operator operator_from(const dyn_plugin_operator* from, const Library& library,
                       const std::string& place) {
  if (from == nullptr || from->struct_size < sizeof(dyn_plugin_operator))
    runtime::user_error("an operator is NULL, or shorter than its structure");
  Operator given;
  given.domain = text_of(from->domain, "the domain of an operator");
  given.name = text_of(from->name, "the name of an operator");
  const auto has_list = [&](const void* list, std::size_t count, const char* what) {
    if (list == nullptr && count > 0)
      runtime::user_error(fmt::format("the {} of {}::{} are NULL", what, given.domain, given.name));
  };
  has_list(from->input_names, from->input_count, "names of the inputs");
  has_list(from->attributes, from->attribute_count, "attributes");
  for (std::uint32_t i = 0; i < from->input_count; ++i)
    given.inputs.push_back(text_of(from->input_names[i], "the name of an input"));
  given.optional_inputs = from->optional_input_count;
  given.outputs = from->output_count;
  for (std::size_t i = 0; i < from->attribute_count; ++i)
    given.attributes.push_back(attribute_from(from->attributes[i]));
  if (from->shape != nullptr) given.shape = of_plugin(library, place, *from, shapes_by);
  if (from->kernel != nullptr) given.kernel = of_plugin(library, place, *from, run_by);
  if (from->expression != nullptr) given.expression = from->expression;
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

namespace runtime {

Options with_plugins(Options options) {
  for (const std::string& path : std::exchange(options.plugins, {}))
    options.operators = options.operators.joined(Operators::from_plugin(path));
  return options;
}

}  // namespace runtime

}  // namespace dyn
