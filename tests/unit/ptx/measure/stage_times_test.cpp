// Layers 0 and 1 of a GPU's tiles, timed by a clock of the test.

#include "targets/ptx/measure/stage_times.hpp"

#include <doctest/doctest.h>

#include <map>

#include "src/base/cache_directory.hpp"
#include "src/choice/gpu/micro_kernels.hpp"
#include "src/choice/gpu/wave.hpp"
#include "src/choice/policies/vortex/vortex.hpp"
#include "targets/ptx/gpus/gpu_descriptions.hpp"
#include "tests/support/relative.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace dyn;
using namespace dyn::choice;
using dyn::testing::relative;
using dyn::testing::TemporaryFolder;

namespace {

/// A GPU whose stages take the predicted time, times a factor for one tile, behind a launch and an
/// epilogue that take 100 microseconds.
class Clock final : public ptx::StageClock {
 public:
  Clock(const GpuMachine& machine, const GpuTile& slow, double factor)
      : machine_(machine), slow_(slow), factor_(factor) {}
  double launch_seconds(const GpuTile& tile, int resident, std::int64_t k) override {
    ++launches;
    const double stage =
        steady_stage_seconds(gpu_wave(machine_, timed_form(tile, tile.block_k), tile, resident));
    return 1e-4 + stage * (tile == slow_ ? factor_ : 1) * static_cast<double>(k) / tile.block_k;
  }
  int launches = 0;

 private:
  GpuMachine machine_;
  GpuTile slow_;
  double factor_;
};

/// A clock that stands still.
class Stopped final : public ptx::StageClock {
 public:
  double launch_seconds(const GpuTile&, int, std::int64_t) override { return 1e-3; }
};

struct Setting {
  GpuMachine machine = ptx::described_gpu("h200");
  std::vector<GpuTile> tiles = gpu_tiles(machine, DType::bf16, false);
  GpuContraction shape{.m = 4096, .n = 4096, .k = 4096, .a_element_bytes = 2, .b_element_bytes = 2};
  GpuTile chosen = tiles.at(static_cast<std::size_t>(select_gpu_tile(machine, shape, tiles).tile));
  std::vector<std::string> warnings;

  std::optional<std::vector<GpuStageTime>> times(const std::string& device,
                                                 const std::string& folder,
                                                 ptx::StageClock& clock) {
    return ptx::stage_times(machine, tiles, device, folder, clock,
                            [&](const std::string& text) { warnings.push_back(text); });
  }
};

}  // namespace

TEST_CASE("stages that take as long as predicted change no cost") {
  Setting setting;
  Clock clock(setting.machine, setting.chosen, 1);
  const GpuMachine measured = with_stage_times(
      setting.machine, ptx::time_stages(setting.machine, setting.tiles, clock).value());
  for (const GpuTile& tile : setting.tiles) {
    CAPTURE(tile.to_string());
    CHECK(gpu_contraction_cost(measured, setting.shape, tile) ==
          relative(gpu_contraction_cost(setting.machine, setting.shape, tile)).epsilon(1e-9));
  }
}

TEST_CASE(
    "a tile that is measured to be slow is chosen no more, by dyn or by the papers' figures") {
  Setting setting;
  constexpr double factor = 5;
  Clock clock(setting.machine, setting.chosen, factor);
  const auto times = ptx::time_stages(setting.machine, setting.tiles, clock).value();
  const GpuMachine measured = with_stage_times(setting.machine, times);
  const GpuStageTime* time = stage_time(measured, setting.chosen);
  REQUIRE(time != nullptr);
  for (const int resident : {1, time->resident}) {
    const double predicted = steady_stage_seconds(
        gpu_wave(setting.machine, timed_form(setting.chosen, setting.chosen.block_k),
                 setting.chosen, resident));
    CHECK((resident == 1 ? time->alone : time->full) == relative(factor * predicted).epsilon(1e-9));
    CHECK(steady_stage_seconds(
              gpu_wave(measured, timed_form(setting.chosen, setting.chosen.block_k), setting.chosen,
                       resident)) == relative(factor * predicted).epsilon(1e-9));
  }
  const GpuChoice choice = select_gpu_tile(measured, setting.shape, setting.tiles);
  CHECK_FALSE(setting.tiles.at(static_cast<std::size_t>(choice.tile)) == setting.chosen);
  // Rows that are windows have the same main loop.
  GpuTile windows = setting.chosen;
  windows.window_entry_bytes = 16;
  CHECK(stage_time(measured, windows) == time);

  const auto form = [&](const GpuTile&) { return setting.shape; };
  const GpuMicroKernels before(setting.machine, setting.tiles, form),
      after(measured, setting.tiles, form);
  for (std::size_t i = 0; i < after.size(); ++i) {
    const bool slow = setting.tiles[after.tile_of(i)] == setting.chosen;
    CHECK((after.wave_seconds(i, 8192) > 3 * before.wave_seconds(i, 8192)) == slow);
    CHECK((vortex_seconds(after, i, {1, 4096, 4096, 8192}) >
           3 * vortex_seconds(before, i, {1, 4096, 4096, 8192})) == slow);
  }
}

