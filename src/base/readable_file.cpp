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

// O_NONBLOCK: opening a pipe would wait for somebody who writes to it. It has no effect on regular
// files.
constexpr int reading = O_RDONLY | O_CLOEXEC | O_NONBLOCK;

int opened(int descriptor, const std::string& path) {
  if (descriptor < 0) cannot_read(path, std::strerror(errno));
  return descriptor;
}

/// Closes the file where something is wrong with it.
struct stat checked_info(int descriptor, const std::string& path) {
  struct stat info{};
  const char* problem = nullptr;
  if (::fstat(descriptor, &info) != 0)
    problem = std::strerror(errno);
  else if (S_ISDIR(info.st_mode))
    problem = std::strerror(EISDIR);
  else if (!S_ISREG(info.st_mode))
    problem = "not a regular file";
  if (problem == nullptr) return info;
  ::close(descriptor);
  cannot_read(path, problem);
}

}  // namespace

ReadableFile::ReadableFile(const std::string& path)
    : path_(path),
      descriptor_(opened(::open(path.c_str(), reading), path)),
      info_(checked_info(descriptor_, path)) {}

ReadableFile::ReadableFile(int directory, const std::string& name, const std::string& path)
    : path_(path),
      descriptor_(opened(::openat(directory, name.c_str(), reading | O_NOFOLLOW), path)),
      info_(checked_info(descriptor_, path)) {}

ReadableFile::~ReadableFile() { ::close(descriptor_); }

bool ReadableFile::is_unchanged() const noexcept {
  struct stat now{};
  return ::fstat(descriptor_, &now) == 0 && now.st_size == info_.st_size &&
         now.st_mtim.tv_sec == info_.st_mtim.tv_sec && now.st_mtim.tv_nsec == info_.st_mtim.tv_nsec;
}

std::string ReadableFile::contents(std::size_t offset, std::size_t count) const {
  std::string bytes(count, '\0');
  read(offset, bytes);
  return bytes;
}

void ReadableFile::read(std::size_t offset, std::span<char> into) const {
  std::size_t have = 0;
  while (have < into.size()) {
    const ssize_t got = ::pread(descriptor_, into.data() + have, into.size() - have,
                                static_cast<off_t>(offset + have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) cannot_read(path_, std::strerror(errno));
    if (got == 0) cannot_read(path_, "it has become shorter");
    have += static_cast<std::size_t>(got);
  }
}

}  // namespace dyn
