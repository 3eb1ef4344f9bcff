#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "targets/llvm/jit/object_cache.hpp"
#include "tests/support/temporary_folder.hpp"

using dyn::codegen::ObjectCache;

namespace {

class CacheFolder : public dyn::testing::TemporaryFolder {
 public:
  /// Whatever lies there but the key.
  std::vector<std::string> files() const {
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::directory_iterator(path())) {
      if (entry.path().filename() != "key") paths.push_back(entry.path().string());
    }
    return paths;
  }
  std::string only_file() const {
    REQUIRE(files().size() == 1);
    return files().front();
  }
};

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void overwrite(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

}  // namespace

TEST_CASE("an object comes back as it was stored, by its key and no other") {
  const CacheFolder directory;
  const ObjectCache cache(directory.string(), "stamp");
  const std::string object("\0ELF\n\xff bytes", 12);
  CHECK(cache.store("key one", object).empty());
  CHECK(directory.files().size() == 1);  // and no temporary one
  CHECK(cache.load("key one") == object);
  CHECK_FALSE(cache.load("key two").has_value());
  CHECK_FALSE(ObjectCache(directory.string(), "another version").load("key one").has_value());
}

TEST_CASE("every damaged byte and every truncation of a cached object is noticed") {
  const CacheFolder directory;
  const ObjectCache cache(directory.string(), "stamp");
  REQUIRE(cache.store("key", "some object bytes").empty());
  const std::string path = directory.only_file();
  const std::string good = contents(path);
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string damaged = good;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x21);
    overwrite(path, damaged);
    CAPTURE(i);
    CHECK_FALSE(cache.load("key").has_value());
    overwrite(path, good.substr(0, i));
    CHECK_FALSE(cache.load("key").has_value());
  }
  overwrite(path, std::string(100000, '\n'));
  CHECK_FALSE(cache.load("key").has_value());
  CHECK(cache.store("key", "some object bytes").empty());
  CHECK(cache.load("key") == "some object bytes");
}

TEST_CASE("an object that somebody wrote without the key is not believed") {
  const CacheFolder directory, other;
  const ObjectCache cache(directory.string(), "stamp"), foreign(other.string(), "stamp");
  REQUIRE(cache.store("key", "some object bytes").empty());
  REQUIRE(foreign.store("key", "other object bytes").empty());
  overwrite(directory.only_file(), contents(other.only_file()));
  CHECK_FALSE(cache.load("key").has_value());
  std::filesystem::copy_file(other.string() + "/key", directory.string() + "/key",
                             std::filesystem::copy_options::overwrite_existing);
  CHECK(ObjectCache(directory.string(), "stamp").load("key") == "other object bytes");
}

TEST_CASE("a directory that cannot be used switches the cache off and says why") {
  const CacheFolder directory;
  const std::string file = directory.string() + "/file";
  overwrite(file, "");
  const ObjectCache cache(file, "stamp");
  CHECK_FALSE(cache.enabled());
  CHECK(cache.problem().find(file) != std::string::npos);
  CHECK_FALSE(cache.load("key").has_value());
  CHECK(cache.store("key", "object").empty());
}

TEST_CASE("an object that cannot be put in its place is reported and leaves no file behind") {
  const CacheFolder directory;
  const ObjectCache cache(directory.string(), "stamp");
  REQUIRE(cache.store("key", "object").empty());
  const std::string path = directory.only_file();
  std::filesystem::remove(path);
  std::filesystem::create_directories(path + "/occupied");
  CHECK(cache.store("key", "object").find(path) != std::string::npos);
  CHECK(directory.files().size() == 1);
  CHECK_FALSE(cache.load("key").has_value());
}