TEST_CASE("a tile that nobody timed takes as many times its prediction as timed ones of its kind") {
  Setting setting;
  constexpr double factor = 3;
  std::vector<GpuStageTime> times;
  for (const GpuTile& tile : setting.tiles) {
    Clock clock(setting.machine, tile, factor);
    const auto one = ptx::time_stages(setting.machine, {tile}, clock).value();
    times.push_back(one.front());
    // CUDA cores are as fast as predicted.
    if (tile.engine == Engine::CudaCores) times.back().alone /= factor, times.back().full /= factor;
  }
  const GpuMachine measured = with_stage_times(setting.machine, times);
  for (GpuTile tile : setting.tiles) {
    tile.block_k *= 3;
    REQUIRE(stage_time(measured, tile) == nullptr);
    CHECK(measured_over_predicted(measured, tile, 1) ==
          relative(tile.engine == Engine::CudaCores ? 1 : factor).epsilon(1e-9));
  }
}

TEST_CASE("the origin of times says what is measured and what is not") {
  Setting setting;
  Clock clock(setting.machine, setting.chosen, 2);
  CHECK(origin_of_times(setting.machine).find("no layer is measured") != std::string::npos);
  const GpuMachine measured = with_stage_times(
      setting.machine, ptx::time_stages(setting.machine, setting.tiles, clock).value());
  CHECK(origin_of_times(measured) ==
        "predicted from the description of " + setting.machine.product + "; layers 0 and 1 of " +
            std::to_string(setting.tiles.size()) + " tiles are measured on it");
}

TEST_CASE("a clock that gives no times leaves all predicted, and nothing is kept") {
  Setting setting;
  Stopped stopped;
  const TemporaryFolder folder;
  CHECK_FALSE(setting.times("stopped", folder.path().string(), stopped).has_value());
  Clock clock(setting.machine, setting.chosen, 2);
  CHECK(setting.times("stopped", folder.path().string(), clock).has_value());
  CHECK(clock.launches > 0);
  CHECK(setting.warnings.empty());
}

TEST_CASE("figures are kept for their device, and broken or foreign ones are measured again") {
  Setting setting;
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  const CacheDirectory directory(path);
  Clock first(setting.machine, setting.chosen, 3);
  const auto made = setting.times("H200, driver 13000", path, first).value();
  CHECK(first.launches > 0);
  const std::string name = ptx::stage_times_file("H200, driver 13000", setting.tiles);
  const std::string text = directory.read(name).value();
  CHECK(cache_kind(name) == CacheKind::Figures);

  Clock second(setting.machine, setting.chosen, 1);
  const auto kept = setting.times("H200, driver 13000", path, second).value();
  CHECK(second.launches == 0);
  REQUIRE(kept.size() == made.size());
  for (std::size_t i = 0; i < kept.size(); ++i) {
    CHECK(kept[i].tile == made[i].tile);
    CHECK(kept[i].alone == made[i].alone);
    CHECK(kept[i].full == made[i].full);
  }
  CHECK(setting.warnings.empty());
  // Another driver, another file.
  setting.times("H200, driver 13010", path, second);
  CHECK(second.launches > 0);

  const std::string zero = text.substr(0, text.find("\"alone\": ") + 9) + "-1" +
                           text.substr(text.find(",", text.find("\"alone\": ")));
  std::string foreign = text;
  foreign.replace(foreign.find("H200"), 4, "H100");
  const std::map<std::string, std::string> wrong = {{"no JSON", "is damaged"},
                                                    {"{}", "is damaged"},
                                                    {text.substr(0, text.size() / 2), "is damaged"},
                                                    {foreign, "is about another GPU"},
                                                    {zero, "is about another GPU or other tiles"}};
  for (const auto& [content, warning] : wrong) {
    CAPTURE(content);
    directory.write(name, content);
    setting.warnings.clear();
    Clock again(setting.machine, setting.chosen, 3);
    CHECK(setting.times("H200, driver 13000", path, again).has_value());
    CHECK(again.launches > 0);
    REQUIRE(setting.warnings.size() == 1);
    CHECK(setting.warnings[0].find(warning) != std::string::npos);
  }
  CHECK(directory.read(name) == text);
}
