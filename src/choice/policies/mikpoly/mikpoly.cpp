#include "src/choice/policies/mikpoly/mikpoly.hpp"

#include <algorithm>
#include <initializer_list>
#include <limits>

#include "src/choice/policies/shared/blocks.hpp"

namespace dyn::choice {
namespace {

constexpr int most_cuts = 4;  ///< of pattern II and one first kernel: earlier ones leave the second
                              ///< whole waves that the first fills as well
constexpr int most_cuts_of_others = 2;
constexpr double rounding = 1 - 1e-9;  ///< bounds and costs add up in different orders
constexpr double least_gain = 1.01;    ///< of nine patterns, for which a cover is worth its search
constexpr double infinite = std::numeric_limits<double>::infinity();

using rkernel::Pattern;

struct Rated {
  std::size_t kernel;
  MicroKernel block;
  double pipe;  ///< f_pipe
  double rate;  ///< cost of one output at least: in whole waves without padding
};

/// A region's best kernel, and what it costs.
struct Filled {
  std::size_t kernel = 0;
  double cost = infinite;
};

/// Axes of cuts: rows (patterns II, IX and their like) or columns.
enum class Along : std::uint8_t { M, N };

/// The search for one shape.
///
/// Where a pattern cuts, the text shows on one example (section 6): the first kernel gets the rows
/// that fill whole waves of it, the second kernel the rest. So cuts lie at multiples of the first
/// kernel's block, after its last whole wave, and after some before that; where a pattern cuts the
/// first kernel's region along both axes, after its last whole block of columns. The first kernel's
/// region is the one at the output's origin. The rest of a strip is cut likewise by each kernel in
/// turn (patterns IV, VI, IX); a region that is not cut gets the kernel that costs least there.
///
/// Bounds (Algorithm 1 leaves out what costs more than the best so far): no kernel computes a
/// region for less than its outputs take in whole waves without padding. Kernels stand in the order
/// of that rate, so that the first which cannot win ends a loop. Bounds leave out nothing that is
/// cheaper.
template <class Visit>
class PolymerSearch {
 public:
  PolymerSearch(const MicroKernels& kernels, const MikPolyOptions& options, bool counts_waves,
                const ProductShape& shape, std::vector<Rated> in_order, Visit& visit)
      : kernels_(kernels),
        options_(options),
        counts_waves_(counts_waves),
        margin_(options.patterns == MikPolyPatterns::Nine ? least_gain : rounding),
        shape_(shape),
        by_rate_(std::move(in_order)),
        visit_(visit) {}

  void run() {
    for (const Rated& one : by_rate_)
      take({.kernels = {one.kernel}, .merit = -cost(one, shape_.m, shape_.n)});
    if (options_.patterns == MikPolyPatterns::Whole) return;
    std::ranges::stable_sort(by_rate_, {}, &Rated::rate);
    least_pipe_ = std::ranges::min_element(by_rate_, {}, &Rated::pipe)->pipe;
    for (const Rated& first : by_rate_) {
      strips(first, Along::M);
      if (options_.patterns != MikPolyPatterns::Nine) continue;
      strips(first, Along::N);
      corners(first);
    }
  }

 private:
  double cost(const Rated& rated, std::int64_t m, std::int64_t n) const {
    if (!counts_waves_) return rated.pipe;
    const std::int64_t blocks =
        shape_.batch * ceil_div(m, rated.block.m) * ceil_div(n, rated.block.n);
    return static_cast<double>(ceil_div(blocks, kernels_.units())) * rated.pipe;
  }

  /// No kernel does a region for less.
  double bound(std::int64_t m, std::int64_t n) const {
    return std::max(static_cast<double>(shape_.batch) * static_cast<double>(m) *
                        static_cast<double>(n) * by_rate_.front().rate,
                    least_pipe_);
  }

  void take(const KernelCover& cover) {
    best_ = std::min(best_, -cover.merit);
    visit_(cover);
  }

  bool fits(const Rated& first, const Rated& other) const {
    return first.kernel == other.kernel ? options_.patterns == MikPolyPatterns::Nine
                                        : kernels_.together(first.kernel, other.kernel);
  }

  /// The kernel of least cost for a region, if that is below `enough`.
  Filled best_of(const Rated& first, std::int64_t m, std::int64_t n, double enough) const {
    const double outputs =
        static_cast<double>(shape_.batch) * static_cast<double>(m) * static_cast<double>(n);
    Filled best{0, enough};
    for (const Rated& rated : by_rate_) {
      if (outputs * rated.rate * rounding >= best.cost) break;
      if (!fits(first, rated)) continue;
      if (const double own = cost(rated, m, n); own < best.cost) best = {rated.kernel, own};
    }
    return best.cost < enough ? best : Filled{};
  }

