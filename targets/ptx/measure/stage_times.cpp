#include "targets/ptx/measure/stage_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "src/base/cache_directory.hpp"
#include "targets/llvm/jit/code_stamp.hpp"
#include "targets/llvm/jit/object_cache.hpp"

namespace dyn::ptx {
namespace {

using choice::GpuStageTime;
using choice::GpuTile;
using nlohmann::json;
using Times = std::vector<GpuStageTime>;

constexpr std::int64_t short_stages = 32, long_stages = 96;  ///< of the two launches of a tile
constexpr int rounds = 5;                                    ///< the least of so many counts

bool is_time(double seconds) { return std::isfinite(seconds) && seconds > 0; }

// Rounds alternate, so that a change of the clock's frequency meets both depths.
double stage_seconds(const GpuTile& tile, int resident, StageClock& clock) {
  double shorter = INFINITY, longer = INFINITY;
  for (int i = 0; i < rounds; ++i) {
    shorter = std::min(shorter, clock.launch_seconds(tile, resident, short_stages * tile.block_k));
    longer = std::min(longer, clock.launch_seconds(tile, resident, long_stages * tile.block_k));
  }
  return (longer - shorter) / static_cast<double>(long_stages - short_stages);
}

int resident_blocks(const choice::GpuMachine& machine, const GpuTile& tile) {
  return choice::occupancy(machine, tile.threads(), tile.registers(), tile.shared_bytes()).blocks;
}

json as_json(const Times& times, std::string_view device) {
  json stages = json::array();
  for (const GpuStageTime& time : times) {
    stages.push_back({{"tile", time.tile.to_string()},
                      {"resident", time.resident},
                      {"alone", time.alone},
                      {"full", time.full}});
  }
  return {{"device", device}, {"stages", stages}};
}

/// Throws where the text is no such file; nothing where it is about something else.
std::optional<Times> times_from(const std::string& text, std::string_view device,
                                const choice::GpuMachine& machine,
                                const std::vector<GpuTile>& tiles) {
  const json value = json::parse(text);
  const json& stages = value.at("stages");
  if (value.at("device") != device || stages.size() != tiles.size()) return std::nullopt;
  Times times;
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    const json& stage = stages.at(i);
    times.push_back({tiles[i], stage.at("resident"), stage.at("alone"), stage.at("full")});
    const GpuStageTime& time = times.back();
    if (stage.at("tile") != tiles[i].to_string() ||
        time.resident != resident_blocks(machine, tiles[i]) || !is_time(time.alone) ||
        !is_time(time.full))
      return std::nullopt;
  }
  return times;
}

}  // namespace

std::optional<Times> time_stages(const choice::GpuMachine& machine,
                                 const std::vector<GpuTile>& tiles, StageClock& clock) {
  Times times;
  for (const GpuTile& tile : tiles) {
    GpuStageTime time{tile, resident_blocks(machine, tile)};
    time.alone = stage_seconds(tile, 1, clock);
    time.full = time.resident > 1 ? stage_seconds(tile, time.resident, clock) : time.alone;
    if (!is_time(time.alone) || !is_time(time.full)) return std::nullopt;
    times.push_back(time);
  }
  return times;
}

std::string stage_times_file(std::string_view device, const std::vector<GpuTile>& tiles) {
  std::string about = std::string(device) + codegen::code_stamp();
  for (const GpuTile& tile : tiles) about += "; " + tile.to_string();
  return fmt::format("machine-gpu-{:016x}.json", codegen::checksum(about));
}

std::optional<Times> stage_times(const choice::GpuMachine& machine,
                                 const std::vector<GpuTile>& tiles, std::string_view device,
                                 const std::string& cache_dir, StageClock& clock,
                                 const std::function<void(const std::string&)>& warn) {
  const std::string name = stage_times_file(device, tiles);
  const CacheDirectory directory(cache_dir);
  if (const std::optional<std::string> text = directory.read(name)) {
    try {
      if (auto kept = times_from(*text, device, machine, tiles)) return kept;
      warn(fmt::format("{}/{} is about another GPU or other tiles; measuring again", cache_dir,
                       name));
    } catch (const json::exception& error) {
      warn(fmt::format("{}/{} is damaged ({}); measuring again", cache_dir, name, error.what()));
    }
  }
  std::optional<Times> times = time_stages(machine, tiles, clock);
  if (times) directory.write(name, as_json(*times, device).dump(1));
  return times;
}

}  // namespace dyn::ptx
