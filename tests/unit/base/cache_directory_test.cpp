// The cache directory: one user's alone, whatever others plant there.

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "src/base/cache_directory.hpp"
#include "src/base/readable_file.hpp"
#include "tests/support/temporary_folder.hpp"

namespace fs = std::filesystem;
using namespace dyn;

namespace {

const std::string object = std::string(32, 'a') + ".o";
constexpr ::uid_t stranger = 12345;

void write_plainly(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }

int permissions_of(const fs::path& path) {
  return static_cast<int>(fs::symlink_status(path).permissions());
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

bool names(const std::string& text, const char* word) {
  return text.find(word) != std::string::npos;
}

void age(const fs::path& path, int hours) {
  fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(hours));
}

}  // namespace

TEST_CASE("what is missing of a cache directory is made for its owner alone") {
  const testing::TemporaryFolder folder;
  const fs::path path = folder.path() / "a" / "b";
  const auto mask = ::umask(0);
  const CacheDirectory directory(path.string() + "//");
  CHECK(directory.write(object, "code").empty());
  ::umask(mask);
  CHECK(directory.usable());
  CHECK(directory.problem().empty());
  CHECK(permissions_of(path) == 0700);
  CHECK(permissions_of(folder.path() / "a") == 0700);
  CHECK(permissions_of(path / object) == 0600);
  CHECK(directory.read(object) == "code");
  CHECK(names_in(path) == std::vector<std::string>{object});
  const fs::path none = folder.path() / "none";
  CHECK_FALSE(CacheDirectory(none.string(), CacheDirectory::Missing::Leave).usable());
  CHECK_FALSE(fs::exists(none));
  CHECK_FALSE(CacheDirectory("").usable());
}

TEST_CASE("a directory that others may write to is refused, with what to do") {
  const testing::TemporaryFolder folder;
  write_plainly(folder.path() / object, "planted");
  for (const int mode : {0777, 0720, 0702, 01777}) {
    CAPTURE(mode);
    fs::permissions(folder.path(), static_cast<fs::perms>(mode));
    const CacheDirectory directory(folder.string());
    CHECK_FALSE(directory.usable());
    CHECK(names(directory.problem(), "chmod go-w"));
    CHECK(names(directory.problem(), folder.string().c_str()));
    CHECK_FALSE(directory.read(object).has_value());
    CHECK_FALSE(directory.write(object, "code").empty());
    CHECK_FALSE(directory.key().has_value());
    CHECK(directory.files().empty());
  }
  fs::permissions(folder.path(), static_cast<fs::perms>(0755));
  CHECK(CacheDirectory(folder.string()).usable());
}

TEST_CASE("a directory of another user is refused, also by root") {
  const testing::TemporaryFolder folder;
  if (::geteuid() != 0) {
    // A folder of root's stands in for another user's.
    const CacheDirectory directory("/usr");
    CHECK(names(directory.problem(), "belongs to the user"));
    return;
  }
  const fs::path path = folder.path() / "theirs";
  fs::create_directories(path);
  REQUIRE(::chown(path.c_str(), stranger, stranger) == 0);
  const CacheDirectory directory(path.string());
  CHECK_FALSE(directory.usable());
  CHECK(names(directory.problem(), "belongs to the user with number 12345"));
}

TEST_CASE("files that another user owns, or others may write to, are not read") {
  const testing::TemporaryFolder folder;
  const CacheDirectory directory(folder.string());
  REQUIRE(directory.write(object, "code").empty());
  const fs::path path = folder.path() / object;
  fs::permissions(path, static_cast<fs::perms>(0622));
  CHECK_FALSE(directory.read(object).has_value());
  fs::permissions(path, static_cast<fs::perms>(0644));
  CHECK(directory.read(object) == "code");
  if (::geteuid() != 0) return;
  REQUIRE(::chown(path.c_str(), stranger, stranger) == 0);
  CHECK_FALSE(directory.read(object).has_value());
}

TEST_CASE("symbolic links in the place of files are neither read nor written through") {
  const testing::TemporaryFolder folder, elsewhere;
  const fs::path secret = elsewhere.path() / "secret";
  write_plainly(secret, "precious");
  fs::create_symlink(secret, folder.path() / object);
  const CacheDirectory directory(folder.string());
  CHECK_FALSE(directory.read(object).has_value());
  CHECK(directory.open(object) == nullptr);
  CHECK(directory.write(object, "code").empty());
  CHECK(directory.read(object) == "code");
  std::ifstream file(secret);
  CHECK(std::string(std::istreambuf_iterator<char>(file), {}) == "precious");
}

TEST_CASE("a symbolic link to the directory is followed where this user made it") {
  const testing::TemporaryFolder folder;
  fs::create_directories(folder.path() / "real");
  fs::create_directory_symlink(folder.path() / "real", folder.path() / "link");
  const CacheDirectory directory((folder.path() / "link").string());
  CHECK(directory.write(object, "code").empty());
  CHECK(fs::exists(folder.path() / "real" / object));
  if (::geteuid() != 0) return;
  REQUIRE(::lchown((folder.path() / "link").c_str(), stranger, stranger) == 0);
  CHECK_FALSE(CacheDirectory((folder.path() / "link").string()).usable());
}