  /// Calls `visit` with the places after whole blocks of `first` along an axis of an m x n region,
  /// the last ones of as many waves as fit, descending.
  template <class VisitCut>
  void cuts(const Rated& first, Along along, std::int64_t m, std::int64_t n, int most,
            VisitCut&& visit) const {
    const bool rows = along == Along::M;
    const std::int64_t extent = rows ? m : n, step = rows ? first.block.m : first.block.n;
    if (!rows && step % options_.panel != 0) return;
    const std::int64_t across =
        shape_.batch * (rows ? ceil_div(n, first.block.n) : ceil_div(m, first.block.m));
    std::int64_t whole_waves = ceil_div(extent, step) * across / kernels_.units();
    for (int i = 0; i < most; ++i) {
      std::int64_t count = whole_waves * kernels_.units() / across;
      if (count * step >= extent) count = (extent - 1) / step;
      if (count <= 0) return;
      visit(count * step);
      whole_waves = ceil_div(count * across, kernels_.units()) - 1;
    }
  }

  // Patterns II, IV and IX, or III and VI: a strip of the first kernel, and the rest in one or two.
  void strips(const Rated& first, Along along) {
    const bool rows = along == Along::M, nine = options_.patterns == MikPolyPatterns::Nine;
    cuts(first, along, shape_.m, shape_.n, rows ? most_cuts : most_cuts_of_others,
         [&](std::int64_t cut) {
           const std::int64_t m = rows ? cut : shape_.m, n = rows ? shape_.n : cut;
           const std::int64_t rest_m = rows ? shape_.m - cut : shape_.m,
                              rest_n = rows ? shape_.n : shape_.n - cut;
           const double own = cost(first, m, n);
           if ((own + bound(rest_m, rest_n)) * margin_ >= best_) return;
           const rkernel::Cuts at{.m = rows ? cut : 0, .n = rows ? 0 : cut};
           if (const Filled rest = best_of(first, rest_m, rest_n, best_ - own);
               rest.cost < infinite) {
             take({rows ? Pattern::II : Pattern::III,
                   at,
                   {first.kernel, rest.kernel},
                   -(own + rest.cost)});
           }
           if (!nine) return;
           if (rows) {
             cut_rest(first, own, at, rest_m, rest_n, Along::N, Pattern::IV);
             cut_rest(first, own, at, rest_m, rest_n, Along::M, Pattern::IX);
           } else {
             cut_rest(first, own, at, rest_m, rest_n, Along::M, Pattern::VI);
           }
         });
  }

  // The rest of a strip in two: the second kernel decides where.
  void cut_rest(const Rated& first, double own, rkernel::Cuts at, std::int64_t rest_m,
                std::int64_t rest_n, Along along, Pattern pattern) {
    if ((own + std::max(bound(rest_m, rest_n), 2 * least_pipe_)) * margin_ >= best_) return;
    const bool rows = along == Along::M;
    for (const Rated& second : by_rate_) {
      if (!fits(first, second)) continue;
      cuts(second, along, rest_m, rest_n, 1, [&](std::int64_t cut) {
        const std::int64_t m = rows ? cut : rest_m, n = rows ? rest_n : cut;
        const std::int64_t last_m = rows ? rest_m - cut : rest_m,
                           last_n = rows ? rest_n : rest_n - cut;
        const double both = own + cost(second, m, n);
        if ((both + bound(last_m, last_n)) * margin_ >= best_) return;
        const Filled third = best_of(first, last_m, last_n, best_ - both);
        if (third.cost == infinite || !pair(second.kernel, third.kernel)) return;
        rkernel::Cuts cuts_of_all = at;
        if (pattern == Pattern::IX)
          cuts_of_all.second_m = at.m + cut;
        else
          (rows ? cuts_of_all.m : cuts_of_all.n) = cut;
        take({pattern,
              cuts_of_all,
              {first.kernel, second.kernel, third.kernel},
              -(both + third.cost)});
      });
    }
  }

  bool pair(std::size_t a, std::size_t b) const { return a == b || kernels_.together(a, b); }

