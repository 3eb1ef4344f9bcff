#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "targets/cpu/code_stamp.hpp"
#include "targets/cpu/cpu_info.hpp"
#include "targets/cpu/measure.hpp"
#include "targets/cpu/object_cache.hpp"

namespace dyn::cpu {
namespace {

using nlohmann::json;

json to_json(const rkernel::Machine& machine) {
  json levels = json::array(), tiles = json::array();
  for (const auto& level : machine.levels) levels.push_back({{"name", level.name}, {"bytes", level.bytes}, {"bandwidth", level.bandwidth}});
  for (const auto& tile : machine.tiles) tiles.push_back({tile.rows, tile.columns, tile.seconds_per_k});
  return {{"name", machine.name},
          {"threads", machine.threads},
          {"vector_width", machine.vector_width},
          {"panel", machine.panel},
          {"seconds_per_vector_operation", machine.seconds_per_vector_operation},
          {"seconds_per_call", machine.seconds_per_call},
          {"seconds_per_ticket", machine.seconds_per_ticket},
          {"seconds_per_wakeup", machine.seconds_per_wakeup},
          {"levels", levels},
          {"tiles", tiles}};
}

rkernel::Machine from_json(const json& value) {
  rkernel::Machine machine;
  machine.name = value.at("name");
  machine.threads = value.at("threads");
  machine.vector_width = value.at("vector_width");
  machine.panel = value.at("panel");
  machine.seconds_per_vector_operation = value.at("seconds_per_vector_operation");
  machine.seconds_per_call = value.at("seconds_per_call");
  machine.seconds_per_ticket = value.at("seconds_per_ticket");
  machine.seconds_per_wakeup = value.at("seconds_per_wakeup");
  for (const json& level : value.at("levels")) {
    machine.levels.push_back({level.at("name"), level.at("bytes"), level.at("bandwidth").get<std::vector<double>>()});
  }
  for (const json& tile : value.at("tiles")) machine.tiles.push_back({tile.at(0), tile.at(1), tile.at(2)});
  return machine;
}

// A file is believed only where it is about these tiles, this CPU and these threads.
bool fits(const rkernel::Machine& machine, const Isa& isa, int threads) {
  if (machine.name != cpu_name() || machine.threads != threads || machine.vector_width != isa.f32_lanes || machine.panel != isa.panel_f32) {
    return false;
  }
  if (machine.levels.size() != 4) return false;
  for (const auto& level : machine.levels) {
    if (level.bandwidth.size() != static_cast<std::size_t>(threads)) return false;
    for (const double figure : level.bandwidth) {
      if (!(figure > 0)) return false;
    }
  }
  const std::vector<Tile> tiles = main_loop_tiles(isa);
  for (const Tile& tile : tiles) {
    const rkernel::TileSpeed* speed = machine.find_tile(tile.rows, tile.columns);
    if (speed == nullptr || !(speed->seconds_per_k > 0)) return false;
  }
  return machine.tiles.size() == tiles.size() && machine.seconds_per_ticket > 0;
}

void write(const std::string& path, const std::string& text) {
  const std::string temporary = fmt::format("{}.{}.tmp", path, getpid());
  std::ofstream file(temporary, std::ios::trunc);
  file << text;
  file.close();
  std::error_code error;
  if (file) {
    std::filesystem::rename(temporary, path, error);
  }
  if (!file || error) std::filesystem::remove(temporary, error);
}

}  // namespace

rkernel::Machine machine_figures(const Isa& isa, int threads, const std::function<MainLoopTable()>& loops, CodeStore& store,
                                 const std::string& cache_dir, rkernel::CompileReport& report) {
  static std::mutex mutex;
  static std::map<std::string, rkernel::Machine> measured;
  const std::lock_guard lock(mutex);
  const std::string name = fmt::format("machine-{}-{}-{:016x}.json", isa.name, threads, checksum(cpu_name() + code_stamp()));
  if (const auto found = measured.find(name); found != measured.end()) return found->second;
  rkernel::Machine machine;
  bool known = false;
  if (!cache_dir.empty()) {
    std::ifstream file(cache_dir + "/" + name);
    try {
      machine = from_json(json::parse(file));
      known = fits(machine, isa, threads);
    } catch (const std::exception&) {  // of json, or of a stream that cannot be read
      known = false;  // missing or damaged: measured again
    }
  }
  if (!known) {
    MeasuredMachine made = measure_machine(isa, threads, loops(), store, report);
    machine = std::move(made.machine);
    if (!cache_dir.empty() && !made.disturbed) write(cache_dir + "/" + name, to_json(machine).dump(1));
  }
  return measured.emplace(name, std::move(machine)).first->second;
}

}  // namespace dyn::cpu
