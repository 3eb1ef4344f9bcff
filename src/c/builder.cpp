// Models that a program makes.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/c/building.hpp"
#include "src/c/objects.hpp"

using dyn::c::BuilderHandle;
using dyn::c::Building;
using dyn::c::dtype_of;
using dyn::c::guarded;
using dyn::c::makes;
using dyn::c::required_array;
using dyn::c::required_text;
using dyn::c::shape_of;
using dyn::c::TextsHandle;
using dyn::c::Used;

namespace {

/// Changes a model, by `work` on its Building.
template <class Work>
dyn_status* changes(dyn_builder* builder, const Work& work) noexcept {
  return guarded([&] {
    const Used<BuilderHandle> used(builder);
    used->changed([&] { work(*used); });
  });
}

/// Adds the values that `work` gives, as many as there are places. These may be among the inputs of
/// the node, and so change at the end.
template <class Work>
void add_values(dyn_builder* builder, std::span<dyn_value*> places, const Work& work) {
  std::vector<dyn_value*> handles(places.size());
  try {
    const Used<BuilderHandle> used(builder);
    used->changed([&] {
      const dyn::Values values = work(*used);
      std::ranges::transform(values, handles.begin(),
                             [&](const dyn::Value& value) { return used->add(value); });
    });
  } catch (...) {
    std::ranges::fill(places, nullptr);
    throw;
  }
  std::ranges::copy(handles, places.begin());
}

/// The same of one value.
template <class Work>
dyn_status* adds(dyn_builder* builder, dyn_value** value, const Work& work) noexcept {
  return guarded([&] {
    add_values(builder, {&dyn::c::required(value, "value"), 1},
               [&](Building& model) { return dyn::Values{work(model)}; });
  });
}

std::string named(const char* name) { return std::string(required_text(name, "name")); }

dyn::Dims dims_of(Building& model, const char* shape) {
  return model.builder().dims(required_text(shape, "shape"));
}

/// The program's operators, of plug-ins too.
dyn::Operators operators_of(const dyn_options* options) {
  const dyn::Options all = dyn::c::options_of(options);
  dyn::Operators operators = all.operators;
  for (const std::string& path : all.plugins)
    operators = operators.joined(dyn::Operators::from_plugin(path));
  return operators;
}

dyn::Dim size_of_text(dyn::Builder& builder, std::string_view text) {
  const dyn::Dims dims = builder.dims(fmt::format("[{}]", text));
  if (dims.size() != 1)
    dyn::c::user_error(fmt::format("\"{}\" is {} sizes, not one", text, dims.size()));
  return dims.front();
}

dyn::AttributeValue value_of(dyn::Builder& builder, const dyn_attribute& attribute) {
  const auto text = [&] { return required_text(attribute.text, "attributes[].text"); };
  switch (attribute.kind) {
    case DYN_ATTRIBUTE_BOOLEAN: return attribute.boolean;
    case DYN_ATTRIBUTE_NUMBER: return attribute.number;
    case DYN_ATTRIBUTE_INTEGER: return attribute.integer;
    case DYN_ATTRIBUTE_WORD: return text();
    case DYN_ATTRIBUTE_INTEGERS: {
      const auto list =
          required_array(attribute.integers, attribute.count, "attributes[].integers");
      return std::vector<std::int64_t>(list.begin(), list.end());
    }
    case DYN_ATTRIBUTE_SIZE: return size_of_text(builder, text());
    case DYN_ATTRIBUTE_SIZES: return builder.dims(text());
    case DYN_ATTRIBUTE_DTYPE: return dtype_of(attribute.dtype);
    default: dyn::c::user_error(fmt::format("its kind {} is none", attribute.kind));
  }
}

dyn::Attributes attributes_of(dyn::Builder& builder, std::size_t count,
                              const dyn_attribute* attributes) {
  dyn::Attributes all;
  for (const dyn_attribute& attribute : required_array(attributes, count, "attributes")) {
    const std::string_view name = required_text(attribute.name, "attributes[].name");
    try {
      all.push_back({std::string(name), value_of(builder, attribute)});
    } catch (const dyn::Error& error) {
      throw error.within(fmt::format("the attribute '{}'", name));
    }
  }
  return all;
}

/// A node as its function of C++ gets it.
struct NodeParts {
  std::string_view op;
  dyn::Values inputs;
  dyn::Attributes attributes;
};
/// Errors name the operator, as those of its node do.
NodeParts parts_of(Building& model, const char* op, std::size_t input_count,
                   dyn_value* const* inputs, std::size_t attribute_count,
                   const dyn_attribute* attributes) {
  const std::string_view name = required_text(op, "op");
  try {
    return {name, model.values(required_array(inputs, input_count, "inputs"), "inputs"),
            attributes_of(model.builder(), attribute_count, attributes)};
  } catch (const dyn::Error& error) { throw error.within(std::string(name)); }
}

}  // namespace

