#include "dyn/error.hpp"

#include <array>
#include <utility>

namespace dyn {
namespace {

std::string full_text(const std::string& message, const std::vector<std::string>& where) {
  std::string text = message;
  for (const std::string& place : where) text += "\n  in " + place;
  return text;
}

}  // namespace

std::string_view name_of(ErrorKind kind) noexcept {
  constexpr std::array<std::string_view, 6> names = {"user",   "model",    "unsupported",
                                                     "device", "internal", "cancelled"};
  return names[static_cast<std::size_t>(kind)];
}

Error::Error(ErrorKind kind, std::string message, std::vector<std::string> where)
    : std::runtime_error(full_text(message, where)),
      kind_(kind),
      message_(std::move(message)),
      where_(std::move(where)) {}

Error Error::within(std::string place) const {
  std::vector<std::string> where = where_;
  where.push_back(std::move(place));
  return Error(kind_, message_, std::move(where));
}

}  // namespace dyn
