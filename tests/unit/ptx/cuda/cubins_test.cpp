// Cubins on disk, made and loaded through the fake driver.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "targets/ptx/ir/kernel_symbol.hpp"
#include "tests/support/fake_driver.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/unit/ptx/cuda/empty_kernel.hpp"

namespace dyn::test {
namespace {

using ptx::cuda::Result;

rkernel::CompileReport load(const FakeDriver& fake, const std::string& folder,
                            std::initializer_list<const char*> keys) {
  const auto device = fake.device("", folder);
  std::vector<codegen::KernelSource> sources;
  for (const char* key : keys) sources.push_back(empty_kernel(key, large_shared_bytes));
  rkernel::CompileReport report;
  const auto handles = device->load(sources, 2, report);
  const auto stream = device->make_stream();
  for (const void* handle : handles)
    stream->launch({handle, "k", 1, 64, large_shared_bytes, 0, 0, 0, {}});
  stream->synchronise();
  return report;
}

std::vector<std::filesystem::path> objects_in(const testing::TemporaryFolder& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    if (entry.path().extension() == ".o") paths.push_back(entry.path());
  }
  return paths;
}

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

TEST_CASE("cuda cubins: another process assembles nothing, and asks for the same shared memory") {
  const FakeDriver fake;
  const testing::TemporaryFolder folder;
  rkernel::CompileReport report = load(fake, folder.string(), {"a", "b"});
  CHECK(report.compiled == 2);
  CHECK(report.from_disk == 0);
  CHECK(fake->counts.assembled == 2);
  CHECK(objects_in(folder).size() == 2);
  fake->counts.opted_in_shared_bytes = 0;
  report = load(fake, folder.string(), {"a", "b", "c"});
  CHECK(report.kernels == 3);
  CHECK(report.compiled == 1);
  CHECK(report.from_disk == 2);
  CHECK(fake->counts.assembled == 3);
  CHECK(fake->counts.opted_in_shared_bytes == large_shared_bytes);
  CHECK(fake->counts.launches == 5);
  CHECK(fake->counts.even());
}

TEST_CASE("cuda cubins: one for each key, architecture and driver") {
  const FakeDriver fake;
  const testing::TemporaryFolder folder;
  for (const int capability : {80, 90}) {
    for (const int version : {12040, 13000}) {
      fake->capability = capability;
      fake->driver_version = version;
      CHECK(load(fake, folder.string(), {"a"}).compiled == 1);
      CHECK(load(fake, folder.string(), {"a"}).from_disk == 1);
    }
  }
  CHECK(objects_in(folder).size() == 4);
}

TEST_CASE("cuda cubins: a broken or foreign file is as if it were not there, and is written anew") {
  const FakeDriver fake;
  const testing::TemporaryFolder folder, foreign;
  load(fake, folder.string(), {"a"});
  load(fake, foreign.string(), {"a"});
  REQUIRE(objects_in(folder).size() == 1);
  const std::filesystem::path path = objects_in(folder).front();
  const std::string whole = read(path), of_another_user = read(objects_in(foreign).front());
  std::string flipped = whole;
  flipped.back() ^= 1;
  const std::string broken[] = {"", whole.substr(0, whole.size() / 2), flipped, whole + "x",
                                of_another_user};
  for (const std::string& bytes : broken) {
    CAPTURE(bytes.size());
    write(path, bytes);
    const rkernel::CompileReport report = load(fake, folder.string(), {"a"});
    CHECK(report.compiled == 1);
    CHECK(report.from_disk == 0);
    CHECK(read(path) == whole);
  }
  CHECK(load(fake, folder.string(), {"a"}).from_disk == 1);
}

TEST_CASE("cuda cubins: one that the driver refuses is assembled again") {
  const FakeDriver fake;
  const testing::TemporaryFolder folder;
  load(fake, folder.string(), {"a"});
  fake.fail("cuModuleLoadDataEx", Result::NoBinaryForGpu);
  CHECK(load(fake, folder.string(), {"a"}).compiled == 1);
  fake.fail("cuModuleGetFunction", Result::NotFound);
  CHECK(load(fake, folder.string(), {"a"}).compiled == 1);
  CHECK(load(fake, folder.string(), {"a"}).from_disk == 1);
  CHECK(fake->counts.modules.even());
}

TEST_CASE("cuda cubins: a folder that cannot be used is a warning, and no folder is none") {
  const FakeDriver fake;
  const testing::TemporaryFolder folder;
  write(folder.path() / "file", "no folder");
  const rkernel::CompileReport report = load(fake, (folder.path() / "file").string(), {"a"});
  CHECK(report.compiled == 1);
  REQUIRE(report.warnings.size() == 1);
  CHECK_CONTAINS(report.warnings.front(), "generated code is not kept between processes");
  CHECK(load(fake, "", {"a"}).warnings.empty());
}

TEST_CASE("cuda cubins: graphs with other folders have other code, and one context") {
  const FakeDriver fake;
  const testing::TemporaryFolder folder;
  const auto driver = fake.open();
  const auto kept = ptx::open_cuda_device("", folder.string(), driver),
             same = ptx::open_cuda_device("0", folder.string(), driver),
             not_kept = ptx::open_cuda_device("", "", driver);
  CHECK(kept == same);
  CHECK(kept != not_kept);
  CHECK(fake->counts.contexts.made == 1);
}

}  // namespace
}  // namespace dyn::test
