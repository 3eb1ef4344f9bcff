#include "src/import/onnx/sizes/ones.hpp"

#include <cstdint>
#include <optional>
#include <utility>

namespace dyn::onnx {

UnlikeOnes::UnlikeOnes(std::shared_ptr<graph::DimTable> dims,
                       std::vector<std::vector<graph::Dim>> inputs,
                       const std::vector<graph::Dim>& sizes)
    : dims_(std::move(dims)), inputs_(std::move(inputs)) {
  for (const graph::Dim size : sizes)
    sizes_.push_back({graph::to_string(size), static_cast<std::size_t>(program_.slot(size))});
}

Ones UnlikeOnes::all() const {
  Ones ones;
  for (const Size& size : sizes_) ones.insert(size.text);
  return ones;
}

/// False where the shapes do not fit.
bool UnlikeOnes::find_symbols(std::span<const Shape* const> shapes,
                              std::span<std::int64_t> symbols) const {
  constexpr std::int64_t unknown = -1;
  std::ranges::fill(symbols, unknown);
  if (shapes.size() != inputs_.size()) return false;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const Shape& shape = *shapes[i];
    if (shape.size() != inputs_[i].size()) return false;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const graph::Dim dim = inputs_[i][axis];
      if (dim.constant().value_or(shape[axis]) != shape[axis]) return false;
      const std::optional<int> symbol = dim.symbol();
      if (!symbol) continue;
      std::int64_t& value = symbols[static_cast<std::size_t>(*symbol)];
      if (value != unknown && value != shape[axis]) return false;
      value = shape[axis];
    }
  }
  return true;
}

Ones UnlikeOnes::at(std::span<const Shape* const> shapes) const {
  if (empty()) return {};
  thread_local std::vector<std::int64_t> symbols, values;
  symbols.resize(static_cast<std::size_t>(dims_->symbol_count()));
  values.resize(static_cast<std::size_t>(program_.size()));
  if (!find_symbols(shapes, symbols)) return {};
  program_.run(symbols, values);
  Ones ones;
  for (const Size& size : sizes_) {
    if (values[size.slot] == 1) ones.insert(size.text);
  }
  return ones;
}

}  // namespace dyn::onnx
