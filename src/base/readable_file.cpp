#include "src/base/readable_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "dyn/error.hpp"

namespace dyn {
namespace {

[[noreturn]] void cannot_read(const std::string& path, const char* reason) {
  throw Error(ErrorKind::device, fmt::format("cannot read '{}': {}", path, reason));
}

}  // namespace

// O_NONBLOCK: opening a pipe would wait for somebody who writes to it. It has no effect on regular
// files.
ReadableFile::ReadableFile(const std::string& path)
    : path_(path), descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (descriptor_ < 0) cannot_read(path, std::strerror(errno));
  const char* problem = nullptr;
  if (::fstat(descriptor_, &info_) != 0)
    problem = std::strerror(errno);
  else if (S_ISDIR(info_.st_mode))
    problem = std::strerror(EISDIR);
  else if (!S_ISREG(info_.st_mode))
    problem = "not a regular file";
  if (problem == nullptr) return;
  ::close(descriptor_);
  cannot_read(path, problem);
}

ReadableFile::~ReadableFile() { ::close(descriptor_); }

std::string ReadableFile::contents() const {
  std::string bytes(size(), '\0');
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got =
        ::pread(descriptor_, bytes.data() + have, bytes.size() - have, static_cast<off_t>(have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) cannot_read(path_, std::strerror(errno));
    if (got == 0) cannot_read(path_, "it has become shorter");
    have += static_cast<std::size_t>(got);
  }
  return bytes;
}

}  // namespace dyn
