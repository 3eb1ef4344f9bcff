#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/runtime/system/cache_dir.hpp"
#include "src/runtime/system/thread_count.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn::runtime;

namespace {

/// A folder tree that is removed at the end.
struct Folder : dyn::testing::TemporaryFolder {
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path() / name).parent_path());
    std::ofstream(path() / name) << text;
  }
};

/// Restores variables of the environment at the end: other tests of this process have caches too.
class Restored {
 public:
  explicit Restored(std::initializer_list<const char*> names) {
    for (const char* name : names) {
      const char* value = std::getenv(name);
      before_.emplace_back(name,
                           value == nullptr ? std::nullopt : std::optional<std::string>(value));
    }
  }
  ~Restored() {
    for (const auto& [name, value] : before_) {
      if (value)
        ::setenv(name, value->c_str(), 1);
      else
        ::unsetenv(name);
    }
  }
  Restored(const Restored&) = delete;
  Restored& operator=(const Restored&) = delete;

 private:
  std::vector<std::pair<const char*, std::optional<std::string>>> before_;
};

}  // namespace

TEST_CASE("quotas of cgroups, the tightest of a group and its ancestors") {
  const Folder folder;
  folder.write("cpu.max", "max 100000\n");
  folder.write("a/cpu.max", "250000 100000\n");
  folder.write("a/b/cpu.max", "max 100000\n");
  folder.write("cpu,cpuacct/job/cpu.cfs_quota_us", "50000\n");
  folder.write("cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  folder.write("cpu,cpuacct/free/cpu.cfs_quota_us", "-1\n");
  folder.write("cpu,cpuacct/free/cpu.cfs_period_us", "100000\n");
  const std::string root = folder.string();
  CHECK(cgroup_cpus(root, "0::/\n") == 0);
  CHECK(cgroup_cpus(root, "0::/a\n") == 2.5);
  CHECK(cgroup_cpus(root, "0::/a/b\n") == 2.5);
  CHECK(cgroup_cpus(root, "0::/not/visible\n") == 0);
  CHECK(cgroup_cpus(root, "5:memory:/job\n4:cpu,cpuacct:/job\n") == 0.5);
  CHECK(cgroup_cpus(root, "4:cpu,cpuacct:/free\n") == 0);
  CHECK(cgroup_cpus(root, "") == 0);
  CHECK(default_threads() >= 1);
}

TEST_CASE("the cache directory: option, then environment") {
  const Restored environment{"DYN_CACHE_DIR", "XDG_CACHE_HOME", "HOME"};
  CHECK(resolve_cache_dir("none").empty());
  CHECK(resolve_cache_dir("here") == "here");
  ::setenv("DYN_CACHE_DIR", "own", 1);
  CHECK(resolve_cache_dir("") == "own");
  ::unsetenv("DYN_CACHE_DIR");
  ::setenv("XDG_CACHE_HOME", "xdg", 1);
  CHECK(resolve_cache_dir("") == "xdg/dyn");
  ::unsetenv("XDG_CACHE_HOME");
  ::setenv("HOME", "home", 1);
  CHECK(resolve_cache_dir("") == "home/.cache/dyn");
}
