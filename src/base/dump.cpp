#include "src/base/dump.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dyn/error.hpp"

namespace dyn {
namespace {

/// In the order of DumpKind.
constexpr std::array<std::string_view, 4> kind_names = {"passes", "problems", "llvm", "asm"};

std::string variable(const char* name) {
  const char* value = ::secure_getenv(name);
  return value == nullptr ? std::string() : value;
}

}  // namespace

Dump Dump::from_environment() {
  Dump dump;
  std::string_view left;
  const std::string kinds = variable("DYN_DUMP");
  for (left = kinds; !left.empty();) {
    const std::size_t end = std::min(left.find(','), left.size());
    const std::string_view name = left.substr(0, end);
    const auto found = std::ranges::find(kind_names, name);
    if (found == kind_names.end()) {
      throw Error(ErrorKind::user,
                  fmt::format("DYN_DUMP={}: there is nothing called \"{}\" to dump; there are {}",
                              kinds, name, fmt::join(kind_names, ", ")));
    }
    dump.kinds_ |= 1U << static_cast<unsigned>(found - kind_names.begin());
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  if (dump.kinds_ == 0) return dump;
  dump.folder_ = variable("DYN_DUMP_DIR");
  if (dump.folder_.empty()) dump.folder_ = "dyn-dump";
  return dump;
}

void Dump::write(std::string_view name, std::string_view text) const {
  std::string file(name);
  std::ranges::replace_if(
      file, [](char c) { return std::strchr("/\\:*?\"<>| \n", c) != nullptr; }, '_');
  const std::filesystem::path path = std::filesystem::path(folder_) / file;
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out)
    throw Error(ErrorKind::device, fmt::format("DYN_DUMP: {} cannot be written: {}", path.string(),
                                               std::strerror(errno)));
}

std::string Dump::identity() const {
  return kinds_ == 0 ? std::string() : fmt::format("{}:{}", kinds_, folder_);
}

}  // namespace dyn
