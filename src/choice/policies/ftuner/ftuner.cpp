#include <algorithm>
#include <limits>
#include <numeric>

#include "src/choice/policies/shared/blocks.hpp"
#include "src/choice/policies/shared/papers.hpp"

namespace dyn::choice {
namespace {

constexpr double threshold = 1;  ///< psi of equation 6
constexpr std::size_t top = 10;  ///< programs that are measured where measuring is possible
constexpr double none = -std::numeric_limits<double>::infinity();

/// Counts c of blocks of `first` elements after which blocks of `second` fit the rest of an extent:
/// c * first = extent (mod second).
struct Congruence {
  std::int64_t divisor = 1;  ///< greatest common one of first and second: must divide the extent
  std::int64_t period = 1;   ///< counts repeat
  std::int64_t inverse = 0;  ///< of first / divisor, modulo the period
};

Congruence congruence_of(std::int64_t first, std::int64_t second) {
  Congruence congruence;
  congruence.divisor = std::gcd(first, second);
  congruence.period = second / congruence.divisor;
  while (congruence.inverse * (first / congruence.divisor) % congruence.period !=
         1 % congruence.period)
    ++congruence.inverse;
  return congruence;
}

/// Kernels of one extent along an axis.
struct Family {
  std::int64_t extent = 1;
  std::vector<std::size_t> kernels;
  std::vector<Congruence> rests;  ///< with each family as the second
};

struct Axis {
  rkernel::Pattern cut = rkernel::Pattern::II;  ///< two strips
  std::int64_t border = 1;                      ///< cuts are multiples of it
  std::vector<Family> families;

  bool of_rows() const { return cut == rkernel::Pattern::II; }
  std::int64_t& extent(ProductShape& shape) const { return of_rows() ? shape.m : shape.n; }
};

/// Algorithm 2: the least count of the first kernel after which the second one fits the rest a
/// whole number of times; 0: there is none.
std::int64_t first_count(std::int64_t extent, std::int64_t first, const Congruence& rest,
                         std::int64_t border) {
  if (extent % rest.divisor != 0) return 0;
  std::int64_t count = extent / rest.divisor % rest.period * rest.inverse % rest.period;
  if (count == 0) count = rest.period;
  for (std::int64_t tries = 0; tries < border && count * first < extent;
       ++tries, count += rest.period) {
    if (count * first % border == 0) return count;
  }
  return 0;
}

/// FTuner, equations 1 to 3 and 7 and Algorithm 2: the program with the most SIA score = c0 * CMR +
/// c1 * Pad + c2 * Occ, c0 = c1 = c2 = 1, of two micro-kernels the mean of both scores; choose()
/// takes the first of the ranking (Top1), for_each() visits its first ten (Top10), best first.
///   Programs (Algorithm 2): along the main axis, the longer one of M and N, one kernel whose
///   extent divides it, or two kernels with
///     H = c1 * K1 + c2 * K2: c1 is the least that leaves a multiple of K2. Where kernels cannot
///     cover the main axis so, the other axis is taken; where they cannot cover that one either,
///     every kernel alone, padded.
///   Pad = base / (pad + base), and Occ = (wkl / K) / ceil_by(wkl / K, units); the workload of a
///   kernel is its own region. CMR is compute_eff, the left side of equation 6: seconds of
///   multiply-adds at the machine's speed over seconds of memory (K_mem, equation 7).
///     The paper compares it with a threshold psi and calls what is above it compute-intensive; as
///     it is, it has no bound, and would drown the other two terms, which end at 1. Read here as r
///     / (r + psi) with psi = 1: the same order of kernels, 1/2 where computing takes as long as
///     memory, at most 1.
/// The mean is separable, so of kernels with the same extent along the axis only the best one for
/// each region is considered in programs of two (where only some may be together in a program, the
/// best first one that has a second, and the best of those), and of programs with the same first
/// extent the best; none whose bound, with nothing padded or idle, is below what is found already.
class FTuner final : public PaperPolicy {
 public:
  FTuner(const MicroKernels& kernels, const PartitionRules& rules)
      : kernels_(kernels), regions_(rules.regions) {
    for (std::size_t kernel = 0; kernel < kernels.size(); ++kernel)
      blocks_.push_back(kernels[kernel]);
    rows_ = axis_of(rkernel::Pattern::II, 1);
    columns_ = axis_of(rkernel::Pattern::III, rules.panel);
  }

  void for_each(const ProductShape& shape,
                const std::function<void(const KernelProgram&)>& visit) const override {
    std::vector<KernelCover> all;
    search(shape, [&](const KernelCover& cover) { all.push_back(cover); });
    std::ranges::stable_sort(all, std::greater{}, &KernelCover::merit);
    if (all.size() > top) all.resize(top);
    for (const KernelCover& cover : all) visit(program_of(shape, cover, false));
  }

  KernelProgram choose(const ProductShape& shape) const override {
    BestCover best;
    search(shape, best);
    return best.program(shape, false);
  }

 private:
  struct Scored {
    std::size_t kernel = 0;
    double score = 0;
  };

