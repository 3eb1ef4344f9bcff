#include "src/runtime/system/mapped_file.hpp"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/base/readable_file.hpp"

namespace dyn::runtime {
namespace {

std::int64_t nanoseconds(const struct timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

FileState state_of(const struct stat& info) {
  return {static_cast<std::uint64_t>(info.st_size), static_cast<std::uint64_t>(info.st_ino),
          nanoseconds(info.st_mtim), nanoseconds(info.st_ctim)};
}

}  // namespace

FileState file_state(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 ? state_of(info) : FileState();
}

MappedFile::MappedFile(const std::string& path) : MappedFile(ReadableFile(path)) {}

MappedFile::MappedFile(const ReadableFile& file) : state_(state_of(file.info())) {
  if (file.size() == 0) return;
  void* const data = ::mmap(nullptr, file.size(), PROT_READ, MAP_SHARED, file.descriptor(), 0);
  if (data == MAP_FAILED)
    throw Error(ErrorKind::device,
                fmt::format("cannot read '{}': {}", file.path(), std::strerror(errno)));
  data_ = data;
  size_ = file.size();
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      state_(other.state_) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(state_, other.state_);
  return *this;
}

std::string read_text_file(const std::string& path) {
  const MappedFile file(path);
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

}  // namespace dyn::runtime
