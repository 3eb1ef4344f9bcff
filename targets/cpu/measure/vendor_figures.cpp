#include "targets/cpu/measure/vendor_figures.hpp"

#include <algorithm>
#include <atomic>
#include <limits>

#include "targets/cpu/measure/buffer.hpp"
#include "targets/cpu/vendor/plan.hpp"

namespace dyn::cpu {
namespace {

constexpr int vendor_rounds = 5;
constexpr VendorSizes small{1, 64, 256, 256}, large{1, 512, 512, 1024};
constexpr double least_seconds_per_execution =
    0.4e-6;  // arguments, checks and loops over blocks of a product of 1 x 4 x 4

double flops_of(const VendorSizes& sizes) {
  return 2.0 * static_cast<double>(sizes.m) * static_cast<double>(sizes.n) *
         static_cast<double>(sizes.k);
}

/// Ones: any numbers whose products are normal.
class Ones {
 public:
  explicit Ones(std::int64_t count) : buffer_(static_cast<std::size_t>(count) * sizeof(float)) {
    std::fill_n(data(), count, 1.0f);
  }
  float* data() { return reinterpret_cast<float*>(buffer_.data()); }

 private:
  MeasureBuffer buffer_;
};

/// Least seconds of one product on one thread, as a launch runs it.
double product_seconds(const std::shared_ptr<const vendor::OneDnn>& library,
                       const codegen::Isa& isa, const VendorSizes& sizes, bool packed) {
  VendorProblem problem{.m = sizes.m,
                        .n = sizes.n,
                        .k = sizes.k,
                        .batch = {},
                        .a = {0, 0, sizes.k, 1},
                        .b = {1, 0, sizes.n, 1},
                        .c = {2, 0, sizes.n, 1},
                        .weights = nullptr,
                        .panel = isa.panel_f32};
  const rkernel::PackedLayout layout{DType::f32, isa.panel_f32, sizes.k, sizes.n};
  if (packed) problem.weights = std::make_shared<const VendorWeights>(*library, layout);
  const VendorPlan plan(library, problem, 1);
  Ones a(sizes.m * sizes.k), b(layout.bytes() / static_cast<std::int64_t>(sizeof(float))),
      c(sizes.m * sizes.n);
  const MeasureBuffer scratch(plan.scratch_bytes() + 64);
  void* pointers[] = {a.data(), b.data(), c.data()};
  std::atomic<std::int32_t> status{0};
  const rkernel::KernelArgs args{pointers, nullptr, &status, nullptr, &plan};
  double least = std::numeric_limits<double>::infinity();
  for (int round = 0; round < vendor_rounds + 1;
       ++round) {  // the first one copies weights, and fills caches
    const double start = now_seconds();
    VendorPlan::run(&args, 0, plan.tickets(), scratch.data());
    if (round > 0) least = std::min(least, now_seconds() - start);
  }
  if (status != 0) throw vendor::Unsupported(library->version() + " fails at products");
  return least;
}

/// The line through a small and a large product.
VendorRate measure_rate(const std::shared_ptr<const vendor::OneDnn>& library,
                        const codegen::Isa& isa, bool packed) {
  const double of_small = product_seconds(library, isa, small, packed),
               of_large = product_seconds(library, isa, large, packed);
  VendorRate rate;
  rate.flops_per_second = flops_of(large) / of_large;
  // Where the small one is faster for each operation than the large one, the line would begin below
  // 0.
  if (of_small > of_large * flops_of(small) / flops_of(large))
    rate.flops_per_second = (flops_of(large) - flops_of(small)) / (of_large - of_small);
  rate.seconds_per_execution =
      std::max(least_seconds_per_execution, of_small - flops_of(small) / rate.flops_per_second);
  return rate;
}

}  // namespace

VendorFigures measure_vendor(const std::shared_ptr<const vendor::OneDnn>& library,
                             const codegen::Isa& isa) {
  return {.fresh = measure_rate(library, isa, false), .packed = measure_rate(library, isa, true)};
}

}  // namespace dyn::cpu
