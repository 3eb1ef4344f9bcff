#include "src/runtime/system/cache_dir.hpp"

#include <cstdlib>

namespace dyn::runtime {
namespace {

std::string environment(const char* name) {
  const char* value = ::secure_getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

}  // namespace

std::string resolve_cache_dir(const std::string& option) {
  if (option == "none") return {};
  if (!option.empty()) return option;
  const std::string own = environment("DYN_CACHE_DIR");
  if (own == "none") return {};
  if (!own.empty()) return own;
  const std::string xdg = environment("XDG_CACHE_HOME");
  if (!xdg.empty()) return xdg + "/dyn";
  const std::string home = environment("HOME");
  return home.empty() ? std::string() : home + "/.cache/dyn";
}

}  // namespace dyn::runtime
