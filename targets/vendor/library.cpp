#include "targets/vendor/library.hpp"

#include <dlfcn.h>

#include <fmt/format.h>

namespace dyn::vendor {

Library::Library(const std::vector<std::string>& files) {
  std::string why;
  for (const std::string& file : files) {
    handle_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) {
      file_ = file;
      return;
    }
    const char* message = dlerror();
    why = message != nullptr ? message : file;
  }
  throw Unsupported(fmt::format("is not installed: {}", why));
}

bool Library::has(const char* symbol) const { return dlsym(handle_, symbol) != nullptr; }

void* Library::address(const char* symbol) const {
  void* found = dlsym(handle_, symbol);
  if (found == nullptr) throw Unsupported(fmt::format("{} has no function {}", file_, symbol));
  return found;
}

}  // namespace dyn::vendor
