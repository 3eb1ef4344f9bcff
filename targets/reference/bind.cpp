// The values of symbols from the shapes of the inputs.

#include <optional>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "targets/reference/reference.hpp"

namespace dyn::reference {
namespace {

[[noreturn]] void refuse(const graph::Value& input, std::size_t axis, std::int64_t size,
                         std::int64_t wanted) {
  throw Error(ErrorKind::user,
              fmt::format("input '{}', dim {} ({}): {} given, {} wanted", input.name, axis,
                          graph::to_string(input.type.dims[axis]), size, wanted));
}

}  // namespace

std::vector<std::int64_t> bind_symbols(const graph::Module& module,
                                       std::span<const std::vector<std::int64_t>> input_dims) {
  std::vector<std::optional<std::int64_t>> found(
      static_cast<std::size_t>(module.dims->symbol_count()));
  const auto each_dim = [&](auto&& body) {
    for (std::size_t i = 0; i < module.inputs.size(); ++i) {
      const auto& input = module.value(module.inputs[i]);
      if (input_dims[i].size() != input.type.dims.size()) {
        throw Error(ErrorKind::user, fmt::format("input '{}' has rank {}, {} wanted", input.name,
                                                 input_dims[i].size(), input.type.dims.size()));
      }
      for (std::size_t axis = 0; axis < input_dims[i].size(); ++axis)
        body(input, axis, input_dims[i][axis]);
    }
  };
  each_dim([&](const graph::Value& input, std::size_t axis, std::int64_t size) {
    if (const auto symbol = input.type.dims[axis].symbol()) {
      auto& value = found[static_cast<std::size_t>(*symbol)];
      if (value && *value != size) refuse(input, axis, size, *value);
      value = size;
    }
  });

  std::vector<std::int64_t> symbols;
  for (std::size_t i = 0; i < found.size(); ++i) {
    symbols.push_back(found[i].value_or(module.dims->info(static_cast<int>(i)).low));
  }
  each_dim([&](const graph::Value& input, std::size_t axis, std::int64_t size) {
    const auto wanted = graph::evaluate(input.type.dims[axis], symbols);
    if (wanted != size) refuse(input, axis, size, wanted);
  });
  return symbols;
}

}  // namespace dyn::reference