  Axis axis_of(rkernel::Pattern cut, std::int64_t border) const {
    Axis axis{cut, border, {}};
    for (std::size_t kernel = 0; kernel < blocks_.size(); ++kernel) {
      const std::int64_t extent = axis.of_rows() ? blocks_[kernel].m : blocks_[kernel].n;
      auto found = std::ranges::find(axis.families, extent, &Family::extent);
      if (found == axis.families.end()) found = axis.families.insert(found, {extent, {}, {}});
      found->kernels.push_back(kernel);
    }
    for (Family& first : axis.families) {
      for (const Family& second : axis.families)
        first.rests.push_back(congruence_of(first.extent, second.extent));
    }
    return axis;
  }

  // CMR of each kernel, bounded.
  std::vector<double> ratios(std::int64_t k) const {
    std::vector<double> ratios;
    ratios.reserve(blocks_.size());
    for (std::size_t kernel = 0; kernel < blocks_.size(); ++kernel) {
      const double ratio = kernels_.compute_to_memory(kernel, k);
      ratios.push_back(ratio / (ratio + threshold));
    }
    return ratios;
  }

  double score(std::size_t kernel, const ProductShape& region,
               const std::vector<double>& ratios) const {
    return ratios[kernel] + useful_share(region, blocks_[kernel]) +
           occupied_share(blocks_of(region, blocks_[kernel]), kernels_.units());
  }

  /// The best of the kernels that `usable` admits; where there is none, one with no score.
  template <class Usable>
  Scored best_of(const Family& family, const ProductShape& region,
                 const std::vector<double>& ratios, const Usable& usable) const {
    Scored best{family.kernels.front(), none};
    for (const std::size_t kernel : family.kernels) {
      const double own = usable(kernel) ? score(kernel, region, ratios) : none;
      if (own > best.score) best = {kernel, own};
    }
    return best;
  }

  bool any_together(std::size_t kernel, const Family& family) const {
    return std::ranges::any_of(family.kernels,
                               [&](std::size_t other) { return kernels_.together(kernel, other); });
  }

  static double most_ratio(const Family& family, const std::vector<double>& ratios) {
    double most = 0;
    for (const std::size_t kernel : family.kernels) most = std::max(most, ratios[kernel]);
    return most;
  }

  template <class Visit>
  void search(const ProductShape& shape, Visit&& visit) const {
    if (!has_outputs(shape)) return;
    const std::vector<double> cmr = ratios(shape.k);
    const Axis &main = shape.m >= shape.n ? rows_ : columns_,
               &other = shape.m >= shape.n ? columns_ : rows_;
    if (cover_exactly(main, shape, cmr, visit) || cover_exactly(other, shape, cmr, visit)) return;
    for (std::size_t kernel = 0; kernel < blocks_.size(); ++kernel)
      visit(KernelCover{.kernels = {kernel}, .merit = score(kernel, shape, cmr)});
  }

  // Programs that pad nothing along an axis; whether there are any.
  template <class Visit>
  bool cover_exactly(const Axis& axis, const ProductShape& shape, const std::vector<double>& cmr,
                     Visit&& visit) const {
    const std::int64_t extent = axis.of_rows() ? shape.m : shape.n;
    double best = 0;
    for (const Family& family : axis.families) {
      if (extent % family.extent != 0) continue;
      for (const std::size_t kernel : family.kernels) {
        const double own = score(kernel, shape, cmr);
        best = std::max(best, own);
        visit(KernelCover{.kernels = {kernel}, .merit = own});
      }
    }
    for (const Family& first : axis.families) {
      if (extent % first.extent == 0 || regions_ == Regions::Whole) continue;
      const KernelCover cover = best_pair(axis, first, shape, cmr, best);
      if (cover.merit <= best) continue;
      best = cover.merit;
      visit(cover);
    }
    return best > 0;
  }

  // The best program that begins with a kernel of `first`, if its merit is above `least`.
  KernelCover best_pair(const Axis& axis, const Family& first, const ProductShape& shape,
                        const std::vector<double>& cmr, double least) const {
    constexpr double most_of_rest = 2;  // Pad and Occ
    KernelCover best{.merit = least};
    const double ratio = most_ratio(first, cmr);
    for (std::size_t i = 0; i < axis.families.size(); ++i) {
      const Family& second = axis.families[i];
      if (&first == &second || (ratio + most_ratio(second, cmr)) / 2 + most_of_rest <= best.merit)
        continue;
      ProductShape before = shape, after = shape;
      const std::int64_t cut =
          first_count(axis.extent(after), first.extent, first.rests[i], axis.border) * first.extent;
      if (cut == 0) continue;
      axis.extent(before) = cut;
      axis.extent(after) -= cut;
      const Scored one = best_of(first, before, cmr,
                                 [&](std::size_t kernel) { return any_together(kernel, second); });
      const Scored two = best_of(second, after, cmr, [&](std::size_t kernel) {
        return kernels_.together(one.kernel, kernel);
      });
      const double mean = (one.score + two.score) / 2;
      if (mean <= best.merit) continue;
      best = {axis.cut,
              axis.of_rows() ? rkernel::Cuts{.m = cut} : rkernel::Cuts{.n = cut},
              {one.kernel, two.kernel},
              mean};
    }
    return best;
  }

  const MicroKernels& kernels_;
  Regions regions_;
  std::vector<MicroKernel> blocks_;
  Axis rows_, columns_;
};

}  // namespace

std::unique_ptr<const PaperPolicy> make_ftuner(const MicroKernels& kernels,
                                               const PartitionRules& rules) {
  return std::make_unique<FTuner>(kernels, rules);
}

}  // namespace dyn::choice
