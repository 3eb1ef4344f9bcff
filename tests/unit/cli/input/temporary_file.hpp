#pragma once
// A file for one test.

#include <fstream>
#include <sstream>
#include <string>

#include "tests/support/temporary_folder.hpp"

namespace dyn::testing {

/// Holds `bytes` when it is made, and is removed at the end.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& bytes = "") { write(bytes); }

  void write(const std::string& bytes) const { std::ofstream(path, std::ios::binary) << bytes; }
  std::string read() const {
    std::ostringstream bytes;
    bytes << std::ifstream(path, std::ios::binary).rdbuf();
    return bytes.str();
  }

 private:
  TemporaryFolder folder_;

 public:
  const std::string path = folder_.string() + "/file";
};

}  // namespace dyn::testing
