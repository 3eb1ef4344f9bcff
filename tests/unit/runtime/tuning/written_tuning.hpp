#pragma once
// Tuning files of tests.

#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

#include <fmt/format.h>

namespace dyn::runtime::testing {

/// A file of the process's own, gone with it.
class WrittenTuning {
 public:
  explicit WrittenTuning(const std::string& text)
      : path_((std::filesystem::temp_directory_path() /
               fmt::format("dyn-tuning-{}-{}.json", getpid(), static_cast<const void*>(this)))
                  .string()) {
    std::ofstream(path_) << text;
  }
  ~WrittenTuning() { std::filesystem::remove(path_); }
  WrittenTuning(const WrittenTuning&) = delete;
  WrittenTuning& operator=(const WrittenTuning&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace dyn::runtime::testing
