#include "src/python/bindings/onnx_bytes.hpp"

#include <unistd.h>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

namespace dyn::python {
namespace {

[[noreturn]] void cannot_write(const std::string& path, int reason) {
  throw Error(ErrorKind::device,
              "cannot write the model's bytes to '" + path + "': " + std::strerror(reason));
}

/// A file of this user alone, until it is destroyed.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view bytes) {
    constexpr int suffix_letters = 5;
    std::error_code none;
    path_ = (std::filesystem::temp_directory_path(none) / "dyn-XXXXXX.onnx").string();
    const int descriptor = ::mkstemps(path_.data(), suffix_letters);
    if (descriptor < 0) cannot_write(path_, errno);
    int reason = 0;
    while (!bytes.empty() && reason == 0) {
      const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
      if (written >= 0)
        bytes.remove_prefix(static_cast<std::size_t>(written));
      else if (errno != EINTR)
        reason = errno;
    }
    ::close(descriptor);
    if (reason == 0) return;
    ::unlink(path_.c_str());
    cannot_write(path_, reason);
  }
  ~TemporaryFile() { ::unlink(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

/// A graph that may import its model again keeps the file open.
Graph graph_of_onnx_bytes(std::string_view bytes, const Options& options) {
  const TemporaryFile file(bytes);
  return Graph::load(file.path(), options);
}

}  // namespace dyn::python
