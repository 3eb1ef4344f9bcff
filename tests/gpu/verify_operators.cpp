// Runs the operators' cases of tests/kernels on a GPU; half of them, by a seed, where DYN_TEST_LANE
// is not all.

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include "dyn/error.hpp"
#include "src/runtime/load/model.hpp"
#include "tests/gpu/check.hpp"
#include "tests/kernels/cases.hpp"
#include "tests/support/seed.hpp"

namespace dyn::gpu_check {
namespace {

using testing::Case;
using testing::Tolerance;

// From f32's eps, the unit of tolerances, to the eps of the dtype that products' operands are
// rounded to.
double eps_ratio(const std::string& precision) {
  if (precision == "bf16") return 1 << 16;
  if (precision == "f16" || precision == "tf32") return 1 << 13;
  return 1;
}

std::size_t size_of_precision(const std::string& precision) {
  return precision == "bf16" || precision == "f16" ? 2 : 4;
}

struct Counts {
  int runs = 0, failures = 0, kernels = 0, device_kernels = 0;
};

// The share of the case that runs on the device, and is not left to the CPU.
void count_kernels(const testing::Subject& subject, Counts& counts) {
  const runtime::Model& model = *subject.graph().model();
  for (std::size_t group = 0; group < model.problems().size(); ++group) {
    ++counts.kernels;
    counts.device_kernels += model.kernel(group).space() == rkernel::Space::Device ? 1 : 0;
  }
}

void report(const Case& item, const testing::Sizes& sizes, const std::string& wrong) {
  std::printf("FAILED %s with", item.statement.c_str());
  for (const auto& [name, size] : sizes)
    std::printf(" %s=%lld", name.c_str(), static_cast<long long>(size));
  std::printf(": %s\n", wrong.c_str());
}

void run_case(const Case& item, const Options& options, testing::Random& random, Counts& counts) {
  const testing::Subject subject(testing::text_of(item), options);
  count_kernels(subject, counts);
  Tolerance tolerance = item.tolerance;
  // Between kernels tensors are rounded to 16 bits.
  const bool rounds = size_of_precision(options.precision) == 2;
  if (rounds && subject.graph().model()->problems().size() > 1)
    tolerance.factor = std::max(tolerance.factor, 1.0);
  tolerance.factor *= eps_ratio(options.precision);
  for (const auto& sizes : item.sizes) {
    ++counts.runs;
    std::string wrong;
    try {
      wrong = subject.check(subject.make_inputs(sizes, item.fills, random), tolerance, sizes);
    } catch (const Error& error) { wrong = error.what(); }
    if (wrong.empty()) continue;
    ++counts.failures;
    report(item, sizes, wrong);
  }
}

}  // namespace

int verify_operators(const Settings& settings) {
  Options options = testing::test_options();
  options.device = settings.device;
  options.gpu = settings.gpu;
  options.precision = settings.precision;
  using Cases = std::pair<const char*, std::vector<Case> (*)()>;
  int failures = 0;
  testing::Sweep sweep(2);
  for (const auto& [name, cases] :
       {Cases{"element-wise", testing::elementwise_cases},
        Cases{"reductions", testing::reduction_cases}, Cases{"matmul", testing::matmul_cases},
        Cases{"attention", testing::attention_cases}, Cases{"movement", testing::movement_cases},
        Cases{"windows", testing::conv_pool_cases}, Cases{"functions", testing::function_cases}}) {
    testing::Random random(name);
    Counts counts;
    for (const Case& item : cases()) {
      if (!sweep.takes()) continue;
      // Special values are far beyond the range of 16-bit operands.
      if (settings.precision != "f32" && !item.fills.empty()) continue;
      run_case(item, options, random, counts);
    }
    std::printf("%s, %s: %d kernels, %d of them on the device, %d runs, %d failures\n", name,
                settings.precision.c_str(), counts.kernels, counts.device_kernels, counts.runs,
                counts.failures);
    std::fflush(stdout);
    failures += counts.failures;
  }
  return failures;
}

}  // namespace dyn::gpu_check
