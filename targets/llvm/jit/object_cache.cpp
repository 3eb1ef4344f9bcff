#include "targets/llvm/jit/object_cache.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "dyn/error.hpp"
#include "src/base/readable_file.hpp"

namespace dyn::codegen {
namespace {

constexpr std::string_view magic = "dyn object 1\n";

std::optional<std::string> read_file(const std::string& path) {
  try {
    return ReadableFile(path).contents();
  } catch (const Error&) { return std::nullopt; }
}

}  // namespace

std::uint64_t checksum(std::string_view bytes, std::uint64_t seed) noexcept {
  std::uint64_t hash = seed;
  while (bytes.size() >= 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data(), 8);
    hash = (hash ^ word) * 1099511628211ull;
    hash ^= hash >> 32;
    bytes.remove_prefix(8);
  }
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211ull;
  return hash;
}

ObjectCache::ObjectCache(std::string directory, std::string stamp)
    : directory_(std::move(directory)), stamp_(std::move(stamp)) {
  if (directory_.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(directory_, error);
  if (error || !std::filesystem::is_directory(directory_, error)) {
    problem_ = fmt::format(
        "the cache directory '{}' cannot be used ({}); generated code is not kept between "
        "processes",
        directory_, error ? error.message() : "not a directory");
    directory_.clear();
  }
}

std::string ObjectCache::path_of(std::string_view key) const {
  const std::uint64_t low = checksum(key, checksum(stamp_));
  const std::uint64_t high = checksum(key, low ^ 0x9e3779b97f4a7c15ull);
  return fmt::format("{}/{:016x}{:016x}.o", directory_, high, low);
}

// The header repeats the whole key, so that neither a collision of names nor another version can
// give wrong code.
std::string ObjectCache::header_of(std::string_view key, std::string_view object) const {
  return fmt::format("{}{} {} {} {:016x}\n{}{}", magic, stamp_.size(), key.size(), object.size(),
                     checksum(object), stamp_, key);
}

std::optional<std::string> ObjectCache::load(std::string_view key) const {
  if (!enabled()) return std::nullopt;
  std::optional<std::string> file = read_file(path_of(key));
  if (!file) return std::nullopt;
  const std::size_t header_end = file->find('\n', magic.size());
  if (header_end == std::string::npos) return std::nullopt;
  const std::size_t payload = header_end + 1 + stamp_.size() + key.size();
  if (payload > file->size()) return std::nullopt;
  std::string object = file->substr(payload);
  if (std::string_view(*file).substr(0, payload) != header_of(key, object)) return std::nullopt;
  return object;
}

std::string ObjectCache::store(std::string_view key, std::string_view object) const {
  if (!enabled()) return {};
  static std::atomic<unsigned> serial{0};
  const std::string path = path_of(key);
  const std::string temporary = fmt::format("{}.{}.{}.tmp", path, getpid(), serial.fetch_add(1));
  std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
  file << header_of(key, object) << object;
  file.close();
  if (!file) {
    const std::string reason = std::strerror(errno);
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    return fmt::format("cannot write '{}' ({}); generated code is not kept between processes",
                       temporary, reason);
  }
  std::error_code error;
  std::filesystem::rename(temporary, path, error);
  if (error) {
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    return fmt::format("cannot rename to '{}' ({})", path, error.message());
  }
  return {};
}

}  // namespace dyn::codegen
