// dynrun devices: this machine's CPU and GPUs, what was measured of them, and the described GPUs.

#include <cstdio>
#include <optional>

#include <fmt/format.h>

#include "src/cli/arguments.hpp"
#include "src/cli/report/gpu_peak.hpp"
#include "src/cli/report/peak.hpp"
#include "src/cli/report/profile.hpp"
#include "src/runtime/system/thread_count.hpp"
#include "targets/cpu/x86/cpu_info.hpp"
#include "targets/llvm/jit/isa.hpp"
#include "targets/ptx/cuda/device.hpp"
#include "targets/ptx/gpus/gpu_descriptions.hpp"

namespace dyn::cli {
namespace {

/// "L1d 48K, L2 1024K, L3 32768K": the caches of the first CPU.
std::string cache_sizes() {
  std::string text;
  for (const cpu::Cache& cache : cpu::cpu_caches()) {
    text += fmt::format("{}L{}{} {}K", text.empty() ? "" : ", ", cache.level,
                        cache.unified ? "" : "d", cache.bytes >> 10);
  }
  return text.empty() ? "unknown" : text;
}

std::string isa_names() {
  std::string text;
  for (const codegen::Isa& isa : codegen::all_isas()) {
    if (codegen::cpu_has(isa)) text += (text.empty() ? "" : ", ") + isa.name;
  }
  return text;
}

std::vector<Row> figure_rows(const std::optional<Peak>& peak) {
  std::vector<Row> rows;
  if (!peak) return rows;
  const auto known = [](double value) { return value > 0 ? Cell(value) : Cell(); };
  for (const PeakFigures& figures : peak->figures) {
    rows.push_back({{"device", std::string("cpu")},
                    {"isa", peak->isa},
                    {"threads", std::int64_t{figures.threads}},
                    {"gflops", figures.gflops},
                    {"i8_gflops", known(figures.i8_gflops)},
                    {"i16_gflops", known(figures.i16_gflops)},
                    {"bf16_gflops", known(figures.bf16_gflops)},
                    {"l1_gb_per_s", known(figures.l1_gb_per_s)},
                    {"l2_gb_per_s", known(figures.l2_gb_per_s)},
                    {"l3_gb_per_s", known(figures.l3_gb_per_s)},
                    {"dram_gb_per_s", known(figures.dram_gb_per_s)}});
  }
  return rows;
}

/// The numbers that the cost model uses.
Row gpu_row(const std::string& device, const choice::GpuMachine& gpu) {
  constexpr double giga = 1e9, tera = 1e12;
  const auto tflops = [&](double fma) { return flops_per_second(gpu, fma) / tera; };
  return {{"device", device},
          {"product", gpu.product},
          {"compute_capability",
           fmt::format("{}.{}", gpu.compute_capability / 10, gpu.compute_capability % 10)},
          {"multiprocessors", std::int64_t{gpu.multiprocessors}},
          {"clock_ghz", gpu.clock_hz / giga},
          {"f32_tflops", tflops(gpu.f32_fma)},
          {"tf32_tflops", tflops(gpu.tf32_mma_fma)},
          {"f16_tflops", tflops(gpu.f16_mma_fma)},
          {"i8_tops", tflops(gpu.i8_mma_fma)},
          {"memory_gb", static_cast<double>(gpu.memory_bytes) / giga},
          {"memory_gb_per_s", gpu.memory_bytes_per_second / giga},
          {"l2_mb", static_cast<double>(gpu.l2_bytes) / 1e6},
          {"l2_gb_per_s", gpu.l2_bytes_per_second / giga},
          {"shared_kb", static_cast<double>(gpu.shared_bytes_per_multiprocessor) / 1e3},
          {"launch_us", gpu.launch_seconds * 1e6},
          {"latency_ns", gpu.memory_latency_seconds * 1e9}};
}

std::vector<Row> real_gpu_rows(std::string& why_none) {
  std::vector<Row> rows;
  for (const choice::GpuMachine& gpu : ptx::cuda_devices(&why_none))
    rows.push_back(gpu_row(fmt::format("cuda {}", rows.size()), gpu));
  return rows;
}

std::vector<Row> described_gpu_rows() {
  std::vector<Row> rows;
  for (const choice::GpuMachine& gpu : ptx::described_gpus())
    rows.push_back(gpu_row(gpu.name, gpu));
  return rows;
}

}  // namespace

void show_devices(const Arguments& arguments) {
  std::string problem, why_no_gpu;
  std::vector<Row> rows = figure_rows(machine_peak(arguments, problem));
  if (!problem.empty()) fmt::print(stderr, "dynrun: note: {}\n", problem);
  const std::vector<Row> real = real_gpu_rows(why_no_gpu), described = described_gpu_rows();
  if (arguments.format != Format::md) {
    append_rows(rows, real);
    append_rows(rows, described);
    fmt::print("{}", to_text(rows, arguments.format));
    return;
  }
  fmt::print("cpu          {}\n", cpu::cpu_name());
  fmt::print("threads      {} may be used by this process\n", runtime::default_threads());
  fmt::print("isa          {} (the first is the default)\n", isa_names());
  fmt::print("caches       {}\n", cache_sizes());
  fmt::print("reference    plain loops, for comparison\n");
  if (!rows.empty()) fmt::print("\n{}", to_text(rows, Format::md));
  if (real.empty())
    fmt::print("\nNo GPU for --device cuda: {}\n", why_no_gpu);
  else
    fmt::print(
        "\nGPUs for --device cuda, by --gpu INDEX (the driver's figures, and the nearest "
        "description's):\n\n{}",
        to_text(real, Format::md));
  fmt::print(
      "\nDescribed GPUs, by --gpu NAME, for --device emulator, inspect and explain (figures "
      "of their makers, or assumed; none is measured):\n\n{}",
      to_text(described, Format::md));
}

}  // namespace dyn::cli
