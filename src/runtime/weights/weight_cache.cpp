#include "src/runtime/weights/weight_cache.hpp"

#include <memory>
#include <utility>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/base/readable_file.hpp"
#include "src/runtime/weights/content_hash.hpp"
#include "src/runtime/weights/prepacked_file.hpp"

namespace dyn::runtime {
namespace {

/// Fewer bytes of weights are packed as quickly as they are found on a disk.
constexpr std::size_t least_bytes = std::size_t{1} << 20;

std::string identity_of(const WeightKey& key) { return key.files + key.layout; }

std::string name_of(const WeightKey& key) {
  const auto bytes_of = [](std::string_view text) { return std::as_bytes(std::span(text)); };
  const std::uint64_t low = content_hash(bytes_of(key.layout));
  const std::uint64_t high = content_hash(bytes_of(fmt::format("{:016x}{}", low, key.layout)));
  return fmt::format("weights-{:016x}{:016x}.bin", high, low);
}

}  // namespace

WeightCache::WeightCache(std::string directory, std::size_t budget_bytes, Log log)
    : wanted_(!directory.empty() && budget_bytes > 0),
      directory_(wanted_ ? std::move(directory) : std::string()),
      signature_(directory_.key()),
      budget_bytes_(budget_bytes),
      log_(std::move(log)) {}

bool WeightCache::keeps(std::size_t bytes) const noexcept {
  return wanted_ && bytes >= least_bytes && bytes <= budget_bytes_;
}

void WeightCache::log(LogLevel level, const std::string& message) const {
  if (log_) log_(level, message);
}

std::optional<MappedWeights> WeightCache::open(const std::string& name, const WeightKey& key,
                                               std::size_t bytes, int threads) const {
  const std::unique_ptr<ReadableFile> opened = directory_.open(name);
  if (!opened || !signature_) return std::nullopt;
  try {
    MappedFile file(*opened);
    const auto payload =
        verified_payload(file.bytes(), identity_of(key), bytes, *signature_, threads);
    if (!payload) return std::nullopt;
    CacheDirectory::note_use(*opened);
    return MappedWeights{std::move(file), *payload};
  } catch (const Error&) {  // it cannot be read
    return std::nullopt;
  }
}

std::optional<MappedWeights> WeightCache::find(const WeightKey& key, std::size_t bytes,
                                               int threads) const {
  const std::string name = name_of(key);
  if (!keeps(bytes) || !directory_.has(name)) return std::nullopt;
  std::optional<MappedWeights> found = open(name, key, bytes, threads);
  if (!found)
    log(LogLevel::info, fmt::format("'{}' is of another state of the weights files, or damaged; "
                                    "the weights are packed anew",
                                    directory_.path_of(name)));
  return found;
}

std::optional<MappedWeights> WeightCache::keep(const WeightKey& key,
                                               std::span<const std::byte> weights,
                                               int threads) const {
  if (!keeps(weights.size())) return std::nullopt;
  std::string problem = signature_ ? std::string() : directory_.key_problem();
  const std::string name = name_of(key);
  if (problem.empty()) {
    directory_.make_room(CacheKind::Weights, budget_bytes_, weights.size(), name);
    if (auto others = open(name, key, weights.size(), threads)) return others;
    const std::vector<std::byte> prefix =
        prepacked_prefix(identity_of(key), weights, *signature_, threads);
    // Another process may be faster; then both use its file, so that the weights are in memory
    // once.
    problem = directory_.write(
        name, {prefix, weights},
        directory_.has(name) ? CacheDirectory::Former::Replace : CacheDirectory::Former::Keep);
  }
  if (problem.empty()) return open(name, key, weights.size(), threads);
  log(LogLevel::warning, problem + "; the weights are not kept on disk");
  return std::nullopt;
}

std::vector<KeptWeights> kept_weights(const CacheDirectory& directory) {
  std::vector<KeptWeights> kept;
  const std::optional<CacheKey> signature = directory.existing_key();
  for (const CacheFile& cached : directory.files()) {
    if (cached.kind != CacheKind::Weights) continue;
    KeptWeights& entry =
        kept.emplace_back(KeptWeights{directory.path_of(cached.name), cached.bytes, {}});
    const std::unique_ptr<ReadableFile> opened = directory.open(cached.name);
    if (!opened || !signature) continue;
    try {
      const MappedFile file(*opened);
      const auto identity = prepacked_identity(file.bytes(), *signature);
      if (identity) entry.from = identity->substr(0, identity->find('\n'));
    } catch (const Error&) {  // it cannot be read: listed by its name
      continue;
    }
  }
  return kept;
}

}  // namespace dyn::runtime
