#include <algorithm>
#include <limits>

#include "src/choice/policies/blocks.hpp"
#include "src/choice/policies/papers.hpp"

namespace dyn::choice {
namespace {

constexpr int most_cuts = 4;  ///< of one first kernel: earlier ones leave the second whole waves
                              ///< that the first fills as well
constexpr double rounding = 1 - 1e-9;  ///< bounds and costs add up in different orders
constexpr double unknown = -std::numeric_limits<double>::infinity();

/// MikPoly, equation 2 (sections 3.3 and 3.4): the program with the least sum over regions of
/// f_wave * f_pipe, where
///   f_wave = ceil(f_parallel / units), f_parallel = batch * ceil(m / uM) * ceil(n / uN) pipelined
///   tasks, f_pipe = g_predict(f_num), the seconds of one task of f_num = ceil(K / uK) steps on one
///   unit, piecewise linear, learned offline
/// (task_seconds). Patterns I and II, those that its GPU runs use; where II cuts, the text shows on
/// one example (section 6): the first kernel gets the rows that fill whole waves of it, the second
/// kernel the rest. So cuts lie at multiples of uM of the first kernel, after its last whole wave
/// of the output, and after some before that.
///
/// Bounds (Algorithm 1 leaves out what costs more than the best so far): no kernel computes a
/// region in less than its outputs take in whole waves without padding. Kernels are tried in the
/// order of that rate, so that the first which cannot win ends the loop. Among programs that differ
/// only in the second kernel the cheapest is considered.
class MikPoly final : public PaperPolicy {
 public:
  MikPoly(const MicroKernels& kernels, Partition partition)
      : kernels_(kernels), partition_(partition) {
    for (std::size_t kernel = 0; kernel < kernels.size(); ++kernel)
      blocks_.push_back(kernels[kernel]);
  }

  void for_each(const ProductShape& shape,
                const std::function<void(const KernelProgram&)>& visit) const override {
    search(shape, [&](const Strips& strips) { visit(program_of(shape, strips, true)); });
  }

  KernelProgram choose(const ProductShape& shape) const override {
    BestStrips best;
    search(shape, best);
    return best.program(shape, true);
  }

 private:
  struct Rated {
    std::size_t kernel;
    double pipe;  ///< f_pipe
    double rate;  ///< seconds for one output, of whole waves without padding
  };

  std::int64_t waves(const ProductShape& region, const MicroKernel& block) const {
    return ceil_div(blocks_of(region, block), kernels_.units());
  }

  std::vector<Rated> rated(std::int64_t k) const {
    std::vector<Rated> all;
    all.reserve(blocks_.size());
    for (std::size_t kernel = 0; kernel < blocks_.size(); ++kernel) {
      const MicroKernel& block = blocks_[kernel];
      const double pipe = kernels_.task_seconds(kernel, ceil_by(k, block.k));
      all.push_back(
          {kernel, pipe, pipe / (static_cast<double>(block.m * block.n) * kernels_.units())});
    }
    return all;
  }

  template <class Visit>
  void search(const ProductShape& shape, Visit&& visit) const {
    if (!has_outputs(shape)) return;
    std::vector<Rated> all = rated(shape.k);
    double best = std::numeric_limits<double>::infinity();
    for (const Rated& one : all) {
      const double seconds = static_cast<double>(waves(shape, blocks_[one.kernel])) * one.pipe;
      best = std::min(best, seconds);
      visit(Strips{.kernels = {one.kernel}, .merit = -seconds});
    }
    if (partition_ == Partition::Whole) return;
    std::ranges::stable_sort(all, {}, &Rated::rate);
    for (const Rated& first : all) cut_after(first, shape, all, best, visit);
  }

  // Pattern II with this first kernel. `best`: seconds of the best program so far.
  template <class Visit>
  void cut_after(const Rated& first, const ProductShape& shape, const std::vector<Rated>& all,
                 double& best, Visit&& visit) const {
    const MicroKernel& block = blocks_[first.kernel];
    const std::int64_t row_blocks =
        shape.batch * ceil_div(shape.n, block.n);  // blocks in one row of them
    std::int64_t whole_waves = blocks_of(shape, block) / kernels_.units();
    for (int cuts = 0; cuts < most_cuts; ++cuts) {
      std::int64_t rows = whole_waves * kernels_.units() / row_blocks;
      if (rows * block.m >= shape.m) rows = (shape.m - 1) / block.m;
      if (rows == 0) return;
      const std::int64_t used_waves = ceil_div(rows * row_blocks, kernels_.units());
      add_second(first, rows * block.m, static_cast<double>(used_waves) * first.pipe, shape, all,
                 best, visit);
      whole_waves = used_waves - 1;
    }
  }

  // The best kernel for the rows from `cut` on.
  template <class Visit>
  void add_second(const Rated& first, std::int64_t cut, double first_seconds,
                  const ProductShape& shape, const std::vector<Rated>& all, double& best,
                  Visit&& visit) const {
    ProductShape rest = shape;
    rest.m = shape.m - cut;
    const double outputs =
        static_cast<double>(rest.batch) * static_cast<double>(rest.m) * static_cast<double>(rest.n);
    Strips strips{.pattern = rkernel::Pattern::II,
                  .cuts = {.m = cut},
                  .kernels = {first.kernel, first.kernel},
                  .merit = unknown};
    for (const Rated& second : all) {
      if ((first_seconds + outputs * second.rate) * rounding >= std::min(best, -strips.merit))
        break;
      if (second.kernel == first.kernel || !kernels_.together(first.kernel, second.kernel))
        continue;
      const double seconds =
          first_seconds + static_cast<double>(waves(rest, blocks_[second.kernel])) * second.pipe;
      if (-seconds > strips.merit) strips.merit = -seconds, strips.kernels[1] = second.kernel;
    }
    if (strips.merit == unknown) return;
    best = std::min(best, -strips.merit);
    visit(strips);
  }

  const MicroKernels& kernels_;
  Partition partition_;
  std::vector<MicroKernel> blocks_;
};

}  // namespace

std::unique_ptr<const PaperPolicy> make_mikpoly(const MicroKernels& kernels, Partition partition) {
  return std::make_unique<MikPoly>(kernels, partition);
}

}  // namespace dyn::choice
