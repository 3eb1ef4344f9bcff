// dynrun devices: this machine, and what was measured of it.

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>

#include <fmt/format.h>

#include "src/cli/arguments.hpp"
#include "src/cli/peak.hpp"
#include "src/runtime/thread_count.hpp"
#include "targets/cpu/isa.hpp"

namespace dyn::cli {
namespace {

std::string first_word(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string word;
  stream >> word;
  return word;
}

/// "L1d 48K, L2 1024K, L3 32768K" of the first CPU.
std::string cache_sizes() {
  const std::filesystem::path folder = "/sys/devices/system/cpu/cpu0/cache";
  std::string text;
  for (int index = 0; std::filesystem::exists(folder / fmt::format("index{}", index)); ++index) {
    const std::filesystem::path entry = folder / fmt::format("index{}", index);
    const std::string type = first_word(entry / "type");
    if (type == "Instruction") continue;
    text += fmt::format("{}L{}{} {}", text.empty() ? "" : ", ", first_word(entry / "level"), type == "Data" ? "d" : "",
                        first_word(entry / "size"));
  }
  return text.empty() ? "unknown" : text;
}

std::string isa_names() {
  std::string text;
  for (const cpu::Isa& isa : cpu::all_isas()) {
    if (cpu::cpu_has(isa)) text += (text.empty() ? "" : ", ") + isa.name;
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
                    {"l1_gb_per_s", known(figures.l1_gb_per_s)},
                    {"l2_gb_per_s", known(figures.l2_gb_per_s)},
                    {"l3_gb_per_s", known(figures.l3_gb_per_s)},
                    {"dram_gb_per_s", known(figures.dram_gb_per_s)}});
  }
  return rows;
}

}  // namespace

void show_devices(const Arguments& arguments) {
  std::string problem;
  const std::vector<Row> rows = figure_rows(machine_peak(arguments, problem));
  if (!problem.empty()) fmt::print(stderr, "dynrun: note: {}\n", problem);
  if (arguments.format == Format::md) {
    fmt::print("cpu          {}\n", cpu_model());
    fmt::print("threads      {} may be used by this process\n", runtime::default_threads());
    fmt::print("isa          {} (the first is the default)\n", isa_names());
    fmt::print("caches       {}\n", cache_sizes());
    fmt::print("reference    plain loops, for comparison\n\n");
  }
  fmt::print("{}", to_text(rows, arguments.format));
}

}  // namespace dyn::cli
