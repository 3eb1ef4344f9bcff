#include "src/import/onnx/parts/texts.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace dyn::onnx {

std::string listed(const std::vector<std::string>& texts) {
  constexpr std::size_t most = 20;
  std::string list;
  for (std::size_t i = 0; i < std::min(most, texts.size()); ++i)
    list += fmt::format("{}{} is \"{}\"", i > 0 ? ", " : "", i, texts[i]);
  return texts.size() > most ? fmt::format("{}, and {} more", list, texts.size() - most) : list;
}

}  // namespace dyn::onnx
