#pragma once
// All fuzzers share this.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include "dyn/error.hpp"
#include "tests/support/temporary_folder.hpp"

// libFuzzer's interface.
extern "C" {
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                    unsigned seed);
std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);
}

namespace dyn::fuzz {

[[noreturn]] inline void fail(const std::string& message) {
  std::fprintf(stderr, "invariant: %s\n", message.c_str());
  std::abort();
}

/// Runs `read` on untrusted bytes: it may refuse them by an Error of any kind but a defect of dyn's
/// own. False: it refused them.
template <class Read>
bool accepts(const Read& read) {
  try {
    read();
    return true;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal)
      fail(std::string("an internal error: ") + error.what());
    return false;
  }
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// A file that is written anew for each input; removed with its folder when the process ends.
class InputFile {
 public:
  explicit InputFile(const std::string& name) : path_((folder_.path() / name).string()) {}
  const std::string& path() const { return path_; }
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  void write(std::string_view bytes) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
  }

 private:
  testing::TemporaryFolder folder_;
  std::string path_;
};

}  // namespace dyn::fuzz
