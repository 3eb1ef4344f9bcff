#include "src/import/onnx/texts/text_list.hpp"

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

namespace dyn::onnx {
namespace {

TextVector each_once(const TextVector& texts) {
  TextVector list;
  std::unordered_set<std::string_view> seen;
  for (const std::string& text : texts)
    if (seen.insert(text).second) list.push_back(text);
  return list;
}

}  // namespace

TextList::TextList(const TextVector& texts, bool is_open)
    : texts_(std::make_shared<const TextVector>(each_once(texts))), is_open_(is_open) {
  for (std::size_t i = 0; i < texts_->size(); ++i)
    places_.emplace((*texts_)[i], static_cast<std::int64_t>(i));
}

std::optional<std::int64_t> TextList::find(const std::string& text) const {
  const auto found = places_.find(text);
  return found == places_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::int64_t> TextList::places_of(const TextVector& texts) const {
  std::vector<std::int64_t> places;
  for (const std::string& text : texts) places.push_back(places_.at(text));
  return places;
}

std::string listed(const TextVector& texts) {
  constexpr std::size_t most = 20;
  std::string list;
  for (std::size_t i = 0; i < std::min(most, texts.size()); ++i)
    list += fmt::format("{}{} is \"{}\"", i > 0 ? ", " : "", i, texts[i]);
  return texts.size() > most ? fmt::format("{}, and {} more", list, texts.size() - most) : list;
}

}  // namespace dyn::onnx
