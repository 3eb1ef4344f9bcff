#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

#include "src/base/cache_directory.hpp"
#include "src/base/crew.hpp"
#include "src/choice/calibration/json.hpp"
#include "targets/cpu/measure/block_speeds.hpp"
#include "targets/cpu/measure/measure.hpp"
#include "targets/cpu/measure/vendor_figures.hpp"
#include "targets/cpu/tile/matrix_loop.hpp"
#include "targets/cpu/x86/cpu_info.hpp"
#include "targets/llvm/jit/code_stamp.hpp"
#include "targets/llvm/jit/object_cache.hpp"

namespace dyn::cpu {
namespace {

using nlohmann::json;

json as_json(const std::vector<BlockSpeed>& speeds) {
  return {{"name", cpu_name()}, {"blocks", speeds}};
}

bool fits(const std::vector<BlockSpeed>& speeds, const std::vector<choice::BlockPlan>& plans) {
  const auto times = [](const std::vector<double>& seconds, std::size_t wanted) {
    return seconds.size() == wanted &&
           std::ranges::all_of(seconds, [](double of) { return of > 0; });
  };
  return std::ranges::equal(speeds, plans,
                            [&](const BlockSpeed& speed, const choice::BlockPlan& plan) {
                              return speed.plan == plan && times(speed.alone, plan.depths.size()) &&
                                     times(speed.together, plan.together ? plan.depths.size() : 0);
                            });
}

/// Figures with what they are about.
struct KeptVendor {
  std::string machine, version;
  VendorFigures figures;
};

json as_json(const KeptVendor& kept) {
  const auto rate = [](const VendorRate& of) {
    return json{{"flops_per_second", of.flops_per_second},
                {"seconds_per_execution", of.seconds_per_execution}};
  };
  return {{"name", kept.machine},
          {"library", kept.version},
          {"fresh", rate(kept.figures.fresh)},
          {"packed", rate(kept.figures.packed)}};
}

KeptVendor vendor_from(const json& value) {
  const auto rate = [](const json& of) {
    return VendorRate{of.at("flops_per_second"), of.at("seconds_per_execution")};
  };
  return {
      value.at("name"), value.at("library"), {rate(value.at("fresh")), rate(value.at("packed"))}};
}

bool fits(const KeptVendor& kept, const std::string& version) {
  const auto positive = [](const VendorRate& of) {
    return of.flops_per_second > 0 && of.seconds_per_execution > 0;
  };
  return kept.machine == cpu_name() && kept.version == version && positive(kept.figures.fresh) &&
         positive(kept.figures.packed);
}

bool fits(const std::vector<choice::TileSpeed>& speeds, const codegen::Isa& isa) {
  const std::vector<Tile> tiles = main_loop_tiles(isa);
  return std::equal(speeds.begin(), speeds.end(), tiles.begin(), tiles.end(),
                    [](const choice::TileSpeed& speed, const Tile& tile) {
                      return speed.rows == tile.rows && speed.columns == tile.columns &&
                             speed.seconds_per_k > 0;
                    });
}

// A file is believed only where it is about these tiles, this CPU and these threads.
bool fits(const choice::Machine& machine, const codegen::Isa& isa, int threads) {
  if (machine.name != cpu_name() || machine.threads != threads ||
      machine.vector_width != isa.f32_lanes || machine.panel != isa.panel_f32) {
    return false;
  }
  if (machine.levels.size() != 4) return false;
  for (const auto& level : machine.levels) {
    if (level.bandwidth.size() != static_cast<std::size_t>(threads)) return false;
    for (const double figure : level.bandwidth) {
      if (!(figure > 0)) return false;
    }
  }
  return fits(machine.tiles, isa) && machine.seconds_per_ticket > 0;
}

json as_json(const choice::Machine& machine) { return machine; }
json as_json(const std::vector<choice::TileSpeed>& speeds) { return speeds; }

/// Figures, and whether they are worth keeping on disk.
template <class Figures>
struct Made {
  Figures figures;
  bool lasting;
};

/// What is found under `name` in this process or in the directory and is fit, else what is made,
/// which is kept there; where threads were missing for it, only in this process, for those that are
/// lent threads as well. `damaged` hears of a file that cannot be read.
template <class Figures, class Read, class Make>
Figures kept_figures(const std::string& name, const std::string& cache_dir, const Read& read,
                     const Make& make,
                     const std::function<void(const std::string&)>& damaged = {}) {
  static std::mutex mutex;
  static std::map<std::string, Figures> known;
  const std::lock_guard lock(mutex);
  if (const auto found = known.find(name); found != known.end()) return found->second;
  const std::string poor = LentThreads::current() != nullptr ? name + " on lent threads" : name;
  if (const auto found = known.find(poor); found != known.end()) return found->second;
  std::optional<Figures> figures;
  const CacheDirectory directory(cache_dir);
  if (const std::optional<std::string> text = directory.read(name)) {
    try {
      figures = read(json::parse(*text));
    } catch (const std::exception& error) {  // it is no JSON, or other than it should be
      if (damaged) damaged(error.what());
    }
  }
  if (figures) return known.emplace(name, std::move(*figures)).first->second;
  const Crew::Attendance attendance;
  const Made<Figures> made = make();
  if (made.lasting && attendance.is_full()) directory.write(name, as_json(made.figures).dump(1));
  return known.emplace(attendance.is_full() ? name : poor, made.figures).first->second;
}

}  // namespace

choice::Machine machine_figures(const codegen::Isa& isa, int threads,
                                const std::function<MainLoopTable()>& loops,
                                codegen::CodeStore& store, const std::string& cache_dir,
                                rkernel::CompileReport& report) {
  const std::string name = fmt::format("machine-{}-{}-{:016x}.json", isa.name, threads,
                                       codegen::checksum(cpu_name() + codegen::code_stamp()));
  const auto read = [&](const json& value) {
    auto machine = value.get<choice::Machine>();
    return fits(machine, isa, threads) ? std::optional(std::move(machine)) : std::nullopt;
  };
  return kept_figures<choice::Machine>(name, cache_dir, read, [&] {
    MeasuredMachine made = measure_machine(isa, threads, loops(), store, report);
    return Made<choice::Machine>{std::move(made.machine), !made.disturbed};
  });
}

std::vector<choice::TileSpeed> tile_figures(const codegen::Isa& isa,
                                            const rkernel::Factors& factors,
                                            const std::function<MainLoopTable()>& loops,
                                            const std::string& cache_dir,
                                            rkernel::CompileReport& report) {
  using Tiles = std::vector<choice::TileSpeed>;
  const std::string name = fmt::format("machine-{}-{}{}-{:016x}.json", isa.name, factors.name(),
                                       by_matrices(isa, factors) ? "-matrices" : "",
                                       codegen::checksum(cpu_name() + codegen::code_stamp()));
  const auto read = [&](const json& value) {
    auto tiles = value.get<Tiles>();
    return fits(tiles, isa) ? std::optional(std::move(tiles)) : std::nullopt;
  };
  return kept_figures<Tiles>(name, cache_dir, read, [&] {
    const MainLoopTable table = loops();
    const auto start = std::chrono::steady_clock::now();
    Tiles tiles = measure_tiles(isa, table);
    report.measure_seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return Made<Tiles>{std::move(tiles), true};
  });
}

std::vector<BlockSpeed> block_figures(const codegen::Isa& isa, const choice::Machine& machine,
                                      std::string_view name,
                                      const std::vector<choice::BlockPlan>& plans,
                                      const std::function<MainLoopTable()>& loops,
                                      const std::string& cache_dir,
                                      rkernel::CompileReport& report) {
  using Blocks = std::vector<BlockSpeed>;
  if (std::ranges::all_of(plans, [](const choice::BlockPlan& plan) { return plan.depths.empty(); }))
    return measure_blocks(isa, {}, plans, machine.threads);
  const std::string file =
      fmt::format("blocks-{}-{}-{}-{:016x}.json", name, isa.name, machine.threads,
                  codegen::checksum(cpu_name() + codegen::code_stamp()));
  const auto read = [&](const json& value) -> std::optional<Blocks> {
    const std::string measured_on = value.at("name");
    auto blocks = value.at("blocks").get<Blocks>();
    if (measured_on == cpu_name() && fits(blocks, plans)) return blocks;
    report.warnings.push_back(
        fmt::format("{}/{} was measured on '{}' or for other blocks; measuring again on '{}'",
                    cache_dir, file, measured_on, cpu_name()));
    return std::nullopt;
  };
  const auto make = [&] {
    const auto start = std::chrono::steady_clock::now();
    const MainLoopTable table = loops();
    Blocks blocks = measure_blocks(isa, table, plans, machine.threads);
    report.measure_seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return Made<Blocks>{std::move(blocks), true};
  };
  return kept_figures<Blocks>(file, cache_dir, read, make, [&](const std::string& why) {
    report.warnings.push_back(
        fmt::format("{}/{} is damaged ({}); measuring again", cache_dir, file, why));
  });
}

std::string vendor_figures_file(const codegen::Isa& isa, const std::string& version) {
  return fmt::format("vendor-{}-{:016x}.json", isa.name,
                     codegen::checksum(cpu_name() + codegen::code_stamp() + version));
}

VendorFigures vendor_figures(const codegen::Isa& isa, const std::string& version,
                             const std::string& cache_dir,
                             const std::function<VendorFigures()>& measure) {
  const auto read = [&](const json& value) {
    KeptVendor kept = vendor_from(value);
    return fits(kept, version) ? std::optional(std::move(kept)) : std::nullopt;
  };
  return kept_figures<KeptVendor>(
             vendor_figures_file(isa, version), cache_dir, read,
             [&] { return Made<KeptVendor>{{cpu_name(), version, measure()}, true}; })
      .figures;
}

}  // namespace dyn::cpu
