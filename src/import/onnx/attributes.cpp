// The attributes of an ONNX node.

#include <algorithm>

#include <fmt/format.h>

#include "src/import/onnx/node_context.hpp"

namespace dyn::onnx {

const AttributeProto* NodeContext::attribute(std::string_view name) const {
  const auto found = std::ranges::find_if(
      node_.attribute(), [&](const AttributeProto& each) { return each.name() == name; });
  return found == node_.attribute().end() ? nullptr : &*found;
}

std::int64_t NodeContext::integer(std::string_view name, std::int64_t default_value) const {
  const AttributeProto* found = attribute(name);
  if (found == nullptr) return default_value;
  if (!found->has_i()) fail(fmt::format("its attribute {} must be an integer", name));
  return found->i();
}

double NodeContext::number(std::string_view name, double default_value) const {
  const AttributeProto* found = attribute(name);
  if (found == nullptr) return default_value;
  if (!found->has_f()) fail(fmt::format("its attribute {} must be a number", name));
  return static_cast<double>(found->f());
}

std::string NodeContext::word(std::string_view name, const std::string& default_value) const {
  const AttributeProto* found = attribute(name);
  if (found == nullptr) return default_value;
  if (!found->has_s()) fail(fmt::format("its attribute {} must be a word", name));
  return found->s();
}

std::optional<std::vector<std::int64_t>> NodeContext::integers(std::string_view name) const {
  const AttributeProto* found = attribute(name);
  if (found == nullptr) return std::nullopt;
  return std::vector<std::int64_t>(found->ints().begin(), found->ints().end());
}

std::optional<std::vector<std::int64_t>> NodeContext::integers(std::string_view name,
                                                               std::size_t input) {
  if (has(input)) return need_integers(input, name);
  return integers(name);
}

std::vector<double> NodeContext::numbers(std::string_view name) const {
  const AttributeProto* found = attribute(name);
  if (found == nullptr) return {};
  return {found->floats().begin(), found->floats().end()};
}

std::vector<std::string> NodeContext::words(std::string_view name) const {
  const AttributeProto* found = attribute(name);
  if (found == nullptr) return {};
  return {found->strings().begin(), found->strings().end()};
}

Tensor NodeContext::take_tensor(std::string_view name) {
  const auto found = std::ranges::find_if(
      *node_.mutable_attribute(), [&](const AttributeProto& each) { return each.name() == name; });
  if (found == node_.mutable_attribute()->end() || !found->has_t())
    fail(fmt::format("its attribute {} must be a tensor", name));
  return onnx::take_tensor(*found->mutable_t(), state_.files);
}

DType NodeContext::dtype(std::string_view name) const {
  const AttributeProto* found = attribute(name);
  if (found != nullptr && found->has_s()) return dtype_named(found->s());  // before opset 6
  if (found == nullptr || !found->has_i()) fail(fmt::format("it needs the attribute {}", name));
  return dtype_of(static_cast<std::int32_t>(found->i()));
}

int NodeContext::axis(std::int64_t axis, int rank) const {
  if (const std::optional<int> normal = graph::normalize_axis(axis, rank)) return *normal;
  fail(fmt::format("axis {} is outside of a tensor with {} dims", axis, rank));
}

}  // namespace dyn::onnx
