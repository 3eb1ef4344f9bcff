#include "dyn/reader.hpp"

namespace dyn {

Reader::~Reader() = default;

std::optional<std::span<const std::byte>> Reader::in_place(const std::string&) {
  return std::nullopt;
}

std::string Reader::identity(const std::string&) { return {}; }

}  // namespace dyn
