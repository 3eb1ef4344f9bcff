// dyn-gpu-check COMMAND [options]: see usage.

#include <cstdio>
#include <span>
#include <stdexcept>

#include "dyn/error.hpp"
#include "targets/ptx/cuda/device.hpp"
#include "targets/ptx/emulator/emulator.hpp"
#include "targets/ptx/gpus/gpu_descriptions.hpp"
#include "tests/gpu/check.hpp"

namespace dyn::gpu_check {
namespace {

constexpr const char* usage =
    "dyn-gpu-check operators | tiles | attention | benchmark | candidates | record | devices "
    "[options]\n"
    "dyn-gpu-check compare EXPECTED_DIR ACTUAL_DIR TOLERANCE\n"
    "  operators   every operator at every shape of its cases, against plain loops in double\n"
    "  tiles       every tile of the GPU's candidates, in every form, at random sizes, against "
    "plain loops in double\n"
    "  attention   every tile of attention, in random forms and sizes, against plain loops in "
    "double\n"
    "  benchmark   matrix products of --shapes FILE beside cuBLAS\n"
    "  candidates  predicted and measured time of each tile for --shapes FILE, as comma-separated "
    "values\n"
    "  record      what small kernels and scalar operators give, in --output FILE; with it the "
    "emulator is tested (tests/golden/gpu)\n"
    "  devices     the GPUs, with the driver's numbers\n"
    "  compare     .npy files of two folders, by the largest value of each\n"
    "  --device cuda|emulator  --gpu INDEX|NAME  --precision f32|tf32|f16|bf16|i8  --seed N  "
    "--rounds "
    "N  --cublas LIBRARY  --output FILE\n"
    "  --emulate yes|no: run tiles and attention on the emulator, too, and count the runs that "
    "have its very "
    "bits\n"
    "Exit status: 0 all well, 1 failures, 2 a usage error, 77 no GPU.\n";
constexpr int no_gpu_status = 77;

Settings parse(std::span<char*> arguments) {
  Settings settings;
  for (std::size_t i = 0; i + 1 < arguments.size(); i += 2) {
    const std::string option = arguments[i], value = arguments[i + 1];
    if (option == "--device")
      settings.device = value;
    else if (option == "--gpu")
      settings.gpu = value;
    else if (option == "--precision")
      settings.precision = value;
    else if (option == "--seed")
      settings.seed = std::stoull(value);
    else if (option == "--rounds")
      settings.rounds = std::stoi(value);
    else if (option == "--emulate")
      settings.emulate = value == "yes";
    else if (option == "--shapes")
      settings.shapes = value;
    else if (option == "--cublas")
      settings.cublas = value;
    else if (option == "--output")
      settings.output = value;
    else
      throw std::invalid_argument("there is no option " + option);
  }
  if (arguments.size() % 2 != 0) throw std::invalid_argument("an option without its value");
  return settings;
}

// True where there is a GPU to run on; says why not.
bool available(const Settings& settings) {
  std::string why;
  if (settings.device != "cuda" || !ptx::cuda_devices(&why).empty()) return true;
  std::printf("no GPU: %s\n", why.c_str());
  return false;
}

int list_devices() {
  for (const choice::GpuMachine& machine : ptx::cuda_devices(nullptr)) {
    std::printf(
        "%s, compute capability %d.%d, %d multiprocessors, %.2f GHz, %.1f TB/s, driver CUDA %s\n",
        machine.product.c_str(), machine.compute_capability / 10, machine.compute_capability % 10,
        machine.multiprocessors, machine.clock_hz / 1e9, machine.memory_bytes_per_second / 1e12,
        ptx::cuda::version_text(ptx::cuda::system_driver()->version()).c_str());
  }
  return 0;
}

int run(std::span<char*> arguments) {
  const std::string command = arguments.empty() ? "" : arguments[0];
  if (command == "compare" && arguments.size() == 4)
    return compare_outputs(arguments[1], arguments[2], std::stod(arguments[3]));
  int (*work)(const Settings&) = nullptr;
  if (command == "operators") work = verify_operators;
  if (command == "tiles") work = verify_tiles;
  if (command == "attention") work = verify_attention;
  if (command == "benchmark") work = benchmark;
  if (command == "candidates") work = candidates;
  if (command == "record") work = record;
  if (work == nullptr && command != "devices")
    throw std::invalid_argument("there is no command '" + command + "'");
  const Settings settings = parse(arguments.subspan(1));
  if (!available(settings)) return no_gpu_status;
  return work == nullptr ? list_devices() : work(settings);
}

}  // namespace

std::shared_ptr<ptx::PtxDevice> open(const Settings& settings) {
  if (settings.device != "emulator") return ptx::open_cuda_device(settings.gpu, "");
  return ptx::make_emulator(
      {.machine = ptx::described_gpu(settings.gpu.empty() ? "a100" : settings.gpu),
       .cache_dir = {}});
}

}  // namespace dyn::gpu_check

int main(int argc, char** argv) {
  using namespace dyn::gpu_check;
  try {
    const int result = run(std::span(argv + 1, static_cast<std::size_t>(argc - 1)));
    return result == no_gpu_status ? result : result > 0 ? 1 : 0;
  } catch (const dyn::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n%s", error.what(), usage);
    return 2;
  }
}
