#include "src/cli/commands/load_times.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dyn/error.hpp"
#include "src/cli/report/child.hpp"
#include "src/cli/report/progress.hpp"
#include "src/cli/report/units.hpp"
#include "src/runtime/system/cache_dir.hpp"

namespace dyn::cli {
namespace {

/// An empty directory that goes with everything in it.
class TemporaryDirectory {
 public:
  TemporaryDirectory()
      : path_((std::filesystem::temp_directory_path() / "dynrun-XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr) {
      throw Error(ErrorKind::device,
                  fmt::format("{}: cannot be made: {}", path_, std::strerror(errno)));
    }
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

void copy_measurements(const std::string& from, const std::string& to) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(from, error)) {
    if (entry.path().extension() == ".json") std::filesystem::copy(entry.path(), to, error);
  }
}

std::vector<std::string> child_words(const Arguments& arguments, const std::string& cache_dir) {
  const Options& options = arguments.options;
  std::vector<std::string> words{arguments.program, "bench",    arguments.model,
                                 "--load-only",     "--format", "json",
                                 "--cache-dir",     cache_dir,  "--device",
                                 options.device,    "--seed",   fmt::format("{}", options.seed)};
  if (options.threads > 0)
    words.insert(words.end(), {"--threads", fmt::format("{}", options.threads)});
  if (!options.isa.empty()) words.insert(words.end(), {"--isa", options.isa});
  if (!options.gpu.empty()) words.insert(words.end(), {"--gpu", options.gpu});
  if (options.precision != Options().precision)
    words.insert(words.end(), {"--precision", options.precision});
  if (!options.weights.empty()) words.insert(words.end(), {"--weights", options.weights});
  if (options.weight_group != Options().weight_group)
    words.insert(words.end(), {"--weight-group", std::to_string(options.weight_group)});
  words.insert(words.end(), {"--weight-cache", fmt::format("{}", options.weight_cache_bytes)});
  if (options.vendor) words.emplace_back("--vendor");
  if (options.random_weights) words.emplace_back("--random-weights");
  for (const std::string& path : options.plugins) words.insert(words.end(), {"--plugin", path});
  for (const std::string& flag : arguments.free_dims) words.insert(words.end(), {"--free", flag});
  return words;
}

Row parse_row(const std::string& json, const std::string& state) {
  const nlohmann::ordered_json rows = nlohmann::ordered_json::parse(json);
  Row row;
  for (const auto& [name, value] : rows.at(0).items()) {
    if (name == "load")
      row.emplace_back(name, state);
    else if (value.is_number_integer())
      row.emplace_back(name, value.get<std::int64_t>());
    else if (value.is_number())
      row.emplace_back(name, value.get<double>());
    else
      row.emplace_back(name, value.get<std::string>());
  }
  return row;
}

}  // namespace

Row load_row(const std::string& model, const std::string& state, const LoadReport& report) {
  return {{"model", model},
          {"load", state},
          {"total_ms", report.total * ms},
          {"parse_ms", report.parse * ms},
          {"compile_ms", report.compile * ms},
          {"measure_ms", report.measure * ms},
          {"weights_ms", report.weights * ms},
          {"random_weights_ms", report.random_weights * ms},
          {"machine_ms", report.machine * ms},
          {"kernels", std::int64_t{report.kernels}},
          {"compiled", std::int64_t{report.kernels_compiled}},
          {"from_disk", std::int64_t{report.kernels_from_disk}},
          {"weights_mb", static_cast<double>(report.weight_bytes) / 1e6},
          {"mapped_mb", static_cast<double>(report.weight_bytes_mapped) / 1e6},
          {"weights_write_ms", report.weights_write * ms}};
}

std::vector<Row> time_loads(const Arguments& arguments) {
  const TemporaryDirectory directory;
  const std::string real = runtime::resolve_cache_dir(arguments.options.cache_dir);
  if (!real.empty()) copy_measurements(real, directory.path());
  std::vector<Row> rows;
  for (const char* state : {"cold", "cached"}) {
    show_progress(fmt::format("timing the load, {}", state));
    rows.push_back(parse_row(output_of(child_words(arguments, directory.path())), state));
  }
  show_progress("");
  return rows;
}

}  // namespace dyn::cli