extern "C" {

dyn_status* dyn_builder_create(const char* name, const dyn_options* options,
                               dyn_builder** builder) noexcept {
  return makes<BuilderHandle>(builder, "builder", [&] {
    return dyn::Builder(name == nullptr ? "graph" : name, operators_of(options));
  });
}

dyn_status* dyn_builder_dim(dyn_builder* builder, const char* name, int64_t low,
                            int64_t high) noexcept {
  return changes(builder, [&](Building& model) { model.builder().dim(named(name), low, high); });
}

dyn_status* dyn_builder_dim_with(dyn_builder* builder, const dyn_dim* dim) noexcept {
  return changes(builder, [&](Building& model) {
    const dyn_dim from = dyn::c::struct_of(dim, "dim");
    dyn::DimRange range{from.low, from.high, from.divisor};
    if (from.has_hint) range.hint = from.hint;
    model.builder().dim(std::string(required_text(from.text, "dim->text")), range);
  });
}

dyn_status* dyn_builder_input(dyn_builder* builder, const char* name, dyn_dtype dtype,
                              const char* shape, dyn_value** value) noexcept {
  return adds(builder, value, [&](Building& model) {
    return model.builder().input(named(name), dtype_of(dtype), dims_of(model, shape));
  });
}

dyn_status* dyn_builder_state(dyn_builder* builder, const char* name, dyn_dtype dtype,
                              const char* shape, dyn_value** value) noexcept {
  return adds(builder, value, [&](Building& model) {
    return model.builder().state(named(name), dtype_of(dtype), dims_of(model, shape));
  });
}

dyn_status* dyn_builder_weight(dyn_builder* builder, const char* name, const dyn_tensor* elements,
                               dyn_value** value) noexcept {
  return adds(builder, value, [&](Building& model) {
    return model.builder().weight(named(name), *Used<dyn::c::TensorHandle>(elements));
  });
}

dyn_status* dyn_builder_weight_file(dyn_builder* builder, const char* path) noexcept {
  return changes(builder, [&](Building& model) {
    model.builder().weight_file(std::string(required_text(path, "path")));
  });
}

dyn_status* dyn_builder_weight_of_file(dyn_builder* builder, const char* name, dyn_dtype dtype,
                                       size_t rank, const int64_t* sizes,
                                       dyn_value** value) noexcept {
  return adds(builder, value, [&](Building& model) {
    return model.builder().weight(named(name), dtype_of(dtype), shape_of(rank, sizes));
  });
}

dyn_status* dyn_builder_splat(dyn_builder* builder, const char* name, dyn_dtype dtype, size_t rank,
                              const int64_t* sizes, double element, dyn_value** value) noexcept {
  return adds(builder, value, [&](Building& model) {
    return model.builder().splat(named(name), dtype_of(dtype), shape_of(rank, sizes), element);
  });
}

dyn_status* dyn_builder_random(dyn_builder* builder, const char* name, dyn_dtype dtype, size_t rank,
                               const int64_t* sizes, uint64_t seed, dyn_value** value) noexcept {
  return adds(builder, value, [&](Building& model) {
    return model.builder().random(named(name), dtype_of(dtype), shape_of(rank, sizes), seed);
  });
}

dyn_status* dyn_builder_number(dyn_builder* builder, dyn_dtype dtype, double number,
                               dyn_value** value) noexcept {
  return adds(builder, value, [&](Building&) -> dyn::Value {
    if (dtype == DYN_NO_DTYPE) return number;
    return dyn::Value::number(dtype_of(dtype), number);
  });
}

dyn_status* dyn_builder_integer(dyn_builder* builder, dyn_dtype dtype, int64_t integer,
                                dyn_value** value) noexcept {
  return adds(builder, value, [&](Building&) -> dyn::Value {
    if (dtype == DYN_NO_DTYPE) return integer;
    if (dtype == DYN_BOOL && (integer == 0 || integer == 1)) return integer == 1;
    return dyn::Value::number(dtype_of(dtype), std::int64_t{integer});
  });
}

dyn_status* dyn_builder_op(dyn_builder* builder, const char* op, size_t input_count,
                           dyn_value* const* inputs, size_t attribute_count,
                           const dyn_attribute* attributes, const char* name,
                           dyn_value** value) noexcept {
  return adds(builder, value, [&](Building& model) {
    const NodeParts node = parts_of(model, op, input_count, inputs, attribute_count, attributes);
    return model.builder().op(node.op, node.inputs, node.attributes, name == nullptr ? "" : name);
  });
}

dyn_status* dyn_builder_ops(dyn_builder* builder, const char* op, size_t input_count,
                            dyn_value* const* inputs, size_t attribute_count,
                            const dyn_attribute* attributes, size_t value_count,
                            dyn_value** values) noexcept {
  return guarded([&] {
    if (value_count == 0) dyn::c::user_error("there is room for no result (value_count is 0)");
    dyn::c::check_pointer(values, alignof(dyn_value*), "values");
    add_values(builder, {values, value_count}, [&](Building& model) {
      const NodeParts node = parts_of(model, op, input_count, inputs, attribute_count, attributes);
      return model.builder().ops(node.op, node.inputs, node.attributes, value_count);
    });
  });
}

dyn_status* dyn_builder_rename(dyn_builder* builder, dyn_value* value, const char* name) noexcept {
  return changes(builder, [&](Building& model) { model.value(value, "value").named(named(name)); });
}

dyn_status* dyn_builder_output(dyn_builder* builder, const char* name, dyn_value* value) noexcept {
  return changes(builder, [&](Building& model) {
    model.builder().output(named(name), model.value(value, "value"));
  });
}

dyn_status* dyn_builder_port(dyn_builder* builder, const dyn_value* value,
                             dyn_port** port) noexcept {
  return makes<dyn::c::PortHandle>(
      port, "port", [&] { return Used<BuilderHandle>(builder)->value(value, "value").info(); });
}

dyn_status* dyn_builder_to_text(dyn_builder* builder, dyn_texts** text) noexcept {
  return makes<TextsHandle>(text, "text", [&] {
    const Used<BuilderHandle> used(builder);
    return std::vector{used->whole().to_text()};
  });
}

dyn_status* dyn_builder_weights(dyn_builder* builder, dyn_texts** file) noexcept {
  return makes<TextsHandle>(file, "file", [&] {
    const Used<BuilderHandle> used(builder);
    return std::vector{used->whole().weights()};
  });
}

dyn_status* dyn_builder_load(dyn_builder* builder, const dyn_options* options,
                             const char* weight_directory, dyn_graph** graph) noexcept {
  return makes<dyn::c::GraphHandle>(graph, "graph", [&] {
    const Used<BuilderHandle> used(builder);
    return used->whole().load(dyn::c::options_of(options),
                              weight_directory == nullptr ? "." : weight_directory);
  });
}

void dyn_builder_release(dyn_builder* builder) noexcept {
  dyn::c::release_handle(BuilderHandle::kind, builder);
}

}  // extern "C"
