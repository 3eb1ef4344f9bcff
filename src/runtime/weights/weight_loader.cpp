#include "src/runtime/weights/weight_loader.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "dyn/version.hpp"
#include "src/base/clock.hpp"
#include "src/runtime/system/cache_dir.hpp"

namespace dyn::runtime {
namespace {

std::int64_t now_nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

bool unchanged(const WeightSources& sources) {
  return std::all_of(sources.files().begin(), sources.files().end(), [](const Safetensors& file) {
    return file.read_file() != nullptr ? file.read_file()->is_unchanged()
                                       : file.state() == file_state(file.name());
  });
}

}  // namespace

bool is_settled(const FileState& state, std::int64_t now) {
  constexpr std::int64_t tick_nanoseconds = 50'000'000;
  return now - state.changed >= tick_nanoseconds;
}

WeightLoader::WeightLoader(const graph::Module& module, const WeightSources& sources,
                           const Options& options, int threads)
    : module_(module),
      sources_(sources),
      threads_(threads),
      allocator_(options.allocator),
      cache_(resolve_cache_dir(options.cache_dir), options.weight_cache_bytes, options.log) {}

// Two models that read other parts of one file have files of their own; a changed weights file
// replaces what was kept of it.
std::optional<WeightKey> WeightLoader::key_of(const WeightLayout& layout) const {
  if (!cache_.keeps(layout.bytes()) || !sources_.only_files() || layout.packing().empty())
    return std::nullopt;
  WeightKey key;
  key.layout = fmt::format("dyn {} {}\n", version(), layout.packing());
  std::string paths;
  for (const Safetensors& file : sources_.files()) {
    if (const ReadFile* read = file.read_file(); read != nullptr) {
      paths += fmt::format("{}reader's {:?}, identity {:?}", paths.empty() ? "" : ", ", file.name(),
                           read->identity());
      key.files +=
          fmt::format("{} bytes, header {:016x}\n", read->bytes().size(), file.header_hash());
      continue;
    }
    std::error_code error;
    const std::string path = std::filesystem::canonical(file.name(), error).string();
    const FileState state = *file.state();
    if (error || !is_settled(state, now_nanoseconds())) return std::nullopt;
    paths += (paths.empty() ? "" : ", ") + path;
    key.files += fmt::format("{} bytes, inode {}, modified {}, changed {}, header {:016x}\n",
                             state.size_bytes, state.inode, state.modified, state.changed,
                             file.header_hash());
  }
  key.files = paths + "\n" + key.files;
  key.layout += paths + "\n" + layout.describe(module_, sources_);
  return key;
}

Weights WeightLoader::load(WeightLayout layout, WeightTimes& times, LoadReport& report) const {
  const std::optional<WeightKey> key = key_of(layout);
  std::optional<MappedWeights> mapped =
      key ? cache_.find(*key, layout.bytes(), threads_) : std::nullopt;
  report.weights_from_disk = mapped.has_value();
  if (!mapped) {
    sources_.read_data();
    Weights filled(layout, module_, sources_, threads_, times, allocator_);
    const Clock::time_point start = Clock::now();
    if (key && unchanged(sources_)) mapped = cache_.keep(*key, filled.content(), threads_);
    report.weights_write = seconds_since(start);
    if (!mapped) return filled;
  }
  report.weight_bytes_mapped = mapped->bytes.size();
  return {std::move(layout), std::move(*mapped)};
}

}  // namespace dyn::runtime
