// dyn-peak: what this machine can do at most, as JSON. No part of libdyn: a limit must not come from what it judges.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "src/peak/kernels.hpp"
#include "src/peak/measure.hpp"
#include "src/peak/team.hpp"

namespace {

constexpr const char* usage =
    "dyn-peak [--threads N]\n"
    "Measures f32 multiply-adds and read bandwidth of each level of memory with 1, 2, 4, ... N threads, and prints JSON.\n"
    "Takes 5 to 20 seconds; N defaults to the CPUs that this process may use.\n";

/// 1, 2, 4, ... and the last one.
std::vector<int> thread_counts(int most) {
  std::vector<int> counts;
  for (int count = 1; count < most; count *= 2) counts.push_back(count);
  counts.push_back(most);
  return counts;
}

void print_figures(const dyn::peak::Kernels& kernels, int threads, bool last) {
  std::printf("  {\"threads\": %d, \"gflops\": %.2f", threads, dyn::peak::measure_gflops(kernels, threads));
  for (const dyn::peak::Level& level : dyn::peak::memory_levels(threads)) {
    const double rate = dyn::peak::measure_gb_per_s(kernels, level, threads);
    std::printf(", \"%s_gb_per_s\": %.2f", level.name.c_str(), rate);
  }
  std::printf("}%s\n", last ? "" : ",");
}

}  // namespace

int main(int argc, char** argv) {
  int most = dyn::peak::usable_cpus();
  if (argc == 3 && std::strcmp(argv[1], "--threads") == 0) most = std::atoi(argv[2]);
  else if (argc != 1) most = 0;
  if (most < 1 || most > 4096) {
    std::fputs(usage, stderr);
    return 2;
  }
  const dyn::peak::Kernels kernels = dyn::peak::best_kernels();
  std::printf("{\"isa\": \"%s\", \"cache_bytes\": [%zu, %zu, %zu], \"figures\": [\n", kernels.isa.c_str(), dyn::peak::cache_bytes(1),
              dyn::peak::cache_bytes(2), dyn::peak::cache_bytes(3));
  const std::vector<int> counts = thread_counts(most);
  for (const int count : counts) print_figures(kernels, count, count == counts.back());
  std::printf("]}\n");
  return std::fflush(stdout) == 0 ? 0 : 1;
}
