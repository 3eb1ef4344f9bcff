// Tiles timed by launches on a device whose clock is the test's.

#include "targets/ptx/measure/device_clock.hpp"

#include <doctest/doctest.h>

#include "dyn/error.hpp"
#include "targets/ptx/emulator/emulator.hpp"
#include "targets/ptx/gpus/gpu_descriptions.hpp"
#include "tests/unit/ptx/target_fixture.hpp"

using namespace dyn;
using namespace dyn::ptx;
using namespace dyn::ptx::testing;

namespace {

choice::GpuMachine small_gpu() {
  choice::GpuMachine machine = described_gpu("h200");
  machine.multiprocessors = 3;
  return machine;
}

/// An emulator with a clock: a launch takes a time that grows with its operands, and only some are
/// executed.
class ClockedDevice final : public PtxDevice {
 public:
  std::string name() const override { return "clocked"; }
  const choice::GpuMachine& machine() const override { return emulator_->machine(); }
  rkernel::DeviceAddress allocate(std::size_t bytes, std::string_view what) override {
    return emulator_->allocate(bytes, what);
  }
  void release(rkernel::DeviceAddress address) noexcept override { emulator_->release(address); }
  std::size_t bytes_from(rkernel::DeviceAddress address) const override {
    return emulator_->bytes_from(address);
  }
  std::unique_ptr<rkernel::Stream> make_stream() override { return emulator_->make_stream(); }
  std::vector<const void*> load(std::span<const codegen::KernelSource> sources, int threads,
                                rkernel::CompileReport& report) override {
    return executes ? emulator_->load(sources, threads, report)
                    : std::vector<const void*>(sources.size(), this);
  }
  std::optional<double> launch_seconds(const rkernel::DeviceLaunch& launch) override {
    ++launches;
    blocks = launch.blocks;
    if (fails) throw Error(ErrorKind::device, "the device is gone");
    if (!executes) return 1e-4 + 1e-9 * static_cast<double>(launch.operands[0].bytes);
    const auto stream = make_stream();
    stream->launch(launch);
    stream->synchronise();
    return 1e-3;
  }

  bool executes = false, fails = false;
  int launches = 0;
  std::int64_t blocks = 0;

 private:
  std::shared_ptr<Emulator> emulator_ = make_emulator({.machine = small_gpu(), .cache_dir = {}});
};

/// What the target says of one product, and what it warned of.
std::pair<std::string, std::string> explained(const std::shared_ptr<ClockedDevice>& device,
                                              bool measures) {
  LoweredGraph graph = lowered(product);
  std::string warnings;
  TargetOptions options;
  options.device = device;
  options.machine = device->machine();
  options.precision = DType::bf16;
  options.measures = measures;
  options.log = [&](LogLevel, std::string_view text) { warnings += text; };
  const auto target = make_ptx_target(options);
  const rkernel::Prepared prepared = target->prepare(graph.problems, graph.facts());
  REQUIRE(prepared.kernels.at(0));
  const auto symbols = graph.symbols({{"B", 1}, {"M", 300}, {"N", 200}, {"K", 100}});
  return {prepared.kernels[0]->explain({symbols, 1}) + prepared.kernels[0]->describe(), warnings};
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("each tile is timed with as many blocks as are asked for, without a fault") {
  ClockedDevice device;
  device.executes = true;
  const auto clock = make_device_clock(device, DType::bf16);
  for (const choice::GpuTile& tile : choice::gpu_tiles(device.machine(), DType::bf16, false)) {
    if (tile.block_m * tile.block_n > 64 * 64) continue;  // large ones take long on the emulator
    CAPTURE(tile.to_string());
    CHECK(clock->launch_seconds(tile, 1, 2 * tile.block_k) == 1e-3);
    CHECK(device.blocks == 3);
    clock->launch_seconds(tile, 2, 2 * tile.block_k);
    CHECK(device.blocks == 6);
  }
  CHECK(device.launches >= 8);
}

TEST_CASE("a target that measures says so, and one that does not says that") {
  const auto device = std::make_shared<ClockedDevice>();
  const auto [predicted, none] = explained(device, false);
  CHECK(device->launches == 0);
  CHECK(has(predicted, "no layer is measured"));
  CHECK(has(predicted, "registers (predicted from the description"));
  const auto [measured, quiet] = explained(device, true);
  CHECK(device->launches > 0);
  CHECK(has(measured, "layers 0 and 1 of"));
  CHECK(has(measured, "registers (measured"));
  CHECK(quiet.empty());
}

TEST_CASE("a device that fails while its tiles are timed keeps predictions and a warning") {
  const auto device = std::make_shared<ClockedDevice>();
  device->fails = true;
  const auto [text, warnings] = explained(device, true);
  CHECK(has(text, "no layer is measured"));
  CHECK(has(warnings, "timing tiles on clocked: the device is gone"));
}