  // Patterns V, VII and VIII: the first kernel's region is a corner.
  void corners(const Rated& first) {
    cuts(first, Along::N, shape_.m, shape_.n, 1, [&](std::int64_t n) {
      cuts(first, Along::M, shape_.m, n, most_cuts_of_others, [&](std::int64_t m) {
        const std::int64_t rest_m = shape_.m - m, rest_n = shape_.n - n;
        const double own = cost(first, m, n);
        corner(first, own, Pattern::V, {.m = m, .n = n}, {{m, rest_n}, {rest_m, shape_.n}});
        corner(first, own, Pattern::VII, {.m = m, .n = n}, {{rest_m, n}, {shape_.m, rest_n}});
        corner(first, own, Pattern::VIII, {.m = m, .n = n},
               {{m, rest_n}, {rest_m, n}, {rest_m, rest_n}});
      });
    });
  }

  struct Extent {
    std::int64_t m, n;
  };
  void corner(const Rated& first, double own, Pattern pattern, rkernel::Cuts at,
              std::initializer_list<Extent> others) {
    double total = own;
    for (const Extent& other : others) total += bound(other.m, other.n);
    if (total * margin_ >= best_) return;
    KernelCover cover{pattern, at, {first.kernel}};
    total = own;
    std::size_t next = 1;
    for (const Extent& other : others) {
      const Filled filled = best_of(first, other.m, other.n, best_ - total);
      if (filled.cost == infinite) return;
      for (std::size_t j = 1; j < next; ++j)
        if (!pair(cover.kernels[j], filled.kernel)) return;
      cover.kernels[next++] = filled.kernel;
      total += filled.cost;
    }
    cover.merit = -total;
    take(cover);
  }

  const MicroKernels& kernels_;
  const MikPolyOptions& options_;
  const bool counts_waves_;
  const double margin_;  ///< what bounds are multiplied by
  const ProductShape& shape_;
  std::vector<Rated> by_rate_;
  Visit& visit_;
  double best_ = infinite;
  double least_pipe_ = 0;
};

/// MikPoly, equation 2 (sections 3.3 and 3.4): the program with the least sum over regions of
/// f_wave * f_pipe, where
///   f_wave = ceil(f_parallel / units), f_parallel = batch * ceil(m / uM) * ceil(n / uN) pipelined
///   tasks, f_pipe = g_predict(f_num), the seconds of one task of f_num = ceil(K / uK) steps on one
///   unit, piecewise linear, learned offline (task_seconds).
class MikPoly final : public PaperPolicy {
 public:
  MikPoly(const MicroKernels& kernels, const MikPolyOptions& options)
      : kernels_(kernels), options_(options) {
    for (std::size_t kernel = 0; kernel < kernels.size(); ++kernel)
      blocks_.push_back(kernels[kernel]);
  }

  void for_each(const ProductShape& shape,
                const std::function<void(const KernelProgram&)>& visit) const override {
    search(shape, [&](const KernelCover& cover) { visit(program_of(shape, cover, seconds())); });
  }

  KernelProgram choose(const ProductShape& shape) const override {
    BestCover best;
    search(shape, best);
    return best.program(shape, seconds());
  }

 private:
  bool seconds() const { return options_.terms == MikPolyTerms::WaveAndPipe; }

  template <class Visit>
  void search(const ProductShape& shape, Visit&& visit) const {
    if (!has_outputs(shape) || blocks_.empty()) return;
    const bool counts_waves = options_.terms != MikPolyTerms::Pipe;
    std::vector<Rated> rated;
    rated.reserve(blocks_.size());
    for (std::size_t kernel = 0; kernel < blocks_.size(); ++kernel) {
      const MicroKernel& block = blocks_[kernel];
      const double pipe = options_.terms == MikPolyTerms::Wave
                              ? 1
                              : kernels_.task_seconds(kernel, ceil_by(shape.k, block.k));
      const double outputs = static_cast<double>(block.m * block.n) * kernels_.units();
      rated.push_back({kernel, block, pipe, counts_waves ? pipe / outputs : 0});
    }
    PolymerSearch(kernels_, options_, counts_waves, shape, std::move(rated), visit).run();
  }

  const MicroKernels& kernels_;
  MikPolyOptions options_;
  std::vector<MicroKernel> blocks_;
};

}  // namespace

std::unique_ptr<const PaperPolicy> make_mikpoly(const MicroKernels& kernels,
                                                const MikPolyOptions& options) {
  return std::make_unique<MikPoly>(kernels, options);
}

}  // namespace dyn::choice
