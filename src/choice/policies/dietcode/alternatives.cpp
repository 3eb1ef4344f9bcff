// The alternatives that DietCode compares its local padding with (section 4.1).

#include <algorithm>
#include <optional>

#include "src/base/bytes.hpp"
#include "src/choice/policies/dietcode/voted_policy.hpp"
#include "src/choice/policies/shared/papers.hpp"

namespace dyn::choice {
namespace {

constexpr int voting_steps = 2;

double operations(const ProductShape& shape) {
  return 2.0 * static_cast<double>(shape.batch * shape.m * shape.n) * static_cast<double>(shape.k);
}

/// Global padding: operands are padded to whole blocks before the product, and the result is sliced
/// after it, each a copy. Merit: wanted operations of one unit over the seconds of the padded
/// problem and of these copies. What runs is the kernel without the copies and the padded work, as
/// emitters cut last blocks.
class GlobalPadding final : public VotedPolicy {
 public:
  GlobalPadding(const MicroKernels& kernels, const PartitionRules& rules)
      : VotedPolicy(kernels, rules, voting_steps) {
    take_votes();
  }

 protected:
  KernelCover cover(std::size_t kernel, const ProductShape& shape) const override {
    const MicroKernel block = cost().kernels()[kernel];
    const ProductShape padded{shape.batch, ceil_by(shape.m, block.m), ceil_by(shape.n, block.n),
                              ceil_by(shape.k, block.k)};
    const MicroKernels& kernels = cost().kernels();
    const double seconds = operations(padded) / kernels.units() / cost().unpadded(kernel, padded) +
                           kernels.copy_seconds(copied_bytes(shape, padded));
    const double merit = seconds > 0 ? operations(shape) / kernels.units() / seconds : 0;
    return {.kernels = {kernel}, .merit = merit};
  }

 private:
  /// Read and written: operands that grow, and the result where it shrinks.
  static double copied_bytes(const ProductShape& shape, const ProductShape& padded) {
    const auto copy = [&](std::int64_t from, std::int64_t to) {
      return static_cast<double>(shape.batch) * static_cast<double>(from + to) *
             static_cast<double>(float_bytes);
    };
    const bool m = padded.m != shape.m, n = padded.n != shape.n, k = padded.k != shape.k;
    return (m || k ? copy(shape.m * shape.k, padded.m * padded.k) : 0) +
           (n || k ? copy(shape.n * shape.k, padded.n * padded.k) : 0) +
           (m || n ? copy(shape.m * shape.n, shape.m * shape.n) : 0);
  }
};

/// Loop partitioning: a kernel's whole blocks are one region, without boundary checks along M and
/// N. What is left of the rows, of the columns and of both are further regions, each with its
/// kernel of most cost. Merit: operations over the sum of the regions' seconds, as their loops
/// follow each other. Without a whole block, or a kernel that may stand beside it: as DietCode.
class LoopPartitioning final : public VotedPolicy {
 public:
  LoopPartitioning(const MicroKernels& kernels, const PartitionRules& rules)
      : VotedPolicy(kernels, rules, voting_steps), regions_(rules.regions) {
    take_votes();
  }

 protected:
  KernelCover cover(std::size_t kernel, const ProductShape& shape) const override {
    const KernelCover whole{.kernels = {kernel}, .merit = cost()(kernel, shape)};
    const rkernel::Cuts cuts = cuts_of(cost().kernels()[kernel], shape);
    const bool cuts_m = cuts.m < shape.m, cuts_n = cuts.n < shape.n;
    if (cuts.m == 0 || cuts.n == 0 || (!cuts_m && !cuts_n)) return whole;
    KernelCover cover{.cuts = cuts};
    cover.pattern = cuts_m && cuts_n ? rkernel::Pattern::VIII
                    : cuts_m         ? rkernel::Pattern::II
                                     : rkernel::Pattern::III;
    double seconds = 0;
    std::size_t region = 0;
    for (const std::int64_t m : {cuts.m, shape.m - cuts.m}) {
      for (const std::int64_t n : {cuts.n, shape.n - cuts.n}) {
        if (m == 0 || n == 0) continue;
        const ProductShape part{shape.batch, m, n, shape.k};
        const std::optional<std::size_t> own = region == 0 ? kernel : best_beside(kernel, part);
        if (!own) return whole;
        cover.kernels[region++] = *own;
        seconds += operations(part) / cost()(*own, part);
      }
    }
    cover.merit = seconds > 0 ? operations(shape) / seconds : 0;
    return cover;
  }

 private:
  /// Where two regions are all that a program may have, rows are cut, else columns.
  rkernel::Cuts cuts_of(const MicroKernel& block, const ProductShape& shape) const {
    if (regions_ == Regions::Whole) return {shape.m, shape.n};
    const std::int64_t m = shape.m / block.m * block.m, n = shape.n / block.n * block.n;
    if (regions_ == Regions::Two && m < shape.m) return {m, shape.n};
    return {m, n};
  }

  /// None where no kernel may stand beside the first.
  std::optional<std::size_t> best_beside(std::size_t first, const ProductShape& part) const {
    std::optional<std::size_t> best;
    double most = -1;
    for (std::size_t kernel = 0; kernel < cost().size(); ++kernel) {
      if (cost().speed(kernel) <= most || !cost().kernels().together(first, kernel)) continue;
      const double own = cost()(kernel, part);
      if (own > most) most = own, best = kernel;
    }
    return best;
  }

  Regions regions_;
};

}  // namespace

std::unique_ptr<const PaperPolicy> make_dietcode_padding(const MicroKernels& kernels,
                                                         const PartitionRules& rules) {
  return std::make_unique<GlobalPadding>(kernels, rules);
}

std::unique_ptr<const PaperPolicy> make_dietcode_partition(const MicroKernels& kernels,
                                                           const PartitionRules& rules) {
  return std::make_unique<LoopPartitioning>(kernels, rules);
}

}  // namespace dyn::choice
