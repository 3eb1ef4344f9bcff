#include "src/rkernel/policies/paper_policy.hpp"
namespace dyn::rkernel {
KernelProgram PaperPolicy::choose(const ProductShape& shape) const {
  KernelProgram best;
  for_each(shape, [&](const KernelProgram& p) { if (best.regions.empty() || p.merit > best.merit) best = p; });
  return best;
}
struct TS final : PaperPolicy {
  const MicroKernels& kernels;
  explicit TS(const MicroKernels& k) : kernels(k) {}
  void for_each(const ProductShape& shape, const std::function<void(const KernelProgram&)>& visit) const override {
    if (shape.batch <= 0 || shape.m <= 0 || shape.n <= 0) return;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      const MicroKernel k = kernels[i];
      const std::int64_t blocks = shape.batch * ((shape.m + k.m - 1) / k.m) * ((shape.n + k.n - 1) / k.n), wave = kernels.blocks_per_wave(i);
      const double s = kernels.wave_seconds(i, shape.k) * double((blocks + wave - 1) / wave);
      visit({{{0, shape.m, 0, shape.n, i}}, -s, s});
    }
  }
};
std::unique_ptr<const PaperPolicy> make_paper_policy(Policy, const MicroKernels& kernels, std::int64_t) { return std::make_unique<TS>(kernels); }
}
