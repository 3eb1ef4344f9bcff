#include "src/cli/input/shapes.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dyn/error.hpp"
#include "src/base/rounding.hpp"
#include "src/cli/input/ranges.hpp"

namespace dyn::cli {
namespace {

Shape parse_shape(std::string_view text, std::string_view whole) {
  Shape shape;
  if (text == "scalar") return shape;
  for (;;) {
    const std::size_t cross = text.find('x');
    shape.push_back(parse_integer(text.substr(0, cross), whole));
    if (cross == std::string_view::npos) return shape;
    text.remove_prefix(cross + 1);
  }
}

const graph::Value& find_input(const graph::Module& module, const std::string& name) {
  for (const graph::ValueId id : module.inputs) {
    if (module.value(id).name == name) return module.value(id);
  }
  std::string names;
  for (const graph::ValueId id : module.inputs)
    names += (names.empty() ? "" : ", ") + module.value(id).name;
  throw Error(ErrorKind::user,
              fmt::format("the model has no input \"{}\"; it has {}", name, names));
}

void collect_dims(const graph::Module& module, const std::string& input, const Shape& shape,
                  std::map<std::string, std::int64_t>& dims) {
  const graph::Value& value = find_input(module, input);
  if (static_cast<int>(shape.size()) != value.type.rank()) {
    throw Error(ErrorKind::user, fmt::format("input {}: shape {} does not fit {}", input,
                                             to_string(shape), graph::to_string(value.type)));
  }
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const std::optional<int> symbol = value.type.dims[axis].symbol();
    if (!symbol) continue;
    const std::string& name = module.dims->info(*symbol).name;
    const auto [entry, is_new] = dims.try_emplace(name, shape[axis]);
    if (!is_new && entry->second != shape[axis]) {
      throw Error(ErrorKind::user, fmt::format("input {}: dim {} is {}, but another input says {}",
                                               input, name, shape[axis], entry->second));
    }
  }
}

/// A size that the dim may have.
std::int64_t example_size(const graph::SymbolInfo& info) {
  constexpr std::int64_t usual = 3;
  const std::int64_t least = round_up(std::max(info.low, usual), info.divisor);
  return least <= info.high ? least : info.low;
}

}  // namespace

std::vector<std::int64_t> bind_named(const runtime::Model& model,
                                     const std::map<std::string, std::int64_t>& dims) {
  const std::vector<std::string> missing = model.dims_without_value(dims);
  if (missing.empty()) return model.bind_dims(dims);
  const graph::DimTable& table = *model.module().dims;
  std::string flags;
  for (const std::string& name : missing) {
    const int symbol = table.find_symbol(name).value().symbol().value();
    flags += fmt::format(" --dims {}={}", name, example_size(table.info(symbol)));
  }
  throw Error(ErrorKind::user,
              missing.size() == 1
                  ? fmt::format("dim '{}' has no value and no hint; give it one, such as{}",
                                missing.front(), flags)
                  : fmt::format("dims '{}' have no value and no hint; give each one, such as{}",
                                fmt::join(missing, "', '"), flags));
}

runtime::NamedShapes parse_shapes(std::string_view text) {
  runtime::NamedShapes shapes;
  std::string_view rest = text;
  for (;;) {
    const std::size_t comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      throw Error(ErrorKind::user, fmt::format("--shapes {}: expected NAME=1x37", text));
    }
    shapes.emplace_back(std::string(item.substr(0, equals)),
                        parse_shape(item.substr(equals + 1), text));
    if (comma == std::string_view::npos) return shapes;
    rest.remove_prefix(comma + 1);
  }
}

std::vector<std::int64_t> bind_partial(const runtime::Model& model,
                                       const runtime::NamedShapes& shapes) {
  std::map<std::string, std::int64_t> dims;
  for (const auto& [name, shape] : shapes) collect_dims(model.module(), name, shape, dims);
  std::vector<std::int64_t> symbols = bind_named(model, dims);
  const runtime::NamedShapes bound = model.input_shapes(symbols);
  for (const auto& [name, shape] : shapes) {
    const auto same_name = [&](const auto& entry) { return entry.first == name; };
    const auto found = std::find_if(bound.begin(), bound.end(), same_name);
    if (found != bound.end() && found->second != shape) {
      throw Error(ErrorKind::user,
                  fmt::format("input {}: shape {} does not fit; with these dims it is {}", name,
                              to_string(shape), to_string(found->second)));
    }
  }
  return symbols;
}

}  // namespace dyn::cli
