// DYN_DUMP: the files that a load leaves, and the error for a wrong kind.

#include "src/base/dump.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <doctest/doctest.h>

#include "dyn/error.hpp"

using dyn::Dump;
using dyn::DumpKind;

namespace {

/// Restores the two variables at its end.
class Environment {
 public:
  Environment(const char* kinds, const std::string& folder) {
    ::setenv("DYN_DUMP", kinds, 1);
    ::setenv("DYN_DUMP_DIR", folder.c_str(), 1);
  }
  ~Environment() {
    ::unsetenv("DYN_DUMP");
    ::unsetenv("DYN_DUMP_DIR");
  }
};

std::filesystem::path fresh_folder() {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("dyn-dump-test-" + std::to_string(getpid()));
  std::filesystem::remove_all(folder);
  return folder;
}

std::string content(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

TEST_CASE("nothing is dumped without DYN_DUMP") {
  const Dump dump = Dump::from_environment();
  for (const DumpKind kind :
       {DumpKind::Passes, DumpKind::Problems, DumpKind::Llvm, DumpKind::Assembly})
    CHECK(!dump.wants(kind));
  CHECK(dump.identity().empty());
}

TEST_CASE("DYN_DUMP names what is dumped, and files go to DYN_DUMP_DIR") {
  const std::filesystem::path folder = fresh_folder();
  const Environment environment("passes,asm", folder.string());
  const Dump dump = Dump::from_environment();
  CHECK(dump.wants(DumpKind::Passes));
  CHECK(!dump.wants(DumpKind::Problems));
  CHECK(!dump.wants(DumpKind::Llvm));
  CHECK(dump.wants(DumpKind::Assembly));
  dump.write("a/b c", "text");
  CHECK(content(folder / "a_b_c") == "text");
  dump.write("a/b c", "other");
  CHECK(content(folder / "a_b_c") == "other");
  std::filesystem::remove_all(folder);
}

TEST_CASE("what cannot be dumped is an error that says what there is") {
  const Environment environment("passes,ast", "/nonexistent");
  try {
    Dump::from_environment();
    FAIL("no error");
  } catch (const dyn::Error& error) {
    CHECK(error.kind() == dyn::ErrorKind::user);
    CHECK(error.message().find("\"ast\"") != std::string::npos);
    CHECK(error.message().find("passes, problems, llvm, asm") != std::string::npos);
  }
}

TEST_CASE("a folder that cannot be made is an error that names the file") {
  const std::filesystem::path folder = fresh_folder();
  std::ofstream(folder).put('x');  // a file where the folder should be
  const Environment environment("llvm", folder.string());
  try {
    Dump::from_environment().write("f.ll", "");
    FAIL("no error");
  } catch (const dyn::Error& error) {
    CHECK(error.message().find((folder / "f.ll").string()) != std::string::npos);
  }
  std::filesystem::remove_all(folder);
}
