// Writes what the GPU gives for the recorded kernels, for tests of the emulator.

#include <fmt/format.h>

#include <cstdio>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "targets/ptx/cuda/driver.hpp"
#include "tests/gpu/check.hpp"
#include "tests/support/device/recorded.hpp"

namespace dyn::gpu_check {
namespace {

constexpr std::size_t words_in_line = 12;

// Lines of words in hexadecimal.
nlohmann::json lines_of(const test::Words& words) {
  nlohmann::json lines = nlohmann::json::array();
  std::string line;
  for (std::size_t i = 0; i < words.size(); ++i) {
    line += fmt::format("{:08x}", words[i]);
    if (i % words_in_line != words_in_line - 1 && i + 1 != words.size()) continue;
    lines.push_back(line);
    line.clear();
  }
  return lines;
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  char text[16];
  std::strftime(text, sizeof text, "%F", std::gmtime(&now));
  return text;
}

}  // namespace

int record(const Settings& settings) {
  const auto device = open(settings);
  nlohmann::json file;
  file["gpu"] = device->name();
  file["date"] = today();
  if (settings.device == "cuda")
    file["driver"] = "CUDA " + ptx::cuda::version_text(ptx::cuda::system_driver()->version());
  for (const test::RecordedKernel& kernel : test::recorded_kernels())
    file["kernels"][kernel.name] = lines_of(run(*device, kernel));
  for (const graph::ScalarOpInfo& function : test::recorded_functions())
    file["functions"][std::string(function.text)] =
        test::hash_of(test::results_of(function, settings.device));
  const test::RecordedKernel approximations = test::approximation_kernel();
  const test::Words approximated = run(*device, approximations);
  const test::ApproximationErrors errors = test::errors_of(approximations, approximated);
  file["approximations"] = lines_of(approximated);
  file["ulps"] = {{"ex2", errors.exp2}, {"rcp", errors.reciprocal}};
  for (const codegen::ApproximateFunction& function : ptx::approximate_functions)
    file["ulps"][std::string(graph::info_of(function.op).text)] =
        test::largest_error(function, settings.device);
  std::ofstream out(settings.output);
  out << file.dump(1) << "\n";
  if (!out.flush()) throw std::runtime_error("--output: cannot write " + settings.output);
  std::printf("%zu kernels and %zu functions of %s in %s\n", file["kernels"].size(),
              file["functions"].size(), device->name().c_str(), settings.output.c_str());
  return 0;
}

}  // namespace dyn::gpu_check
