#include "src/runtime/weights/weight_cache.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/runtime/weights/content_hash.hpp"
#include "src/runtime/weights/prepacked_file.hpp"

namespace dyn::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view name_start = "weights-", name_end = ".bin", unfinished_end = ".tmp";
/// Fewer bytes of weights are packed as quickly as they are found on a disk.
constexpr std::size_t least_bytes = std::size_t{1} << 20;
/// No process writes for so long: an unfinished file of this age was left by one that was killed.
constexpr std::chrono::hours abandoned_after{1};

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::string identity_of(const WeightKey& key) { return key.files + key.layout; }

/// Returns 0, or the system's error. `offset` is the position in the file, before and after. File
/// systems with large folios keep in huge pages what is written in pieces that end where huge pages
/// do.
int write_all(int file, std::span<const std::byte> bytes, std::size_t& offset) {
  constexpr std::size_t piece_bytes = std::size_t{8} << 20;
  while (!bytes.empty()) {
    const ssize_t written =
        ::write(file, bytes.data(), std::min(bytes.size(), piece_bytes - offset % piece_bytes));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : EIO;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset += static_cast<std::size_t>(written);
  }
  return 0;
}

/// Returns 0, or the system's error, and then leaves no file behind.
int write_file(const std::string& path, unsigned mode, std::span<const std::byte> prefix,
               std::span<const std::byte> payload) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (file < 0) return errno;
  std::size_t offset = 0;
  int error = write_all(file, prefix, offset);
  if (error == 0) error = write_all(file, payload, offset);
  if (::close(file) != 0 && error == 0) error = errno;
  if (error != 0) ::unlink(path.c_str());
  return error;
}

struct CacheFile {
  fs::path path;
  std::uintmax_t bytes;
  fs::file_time_type used;
};

/// The cache's files in a directory, finished and unfinished ones.
std::vector<CacheFile> cache_files(const std::string& directory) {
  std::vector<CacheFile> files;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    if (!is_weight_cache_file(entry->path().filename().string())) continue;
    std::error_code no_size, no_time;
    const CacheFile file{entry->path(), entry->file_size(no_size), entry->last_write_time(no_time)};
    if (!no_size && !no_time) files.push_back(file);
  }
  return files;
}

}  // namespace

WeightCache::WeightCache(std::string directory, std::size_t budget_bytes, Log log)
    : directory_(std::move(directory)), budget_bytes_(budget_bytes), log_(std::move(log)) {}

bool WeightCache::keeps(std::size_t bytes) const noexcept {
  return !directory_.empty() && bytes >= least_bytes && bytes <= budget_bytes_;
}

std::string WeightCache::path_of(const WeightKey& key) const {
  const std::uint64_t low = content_hash(bytes_of(key.layout));
  const std::uint64_t high = content_hash(bytes_of(fmt::format("{:016x}{}", low, key.layout)));
  return fmt::format("{}/{}{:016x}{:016x}{}", directory_, name_start, high, low, name_end);
}

void WeightCache::log(LogLevel level, const std::string& message) const {
  if (log_) log_(level, message);
}

std::optional<MappedWeights> WeightCache::open(const std::string& path, const WeightKey& key,
                                               std::size_t bytes, int threads) const {
  try {
    MappedFile file(path);
    const auto payload = verified_payload(file.bytes(), identity_of(key), bytes, threads);
    if (!payload) return std::nullopt;
    std::error_code ignored;
    fs::last_write_time(path, fs::file_time_type::clock::now(),
                        ignored);  // for make_room(); the directory may be read-only
    return MappedWeights{std::move(file), *payload};
  } catch (const Error&) {  // it cannot be read
    return std::nullopt;
  }
}

std::optional<MappedWeights> WeightCache::find(const WeightKey& key, std::size_t bytes,
                                               int threads) const {
  const std::string path = path_of(key);
  std::error_code error;
  if (!keeps(bytes) || !fs::exists(path, error)) return std::nullopt;
  std::optional<MappedWeights> found = open(path, key, bytes, threads);
  if (!found)
    log(LogLevel::info, fmt::format("'{}' is of another state of the weights files, or damaged; "
                                    "the weights are packed anew",
                                    path));
  return found;
}

std::optional<MappedWeights> WeightCache::keep(const WeightKey& key,
                                               std::span<const std::byte> weights,
                                               int threads) const {
  if (!keeps(weights.size())) return std::nullopt;
  static std::atomic<unsigned> serial{0};
  const std::string path = path_of(key);
  const std::string unfinished =
      fmt::format("{}.{}.{}{}", path, getpid(), serial.fetch_add(1), unfinished_end);
  std::error_code error;
  fs::create_directories(directory_, error);
  make_room(weights.size(), path);
  int failed = write_file(unfinished, key.mode,
                          prepacked_prefix(identity_of(key), weights, threads), weights);
  if (failed == 0) {
    // Another process may have been faster; then both use its file, so that the weights are in
    // memory once.
    if (auto others = open(path, key, weights.size(), threads)) {
      ::unlink(unfinished.c_str());
      return others;
    }
    if (std::rename(unfinished.c_str(), path.c_str()) != 0) {
      failed = errno;
      ::unlink(unfinished.c_str());
    }
  }
  if (failed != 0) {
    log(LogLevel::warning, fmt::format("cannot write '{}' ({}); the weights are not kept on disk",
                                       path, std::strerror(failed)));
    return std::nullopt;
  }
  return open(path, key, weights.size(), threads);
}

void WeightCache::make_room(std::size_t bytes, const std::string& except) const {
  std::vector<CacheFile> files = cache_files(directory_);
  std::sort(files.begin(), files.end(),
            [](const CacheFile& a, const CacheFile& b) { return a.used < b.used; });
  std::uintmax_t sum = bytes;
  for (const CacheFile& file : files) sum += file.path == except ? 0 : file.bytes;
  const auto now = fs::file_time_type::clock::now();
  for (const CacheFile& file : files) {
    const bool unfinished = file.path.native().ends_with(unfinished_end);
    const bool removable =
        unfinished ? now - file.used > abandoned_after : sum > budget_bytes_ && file.path != except;
    std::error_code error;
    if (removable && fs::remove(file.path, error)) sum -= file.bytes;
  }
}

bool is_weight_cache_file(std::string_view name) {
  constexpr std::size_t digits = 32;
  if (!name.starts_with(name_start)) return false;
  name.remove_prefix(name_start.size());
  const std::string_view hash = name.substr(0, digits);
  if (hash.size() != digits || hash.find_first_not_of("0123456789abcdef") != std::string_view::npos)
    return false;
  name.remove_prefix(digits);
  return name == name_end || (name.starts_with(name_end) && name.ends_with(unfinished_end));
}

std::vector<KeptWeights> kept_weights(const std::string& directory) {
  std::vector<KeptWeights> kept;
  for (const CacheFile& cached : cache_files(directory)) {
    KeptWeights& entry = kept.emplace_back(KeptWeights{cached.path.string(), cached.bytes, {}});
    try {
      const MappedFile file(entry.path);
      const auto identity = prepacked_identity(file.bytes());
      if (identity) entry.from = identity->substr(0, identity->find('\n'));
    } catch (const Error&) {  // a folder, or not readable: listed by its name
      continue;
    }
  }
  std::sort(kept.begin(), kept.end(),
            [](const KeptWeights& a, const KeptWeights& b) { return a.path < b.path; });
  return kept;
}

}  // namespace dyn::runtime
