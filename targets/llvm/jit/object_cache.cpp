#include "targets/llvm/jit/object_cache.hpp"

#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "targets/llvm/jit/keyed_hash.hpp"

namespace dyn::codegen {
namespace {

constexpr std::string_view magic = "dyn object 2\n";

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
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
    : directory_(std::move(directory)), signature_(directory_.key()), stamp_(std::move(stamp)) {
  const bool wanted = directory_.usable() || !directory_.problem().empty();
  if (wanted && !signature_)
    problem_ = directory_.key_problem() + "; generated code is not kept between processes";
}

std::string ObjectCache::name_of(std::string_view key) const {
  const std::uint64_t low = checksum(key, checksum(stamp_));
  const std::uint64_t high = checksum(key, low ^ 0x9e3779b97f4a7c15ull);
  return fmt::format("{:016x}{:016x}.o", high, low);
}

// The header repeats the whole key, so that neither a collision of names nor another version can
// give wrong code.
std::string ObjectCache::header_of(std::string_view key, std::string_view object) const {
  const std::string sizes = fmt::format("{} {} {}", stamp_.size(), key.size(), object.size());
  const KeyedHash signature =
      keyed_hash(*signature_, {bytes_of(sizes), bytes_of(stamp_), bytes_of(key), bytes_of(object)});
  return fmt::format("{}{} {:02x}\n{}{}", magic, sizes, fmt::join(signature, ""), stamp_, key);
}

std::optional<std::string> ObjectCache::load(std::string_view key) const {
  if (!enabled()) return std::nullopt;
  std::optional<std::string> file = directory_.read(name_of(key));
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
  if (!made_room_.exchange(true)) directory_.make_room(CacheKind::Code, budget_bytes);
  std::string problem =
      directory_.write(name_of(key), {bytes_of(header_of(key, object)), bytes_of(object)});
  if (!problem.empty()) problem += "; generated code is not kept between processes";
  return problem;
}

}  // namespace dyn::codegen
