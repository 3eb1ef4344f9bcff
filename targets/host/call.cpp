#include "targets/host/call.hpp"

#include <algorithm>

namespace dyn::host {

std::int64_t Array::integer() const {
  std::int64_t value = 0;
  visit_numbers(dtype, [&](auto zero) { value = static_cast<std::int64_t>(*static_cast<const decltype(zero)*>(data)); });
  return value;
}

double Array::number() const {
  double value = 0;
  visit_numbers(dtype, [&](auto zero) { value = static_cast<double>(*static_cast<const decltype(zero)*>(data)); });
  return value;
}

std::size_t Call::axis(std::string_view name) const {
  return static_cast<std::size_t>(*graph::normalize_axis(graph::attr_integer(node, name), static_cast<int>(inputs[0].dims.size())));
}

AlongAxis::AlongAxis(const Shape& dims, std::size_t axis) : extent(dims[axis]) {
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (i < axis) outer *= dims[i];
    if (i > axis) inner *= dims[i];
  }
}

const Operator* find_operator(std::string_view name) {
  for (const auto& family : {order_operators(), scatter_operators(), choice_operators(), recurrence_operators()}) {
    const auto found = std::ranges::find(family, name, &Operator::name);
    if (found != family.end()) return &*found;
  }
  return nullptr;
}

}  // namespace dyn::host
