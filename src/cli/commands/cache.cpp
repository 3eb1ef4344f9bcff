// dynrun cache: the directory of generated code, measurements and prepacked weights.

#include <cstdio>
#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/cli/arguments.hpp"
#include "src/runtime/system/cache_dir.hpp"
#include "src/runtime/weights/weight_cache.hpp"

namespace dyn::cli {
namespace {

struct CacheContent {
  std::string directory;
  std::vector<std::filesystem::path> code, measurements, weights;
  std::uintmax_t bytes = 0;
};

bool is_hexadecimal(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

/// Files are known by their names, so that `clear` never touches others in a directory that dyn
/// shares.
bool is_code(const std::string& name) {
  const std::size_t dot = name.find('.');
  return dot == 32 && is_hexadecimal(name.substr(0, dot)) &&
         (name.substr(dot) == ".o" || name.ends_with(".tmp"));
}

bool is_measurement(const std::string& name) {
  return (name.starts_with("machine-") || name.starts_with("peak-")) &&
         (name.ends_with(".json") || name.ends_with(".tmp"));
}

CacheContent cache_content(const Arguments& arguments) {
  CacheContent content{runtime::resolve_cache_dir(arguments.options.cache_dir), {}, {}, {}, 0};
  if (content.directory.empty())
    throw Error(ErrorKind::user,
                "the cache is switched off: --cache-dir or $DYN_CACHE_DIR is \"none\", or none of "
                "$DYN_CACHE_DIR, "
                "$XDG_CACHE_HOME and $HOME is set");
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(content.directory, error)) {
    const std::string name = entry.path().filename().string();
    if (is_code(name))
      content.code.push_back(entry.path());
    else if (is_measurement(name))
      content.measurements.push_back(entry.path());
    else if (runtime::is_weight_cache_file(name))
      content.weights.push_back(entry.path());
    else
      continue;
    std::error_code gone;
    const std::uintmax_t bytes = entry.file_size(gone);
    content.bytes += gone ? 0 : bytes;
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    throw Error(ErrorKind::device,
                fmt::format("{}: cannot be read: {}", content.directory, error.message()));
  }
  return content;
}

}  // namespace

void show_cache(const Arguments& arguments) {
  const CacheContent content = cache_content(arguments);
  fmt::print(
      "path          {}\ncode          {} kernels\nmeasurements  {}\nweights       {} models\nsize "
      "         {:.1f} KB\n",
      content.directory, content.code.size(), content.measurements.size(), content.weights.size(),
      static_cast<double>(content.bytes) / 1e3);
  for (const runtime::KeptWeights& kept : runtime::kept_weights(content.directory)) {
    fmt::print("  {:.1f} MB of {}\n", static_cast<double>(kept.bytes) / 1e6,
               kept.from.empty() ? kept.path + " (not whole)" : kept.from);
  }
}

void clear_cache(const Arguments& arguments) {
  const CacheContent content = cache_content(arguments);
  std::size_t removed = 0;
  for (const auto& files : {content.code, content.measurements, content.weights}) {
    for (const std::filesystem::path& file : files) {
      std::error_code error;
      removed += std::filesystem::remove(file, error) ? 1 : 0;
      if (error)
        throw Error(ErrorKind::device,
                    fmt::format("{}: cannot be removed: {}", file.string(), error.message()));
    }
  }
  fmt::print("removed {} files, {:.1f} KB, from {}\n", removed,
             static_cast<double>(content.bytes) / 1e3, content.directory);
}

}  // namespace dyn::cli
