// Compares two runs of a model by the outputs that dynrun saved.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "src/cli/input/npy.hpp"
#include "targets/reference/reference.hpp"
#include "tests/gpu/check.hpp"

namespace dyn::gpu_check {
namespace {

/// The largest difference over the largest expected value; infinite where shapes or NaN differ.
double difference(const Tensor& expected, const Tensor& actual) {
  if (expected.shape() != actual.shape() || expected.dtype() != actual.dtype()) return INFINITY;
  const reference::Array a = reference::from_tensor(expected), b = reference::from_tensor(actual);
  if (a.integers != b.integers) return INFINITY;
  double largest = 0, worst = 0;
  for (std::size_t i = 0; i < a.floats.size(); ++i) {
    if (std::isnan(a.floats[i]) || std::isnan(b.floats[i])) return INFINITY;
    largest = std::max(largest, std::fabs(double{a.floats[i]}));
    worst = std::max(worst, std::fabs(double{a.floats[i]} - double{b.floats[i]}));
  }
  return worst == 0 ? 0 : worst / largest;
}

}  // namespace

int compare_outputs(const std::string& expected, const std::string& actual, double tolerance) {
  int files = 0, failures = 0;
  for (const auto& entry : std::filesystem::directory_iterator(expected)) {
    if (entry.path().extension() != ".npy") continue;
    ++files;
    const std::string name = entry.path().filename().string();
    const double found = difference(cli::read_npy(entry.path().string()),
                                    cli::read_npy((std::filesystem::path(actual) / name).string()));
    const bool well = found <= tolerance;
    failures += well ? 0 : 1;
    std::printf("%s %s: %.2e of the largest value, %.2e allowed\n", well ? "ok    " : "FAILED",
                name.c_str(), found, tolerance);
  }
  if (files == 0) std::printf("FAILED: no .npy files in %s\n", expected.c_str());
  return files == 0 ? 1 : failures;
}

}  // namespace dyn::gpu_check
