#include "graph/ir/module.hpp"

#include <algorithm>

namespace dyn::graph {

std::string to_string(const TensorType& type) {
  return std::string(name_of(type.dtype)) + to_string(type.dims);
}

const AttrValue* Node::find_attr(std::string_view name) const {
  const auto found = std::ranges::find(attrs, name, &Attr::name);
  return found == attrs.end() ? nullptr : &found->value;
}

}  // namespace dyn::graph
