// dyn-peak prints the limits of this machine as JSON. It is no part of libdyn: a limit must not
// come from the code that it judges.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "src/peak/kernels.hpp"
#include "src/peak/measure.hpp"
#include "src/peak/team.hpp"

namespace {

constexpr const char* usage =
    "dyn-peak [--threads N] [--isa avx512|avx2|sse2] [--dram BYTES]\n"
    "Measures multiply-adds of f32, and of i8, i16 and bf16 where the CPU has instructions for "
    "them,\n"
    "read bandwidth of each level of memory, and of DRAM the rates of "
    "filling, copying and adding arrays past\n"
    "the caches and of copying through them (bytes read and written together), with 1, 2, 4, ... N "
    "threads, and prints JSON.\n"
    "Takes 5 to 20 seconds; N defaults to the CPUs that this process may use, the instruction set\n"
    "to the best that the CPU has. --dram: nothing but DRAM, with N threads, by arrays of\n"
    "BYTES in all; the highest rates and the medians. Takes about a second.\n";

/// 1, 2, 4, ... and the last one.
std::vector<int> thread_counts(int most) {
  std::vector<int> counts;
  for (int count = 1; count < most; count *= 2) counts.push_back(count);
  counts.push_back(most);
  return counts;
}

void print_figures(dyn::peak::Isa isa, int threads, bool last) {
  const dyn::peak::Kernels kernels = dyn::peak::kernels_of(isa);
  std::printf("  {\"threads\": %d, \"gflops\": %.2f", threads,
              dyn::peak::measure_gflops(kernels, threads));
  for (const dyn::peak::NarrowKernel& narrow : dyn::peak::narrow_kernels_of(isa))
    std::printf(", \"%s_gflops\": %.2f", narrow.name, dyn::peak::measure_gflops(narrow, threads));
  const std::vector<dyn::peak::Level> levels = dyn::peak::memory_levels(threads);
  for (const dyn::peak::Level& level : levels) {
    const double rate = dyn::peak::measure_gb_per_s(kernels, level, threads);
    std::printf(", \"%s_gb_per_s\": %.2f", level.name.c_str(), rate);
  }
  for (const dyn::peak::TrafficKind& kind : dyn::peak::traffic_of(isa)) {
    if (!kind.writes) continue;
    const double rate = dyn::peak::measure_traffic(
                            kind, levels.back().bytes * static_cast<std::size_t>(threads), threads)
                            .best;
    std::printf(", \"dram_%s_gb_per_s\": %.2f", kind.name.c_str(), rate);
  }
  std::printf("}%s\n", last ? "" : ",");
}

void print_traffic(dyn::peak::Isa isa, std::size_t array_bytes, int threads) {
  std::printf("  {\"threads\": %d, \"array_bytes\": %zu", threads, array_bytes);
  for (const dyn::peak::TrafficKind& kind : dyn::peak::traffic_of(isa)) {
    const dyn::peak::TrafficRate rate = dyn::peak::measure_traffic(kind, array_bytes, threads);
    std::printf(", \"dram_%s_gb_per_s\": %.2f, \"dram_%s_median_gb_per_s\": %.2f",
                kind.name.c_str(), rate.best, kind.name.c_str(), rate.median);
  }
  std::printf("}\n");
}

}  // namespace

int main(int argc, char** argv) {
  int most = dyn::peak::usable_cpus();
  long long array_bytes = 0;
  std::optional<dyn::peak::Isa> isa = dyn::peak::best_isa();
  for (int i = 1; i < argc; ++i) {
    const bool value = i + 1 < argc;
    if (value && std::strcmp(argv[i], "--dram") == 0)
      array_bytes = std::atoll(argv[++i]);
    else if (value && std::strcmp(argv[i], "--threads") == 0)
      most = std::atoi(argv[++i]);
    else if (value && std::strcmp(argv[i], "--isa") == 0)
      isa = dyn::peak::find_isa(argv[++i]);
    else
      most = 0;
  }
  if (!isa || most < 1 || most > 4096 || array_bytes < 0) {
    std::fputs(usage, stderr);
    return 2;
  }
  std::printf("{\"isa\": \"%s\", \"cache_bytes\": [%zu, %zu, %zu], \"figures\": [\n",
              dyn::peak::name_of(*isa), dyn::peak::cache_bytes(1), dyn::peak::cache_bytes(2),
              dyn::peak::cache_bytes(3));
  const std::vector<int> counts = array_bytes > 0 ? std::vector<int>() : thread_counts(most);
  for (const int count : counts) print_figures(*isa, count, count == counts.back());
  if (array_bytes > 0) print_traffic(*isa, static_cast<std::size_t>(array_bytes), most);
  std::printf("]}\n");
  return std::fflush(stdout) == 0 ? 0 : 1;
}
