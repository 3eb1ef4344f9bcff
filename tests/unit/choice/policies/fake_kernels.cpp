#include "tests/unit/choice/policies/fake_kernels.hpp"

#include <cmath>

namespace dyn::rkernel::testing {
FakeKernels random_kernels(std::mt19937_64& random, std::int64_t panel) {
  const auto upto = [&](int most) {
    return 1 + static_cast<std::int64_t>(random() % static_cast<unsigned>(most));
  };
  std::uniform_real_distribution<double> factor(0.7, 1.6);
  std::vector<FakeKernel> kernels;
  const std::int64_t count = 1 + upto(39);
  const std::int64_t base = upto(4) * 2;
  while (static_cast<std::int64_t>(kernels.size()) < count) {
    FakeKernel kernel;
    kernel.block = {base * upto(8), panel * upto(6), upto(3) * 8};
    const double area = static_cast<double>(kernel.block.m * kernel.block.n);
    kernel.fixed = 5 * factor(random);
    kernel.step = (area / 100 + std::sqrt(area) / 10) * factor(random);
    kernel.crowd = factor(random) + 0.3;
    kernel.ratio = 4 * factor(random) * area / (area + 500);
    kernel.resident = upto(3);
    kernel.lowest = static_cast<std::size_t>(upto(4));
    kernels.push_back(kernel);
  }
  return {static_cast<int>(upto(12)), std::move(kernels)};
}

choice::ProductShape random_shape(std::mt19937_64& random, std::int64_t most) {
  const auto extent = [&] {
    return static_cast<std::int64_t>(std::exp(std::uniform_real_distribution<double>(
        0, std::log(static_cast<double>(most) + 1))(random)));
  };
  choice::ProductShape shape{random() % 3 == 0 ? 1 + static_cast<std::int64_t>(random() % 12) : 1,
                             extent(), extent(), extent()};
  if (random() % 20 == 0) shape.k = 0;
  if (random() % 20 == 0) shape.m = 1;
  return shape;
}

std::vector<choice::KernelProgram> all_programs(const choice::PaperPolicy& policy,
                                                const choice::ProductShape& shape) {
  std::vector<choice::KernelProgram> programs;
  policy.for_each(shape,
                  [&](const choice::KernelProgram& program) { programs.push_back(program); });
  return programs;
}

}  // namespace dyn::rkernel::testing
