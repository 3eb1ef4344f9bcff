#include <algorithm>
#include <numeric>

#include "src/rkernel/policies/blocks.hpp"
#include "src/rkernel/policies/papers.hpp"

namespace dyn::rkernel {
namespace {

constexpr double threshold = 1;  ///< psi of equation 6

enum class Along : std::uint8_t { M, N };

std::int64_t extent_along(Along axis, const MicroKernel& block) { return axis == Along::M ? block.m : block.n; }

/// Kernels of one extent along an axis.
struct Family {
  std::int64_t extent;
  std::vector<std::size_t> kernels;
};

/// Algorithm 2: the least count of the first kernel after which the second one fits the rest a whole number of times; 0: there is none.
/// Borders are multiples of `border`.
std::int64_t first_count(std::int64_t extent, std::int64_t first, std::int64_t second, std::int64_t border) {
  // Both conditions repeat after as many counts.
  const std::int64_t period = std::lcm(second / std::gcd(first, second), border / std::gcd(first, border));
  for (std::int64_t count = 1; count <= period && count * first < extent; ++count) {
    if ((extent - count * first) % second == 0 && count * first % border == 0) return count;
  }
  return 0;
}

/// FTuner, equations 1 to 7 and Algorithm 2: the program with the most SIA score = c0 * CMR + c1 * Pad + c2 * Occ, c0 = c1 = c2 = 1, of two
/// micro-kernels the mean of both scores; the first of the ranking (Top1), without measuring.
///   Programs (Algorithm 2): along the main axis, the longer one of M and N, one kernel whose extent divides it, or two kernels with
///     H = c1 * K1 + c2 * K2: c1 is the least that leaves a multiple of K2. Where kernels cannot cover the main axis so, the other axis is
///     taken; where they cannot cover that one either, every kernel alone, padded.
///   Pad = base / (pad + base), and Occ = (wkl / K) / ceil_by(wkl / K, units); the workload of a kernel is its own region.
///   CMR is compute_eff, the left side of equation 6: seconds of multiply-adds at the machine's speed over seconds of memory (K_mem, equation 7).
///     The paper compares it with a threshold psi and calls what is above it compute-intensive; as it is, it has no bound, and would drown
///     the other two terms, which end at 1. Read here as r / (r + psi) with psi = 1: the same order of kernels, 1/2 where computing takes
///     as long as memory, at most 1.
/// The mean is separable, so of kernels with the same extent along the axis only the best one for each region is considered in programs of two.
class FTuner final : public PaperPolicy {
 public:
  FTuner(const MicroKernels& kernels, std::int64_t panel, Partition partition)
      : kernels_(kernels), panel_(panel), partition_(partition), rows_(families(Along::M)), columns_(families(Along::N)) {}

  void for_each(const ProductShape& shape, const std::function<void(const KernelProgram&)>& visit) const override {
    search(shape, [&](const Strips& strips) { visit(program_of(shape, strips, false)); });
  }

  KernelProgram choose(const ProductShape& shape) const override {
    BestStrips best;
    search(shape, best);
    return best.program(shape, false);
  }

 private:
  struct Scored {
    std::size_t kernel = 0;
    double score = 0;
  };

  std::vector<Family> families(Along axis) const {
    std::vector<Family> families;
    for (std::size_t kernel = 0; kernel < kernels_.size(); ++kernel) {
      const std::int64_t extent = extent_along(axis, kernels_[kernel]);
      auto found = std::ranges::find(families, extent, &Family::extent);
      if (found == families.end()) found = families.insert(found, {extent, {}});
      found->kernels.push_back(kernel);
    }
    return families;
  }

  double score(std::size_t kernel, const ProductShape& region) const {
    const double ratio = kernels_.compute_to_memory(kernel, region.k);
    const MicroKernel block = kernels_[kernel];
    return ratio / (ratio + threshold) + useful_share(region, block) + occupied_share(blocks_of(region, block), kernels_.units());
  }

  Scored best_of(const Family& family, const ProductShape& region) const {
    Scored best{family.kernels.front(), score(family.kernels.front(), region)};
    for (const std::size_t kernel : family.kernels) {
      const double own = score(kernel, region);
      if (own > best.score) best = {kernel, own};
    }
    return best;
  }

  template <class Visit>
  void search(const ProductShape& shape, Visit&& visit) const {
    if (!has_outputs(shape)) return;
    const Along main = shape.m >= shape.n ? Along::M : Along::N, other = main == Along::M ? Along::N : Along::M;
    if (cover_exactly(main, shape, visit) || cover_exactly(other, shape, visit)) return;
    for (std::size_t kernel = 0; kernel < kernels_.size(); ++kernel) visit(Strips{.kernels = {kernel}, .merit = score(kernel, shape)});
  }

  // Programs that pad nothing along an axis; whether there are any.
  template <class Visit>
  bool cover_exactly(Along axis, const ProductShape& shape, Visit&& visit) const {
    const std::vector<Family>& families = axis == Along::M ? rows_ : columns_;
    const std::int64_t extent = axis == Along::M ? shape.m : shape.n;
    bool any = false;
    for (const Family& first : families) {
      if (extent % first.extent == 0) {
        any = true;
        for (const std::size_t kernel : first.kernels) visit(Strips{.kernels = {kernel}, .merit = score(kernel, shape)});
        continue;
      }
      for (const Family& second : families) {
        if (partition_ == Partition::Whole || first.extent == second.extent) continue;
        const std::int64_t count = first_count(extent, first.extent, second.extent, axis == Along::M ? 1 : panel_);
        if (count == 0) continue;
        any = true;
        visit(two_strips(axis, shape, first, second, count * first.extent));
      }
    }
    return any;
  }

  Strips two_strips(Along axis, const ProductShape& shape, const Family& first, const Family& second, std::int64_t cut) const {
    ProductShape before = shape, after = shape;
    (axis == Along::M ? before.m : before.n) = cut;
    (axis == Along::M ? after.m : after.n) -= cut;
    const Scored one = best_of(first, before), two = best_of(second, after);
    Strips strips{.kernels = {one.kernel, two.kernel}, .merit = (one.score + two.score) / 2};
    strips.pattern = axis == Along::M ? Pattern::II : Pattern::III;
    (axis == Along::M ? strips.cuts.m : strips.cuts.n) = cut;
    return strips;
  }

  const MicroKernels& kernels_;
  std::int64_t panel_;
  Partition partition_;
  std::vector<Family> rows_, columns_;
};

}  // namespace

std::unique_ptr<const PaperPolicy> make_ftuner(const MicroKernels& kernels, std::int64_t panel, Partition partition) {
  return std::make_unique<FTuner>(kernels, panel, partition);
}

}  // namespace dyn::rkernel
