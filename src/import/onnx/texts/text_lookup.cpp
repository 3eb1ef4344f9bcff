#include "src/import/onnx/texts/text_lookup.hpp"

#include <limits>
#include <unordered_map>

#include <fmt/format.h>

namespace dyn::onnx {
namespace {

TensorExpr table_of(NodeContext& node, const Integers& elements) {
  return integers(node, {static_cast<std::int64_t>(elements.size())}, elements);
}

/// An open list has every text of the file that may be looked up in it (lists_of_inputs); a text
/// that it lacks would be taken for an unknown one.
void require_listed(const NodeContext& node, const TextList& list, const std::string& text) {
  if (list.is_open() && !list.find(text))
    node.fail_unsupported(fmt::format(
        "it looks for \"{}\" in an input of texts in a way that is not supported", text));
}

/// The place in `list` of each text of `from`.
Integers moved_places(const NodeContext& node, const TextList& from, const TextList& list) {
  Integers places;
  for (const std::string& text : *from.texts()) {
    require_listed(node, list, text);
    places.push_back(*list.find(text));
  }
  return places;
}

Tensor places_of_constant(const Tensor& places, const Integers& moved) {
  Tensor tensor{DType::i64, places.dims, {}};
  for (const std::int64_t place : integers_of(places)) {
    const std::int64_t element = moved[static_cast<std::size_t>(place)];
    tensor.bytes.append(reinterpret_cast<const char*>(&element), sizeof element);
  }
  return tensor;
}

}  // namespace

TextListPtr common_list(NodeContext& node, std::size_t first, std::size_t end) {
  TextListPtr list;
  TextVector all;
  bool is_same = true;
  for (std::size_t i = first; i < end; ++i) {
    if (!node.has(i)) continue;
    const TextListPtr own = node.operand(i)->texts;
    if (!own) node.fail(fmt::format("its input {} holds numbers, but others hold texts", i));
    if (list && list->is_open() && own->is_open() && list != own)
      node.fail_unsupported("its texts are of two inputs, in a way that is not supported");
    is_same = is_same && (!list || list == own);
    all.insert(all.end(), own->texts()->begin(), own->texts()->end());
    if (!list || own->is_open()) list = own;
  }
  return is_same || list->is_open() ? list : std::make_shared<const TextList>(all);
}

Operand places_in(NodeContext& node, const Operand& given, const TextList& list) {
  Operand places = given;
  places.texts = nullptr;
  if (given.texts.get() == &list) return places;
  const Integers moved = moved_places(node, *given.texts, list);
  if (given.constant)
    return {graph::no_value,
            std::make_shared<const Tensor>(places_of_constant(*given.constant, moved)),
            std::nullopt, given.name + ".places"};
  const TensorExpr in_given{node, node.value_of(places)};
  return {gather(table_of(node, moved), in_given, 0).id(), nullptr, std::nullopt, given.name};
}

TensorExpr places_in_keys(NodeContext& node, const TextVector& keys) {
  const TextList& list = *node.texts(0);
  const auto none = static_cast<std::int64_t>(keys.size());
  std::unordered_map<std::string_view, std::int64_t> of_keys;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    require_listed(node, list, keys[i]);
    of_keys.emplace(keys[i], static_cast<std::int64_t>(i));
  }
  Integers table;
  for (const std::string& text : *list.texts()) {
    const auto found = of_keys.find(text);
    table.push_back(found == of_keys.end() ? none : found->second);
  }
  TensorExpr places{node, node.places_of_texts(0)};
  if (list.is_open()) {
    table.push_back(none);
    const auto beyond = static_cast<double>(list.size());
    places = where(less(places, 0.0), beyond, minimum(places, beyond));
  }
  return gather(table_of(node, table), places, 0);
}

Integers elements_of_keys(NodeContext& node, const TextVector& keys) {
  const TextList& list = *node.texts(0);
  Integers elements;
  for (const std::string& key : keys) {
    require_listed(node, list, key);
    elements.push_back(list.find(key).value_or(std::numeric_limits<std::int64_t>::min()));
  }
  return elements;
}

void give_texts(const TensorExpr& places, const TextVector& texts) {
  NodeContext& node = places.node();
  const auto list = std::make_shared<const TextList>(texts);
  const bool is_same = list->texts()->size() == texts.size();
  node.give_texts(
      is_same ? places.id() : gather(table_of(node, list->places_of(texts)), places, 0).id(), list);
}

}  // namespace dyn::onnx
