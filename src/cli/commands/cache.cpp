// dynrun cache: the directory of generated code, measurements and prepacked weights.

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/base/cache_directory.hpp"
#include "src/cli/arguments.hpp"
#include "src/runtime/system/cache_dir.hpp"
#include "src/runtime/weights/weight_cache.hpp"

namespace dyn::cli {
namespace {

std::string cache_path(const Arguments& arguments) {
  std::string path = runtime::resolve_cache_dir(arguments.options.cache_dir);
  if (path.empty())
    throw Error(ErrorKind::user,
                "the cache is switched off: --cache-dir or $DYN_CACHE_DIR is \"none\", or none of "
                "$DYN_CACHE_DIR, "
                "$XDG_CACHE_HOME and $HOME is set");
  return path;
}

void check_usable(const CacheDirectory& directory) {
  if (!directory.problem().empty()) throw Error(ErrorKind::device, directory.problem());
}

double kilobytes(const std::vector<CacheFile>& files) {
  double bytes = 0;
  for (const CacheFile& file : files) bytes += static_cast<double>(file.bytes);
  return bytes / 1e3;
}

}  // namespace

void show_cache(const Arguments& arguments) {
  const std::string path = cache_path(arguments);
  const CacheDirectory directory(path, CacheDirectory::Missing::Leave);
  check_usable(directory);
  const std::vector<CacheFile> files = directory.files();
  const auto count = [&](CacheKind kind) {
    return std::ranges::count(files, kind, &CacheFile::kind);
  };
  fmt::print(
      "path          {}\ncode          {} kernels\nmeasurements  {}\nweights       {} models\n"
      "unfinished    {}\nsize          {:.1f} KB\n",
      path, count(CacheKind::Code), count(CacheKind::Figures), count(CacheKind::Weights),
      count(CacheKind::Unfinished), kilobytes(files));
  for (const runtime::KeptWeights& kept : runtime::kept_weights(directory)) {
    fmt::print("  {:.1f} MB of {}\n", static_cast<double>(kept.bytes) / 1e6,
               kept.from.empty() ? kept.path + " (not whole)" : kept.from);
  }
}

void clear_cache(const Arguments& arguments) {
  const std::string path = cache_path(arguments);
  const CacheDirectory directory(path, CacheDirectory::Missing::Leave);
  check_usable(directory);
  const std::vector<CacheFile> files = directory.files();
  for (const CacheFile& file : files) {
    const std::string problem = directory.remove(file.name);
    if (!problem.empty()) throw Error(ErrorKind::device, problem);
  }
  fmt::print("removed {} files, {:.1f} KB, from {}\n", files.size(), kilobytes(files), path);
}

}  // namespace dyn::cli
