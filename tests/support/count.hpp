#pragma once
// Counts how often a text contains a part.

#include <string_view>

namespace dyn::testing {

inline int count(std::string_view text, std::string_view part) {
  int found = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

}  // namespace dyn::testing
