#include "src/cli/report/peak.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dyn/error.hpp"
#include "src/base/cache_directory.hpp"
#include "src/cli/report/child.hpp"
#include "src/cli/report/progress.hpp"
#include "src/runtime/system/cache_dir.hpp"
#include "src/runtime/system/thread_count.hpp"
#include "targets/cpu/x86/cpu_info.hpp"
#include "targets/llvm/jit/isa.hpp"
#include "targets/llvm/jit/object_cache.hpp"

namespace dyn::cli {
namespace {

constexpr std::array rates{&PeakFigures::gflops,      &PeakFigures::i8_gflops,
                           &PeakFigures::i16_gflops,  &PeakFigures::bf16_gflops,
                           &PeakFigures::l1_gb_per_s, &PeakFigures::l2_gb_per_s,
                           &PeakFigures::l3_gb_per_s, &PeakFigures::dram_gb_per_s};

/// The instruction set, where the user asks for another than the best; else none.
std::string lesser_isa(const Arguments& arguments) {
  const std::string& isa = arguments.options.isa;
  return isa.empty() || codegen::select_isa("").name == isa ? std::string() : isa;
}

std::string cache_name(const Arguments& arguments) {
  const std::string key = fmt::format("narrow|{}|{}|{}{}", cpu::cpu_name(), cpu::cpu_info("flags"),
                                      runtime::default_threads(), lesser_isa(arguments));
  return fmt::format("peak-{:016x}.json", codegen::checksum(key));
}

std::optional<Peak> read_cached(const CacheDirectory& directory, const std::string& name) {
  const std::optional<std::string> text = directory.read(name);
  try {
    return text ? std::optional(parse_peak(*text)) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;  // a broken file is measured again
  }
}

}  // namespace

PeakFigures Peak::at(int threads) const {
  const auto above = std::find_if(figures.begin(), figures.end(),
                                  [&](const PeakFigures& f) { return f.threads >= threads; });
  if (above == figures.end()) return figures.back();
  if (above == figures.begin() || above->threads == threads) return *above;
  const PeakFigures& a = *(above - 1);
  const PeakFigures& b = *above;
  const double weight = static_cast<double>(threads - a.threads) / (b.threads - a.threads);
  PeakFigures between{.threads = threads};
  for (const auto rate : rates) between.*rate = std::lerp(a.*rate, b.*rate, weight);
  return between;
}

double Peak::limit_seconds(const Flops& flops, double bytes, int threads) const {
  const PeakFigures here = at(threads);
  const std::array<double, rkernel::group_count> gflops{here.gflops, here.i8_gflops,
                                                        here.i16_gflops, here.bf16_gflops};
  double seconds = 0;
  for (std::size_t group = 0; group < flops.size(); ++group) {
    if (gflops[group] > 0) seconds += flops[group] / (gflops[group] * 1e9);
  }
  return std::max(seconds, bytes / bytes_per_second(bytes, threads));
}

double Peak::bytes_per_second(double bytes, int threads) const {
  const PeakFigures here = at(threads);
  const auto cores = static_cast<double>(here.threads);
  const std::array<double, 3> capacity = {cache_bytes[0] * cores, cache_bytes[1] * cores,
                                          cache_bytes[2]};
  const std::array<double, 3> rate = {here.l1_gb_per_s, here.l2_gb_per_s, here.l3_gb_per_s};
  for (std::size_t level = 0; level < capacity.size(); ++level) {
    if (bytes <= 2 * capacity[level] && rate[level] > 0) return rate[level] * 1e9;
  }
  return here.dram_gb_per_s * 1e9;
}

namespace {

/// No core computes faster because others compute too: where a few threads were disturbed, each
/// reaches what it does among more.
void mend_rates(std::vector<PeakFigures>& figures) {
  for (double PeakFigures::* const rate : {&PeakFigures::gflops, &PeakFigures::i8_gflops,
                                           &PeakFigures::i16_gflops, &PeakFigures::bf16_gflops}) {
    for (std::size_t i = figures.size() - 1; i-- > 0;) {
      const PeakFigures& more = figures[i + 1];
      figures[i].*rate = std::max(figures[i].*rate, more.*rate * figures[i].threads / more.threads);
    }
  }
}

}  // namespace

Peak parse_peak(const std::string& json) {
  try {
    const nlohmann::json document = nlohmann::json::parse(json);
    Peak peak;
    peak.isa = document.at("isa").get<std::string>();
    peak.cache_bytes = document.value("cache_bytes", peak.cache_bytes);
    for (const nlohmann::json& entry : document.at("figures")) {
      peak.figures.push_back({.threads = entry.at("threads").get<int>(),
                              .gflops = entry.at("gflops").get<double>(),
                              .i8_gflops = entry.value("i8_gflops", 0.0),
                              .i16_gflops = entry.value("i16_gflops", 0.0),
                              .bf16_gflops = entry.value("bf16_gflops", 0.0),
                              .l1_gb_per_s = entry.value("l1_gb_per_s", 0.0),
                              .l2_gb_per_s = entry.value("l2_gb_per_s", 0.0),
                              .l3_gb_per_s = entry.value("l3_gb_per_s", 0.0),
                              .dram_gb_per_s = entry.at("dram_gb_per_s").get<double>()});
    }
    const auto bad = [](const PeakFigures& f) {
      return f.threads < 1 || !(f.gflops > 0) || !(f.dram_gb_per_s > 0);
    };
    if (peak.figures.empty() || std::any_of(peak.figures.begin(), peak.figures.end(), bad)) {
      throw Error(ErrorKind::device, "dyn-peak gave no usable figures");
    }
    mend_rates(peak.figures);
    return peak;
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorKind::device, fmt::format("dyn-peak gave no valid figures: {}", error.what()));
  }
}

std::optional<Peak> machine_peak(const Arguments& arguments, std::string& problem) {
  const CacheDirectory directory(runtime::resolve_cache_dir(arguments.options.cache_dir));
  const std::string name = cache_name(arguments);
  if (std::optional<Peak> cached = read_cached(directory, name)) return cached;
  const std::string program =
      (std::filesystem::path(arguments.program).parent_path() / "dyn-peak").string();
  if (access(program.c_str(), X_OK) != 0) {
    problem =
        fmt::format("limits are unknown: the program dyn-peak is not beside dynrun ({})", program);
    return std::nullopt;
  }
  try {
    show_progress("measuring this machine, once");
    std::vector<std::string> words{program, "--threads",
                                   fmt::format("{}", runtime::default_threads())};
    if (const std::string isa = lesser_isa(arguments); !isa.empty())
      words.insert(words.end(), {"--isa", isa});
    const std::string text = output_of(words);
    show_progress("");
    Peak peak = parse_peak(text);
    directory.write(name, text);  // a failure is ignored
    return peak;
  } catch (const Error& error) {
    problem = fmt::format("limits are unknown: {}", error.what());
    return std::nullopt;
  }
}

}  // namespace dyn::cli
