// --free INPUT=DIM,DIM,...

#include <algorithm>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/cli/arguments.hpp"

namespace dyn::cli {

std::map<std::string, std::vector<std::string>> parse_free_dims(
    const std::vector<std::string>& flags) {
  std::map<std::string, std::vector<std::string>> free_dims;
  for (const std::string& flag : flags) {
    // Names of tensors may hold '='; words for dims do not.
    const std::size_t equals = flag.rfind('=');
    if (equals == std::string::npos || equals == 0)
      throw Error(ErrorKind::user,
                  fmt::format("--free {}: it is INPUT=DIM,DIM,..., such as data=N,3,H,W", flag));
    const auto [entry, is_new] = free_dims.try_emplace(flag.substr(0, equals));
    if (!is_new)
      throw Error(ErrorKind::user,
                  fmt::format("--free {}: dims of {} are given twice", flag, entry->first));
    std::size_t begin = equals + 1;
    while (begin < flag.size()) {
      const std::size_t comma = std::min(flag.find(',', begin), flag.size());
      entry->second.push_back(flag.substr(begin, comma - begin));
      begin = comma + 1;
    }
    if (flag.ends_with(',')) entry->second.emplace_back();
  }
  return free_dims;
}

}  // namespace dyn::cli