TEST_CASE("a pipe in the place of a file is not waited for") {
  const testing::TemporaryFolder folder;
  REQUIRE(::mkfifo((folder.path() / object).c_str(), 0600) == 0);
  REQUIRE(::mkfifo((folder.path() / "key").c_str(), 0600) == 0);
  const CacheDirectory directory(folder.string());
  CHECK_FALSE(directory.read(object).has_value());
  CHECK(directory.key().has_value());
  CHECK(directory.write(object, "code").empty());
  CHECK(directory.read(object) == "code");
}

TEST_CASE("a key is made once, is its owner's alone, and is replaced where it is none") {
  const testing::TemporaryFolder folder;
  const fs::path path = folder.path() / "key";
  std::vector<std::optional<CacheKey>> keys(4);
  std::vector<std::thread> threads;
  for (auto& key : keys) threads.emplace_back([&] { key = CacheDirectory(folder.string()).key(); });
  for (std::thread& thread : threads) thread.join();
  REQUIRE(keys[0].has_value());
  for (const auto& key : keys) CHECK(key == keys[0]);
  CHECK(permissions_of(path) == 0600);
  const CacheDirectory directory(folder.string());
  fs::permissions(path, static_cast<fs::perms>(0644));  // others may have read it
  const std::optional<CacheKey> second = directory.key();
  REQUIRE(second.has_value());
  CHECK(second != keys[0]);
  write_plainly(path, "short");
  const std::optional<CacheKey> third = directory.key();
  REQUIRE(third.has_value());
  CHECK(third != second);
  CHECK(directory.key() == third);
  fs::remove(path);
  fs::create_directories(path);
  CHECK_FALSE(directory.key().has_value());
}

TEST_CASE("files are known by their names") {
  const std::string hash(32, '7');
  CHECK(cache_kind(hash + ".o") == CacheKind::Code);
  CHECK(cache_kind("weights-" + hash + ".bin") == CacheKind::Weights);
  for (const char* figures : {"machine-avx2-2-0123.json", "blocks-avx2-2-0123.json",
                              "vendor-avx2-0123.json", "peak-0123.json"})
    CHECK(cache_kind(figures) == CacheKind::Figures);
  CHECK(cache_kind("key") == CacheKind::Key);
  CHECK(cache_kind(hash + ".o.0123456789abcdef.tmp") == CacheKind::Unfinished);
  CHECK(cache_kind("weights-" + hash + ".bin.17.3.tmp") == CacheKind::Unfinished);
  for (const std::string& foreign :
       {std::string("a.o"), hash.substr(1) + ".o", hash + ".c", std::string("weights-mine.bin"),
        std::string("machine.json"), std::string("notes.tmp"), std::string(".tmp"),
        "x" + hash + ".o", std::string("keys"), std::string()}) {
    CAPTURE(foreign);
    CHECK_FALSE(cache_kind(foreign).has_value());
  }
}

TEST_CASE("what is old, what is over the budget and what was never finished goes; the rest stays") {
  const testing::TemporaryFolder folder;
  const CacheDirectory directory(folder.string());
  REQUIRE(directory.key().has_value());
  const auto name = [](char digit) { return std::string(32, digit) + ".o"; };
  for (int i = 0; i < 4; ++i) {
    const std::string file = name(static_cast<char>('0' + i));
    REQUIRE(directory.write(file, std::string(1000, 'x')).empty());
    age(folder.path() / file, 40 - 10 * i);  // the first one is the oldest
  }
  REQUIRE(directory.write("machine-old.json", "{}").empty());
  REQUIRE(directory.write("machine-new.json", "{}").empty());
  age(folder.path() / "machine-old.json", 24 * 100);
  const std::string left = name('5') + ".17.0.tmp", writing = name('6') + ".18.0.tmp";
  write_plainly(folder.path() / left, "half");
  write_plainly(folder.path() / writing, "half");
  write_plainly(folder.path() / "notes.txt", "mine");
  age(folder.path() / left, 2);
  for (const char* kept : {"notes.txt", "key"}) age(folder.path() / kept, 24 * 1000);
  CHECK(directory.read(name('0')).has_value());  // a use, now: '1' is the oldest
  directory.make_room(CacheKind::Code, 3000, 500);
  CHECK(names_in(folder.path()) == std::vector<std::string>{name('0'), name('3'), writing, "key",
                                                            "machine-new.json", "notes.txt"});
  directory.make_room(CacheKind::Code, 0, 0, name('3'));
  CHECK(directory.read(name('3')).has_value());
  CHECK_FALSE(directory.read(name('0')).has_value());
}
