#pragma once
// Layers 0 and 1 of a GPU's tiles, timed once for each device, driver and version of the code.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/choice/gpu/gpu.hpp"

namespace dyn::ptx {

/// Runs the main loop of a tile, in the form of choice::timed_form(), with so many blocks on each
/// multiprocessor, and times it.
class StageClock {
 public:
  virtual ~StageClock() = default;
  /// Seconds of one launch whose blocks sum `k` elements each.
  virtual double launch_seconds(const choice::GpuTile& tile, int resident, std::int64_t k) = 0;
};

/// Two depths for each tile: the difference has neither the launch nor the epilogue. Nothing where
/// a difference is no time above 0.
std::optional<std::vector<choice::GpuStageTime>> time_stages(
    const choice::GpuMachine& machine, const std::vector<choice::GpuTile>& tiles,
    StageClock& clock);

/// The name of the file of a device's figures for these tiles. `device`: its name and driver.
std::string stage_times_file(std::string_view device, const std::vector<choice::GpuTile>& tiles);

/// The figures that the directory has of this device and these tiles, else those that `clock`
/// gives, which are kept there; "" keeps nothing. `warn` hears of a file that is broken, or about
/// another device or other tiles: its figures are not used. Nothing as in time_stages().
std::optional<std::vector<choice::GpuStageTime>> stage_times(
    const choice::GpuMachine& machine, const std::vector<choice::GpuTile>& tiles,
    std::string_view device, const std::string& cache_dir, StageClock& clock,
    const std::function<void(const std::string&)>& warn);

}  // namespace dyn::ptx
