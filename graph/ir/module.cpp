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

bool has_texts(const Module& module) {
  const auto is_there = [](const Texts& texts) { return texts != nullptr; };
  return std::ranges::any_of(module.input_texts, is_there) ||
         std::ranges::any_of(module.output_texts, is_there);
}

const Module* find_body(const Module& module, std::string_view name) {
  for (const std::shared_ptr<const Module>& body : module.bodies)
    if (body->name == name) return body.get();
  return nullptr;
}

}  // namespace dyn::graph
