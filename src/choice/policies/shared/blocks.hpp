#pragma once
// How blocks of a micro-kernel cover a product, and programs of the papers before they are written
// out.

#include <array>

#include "src/base/rounding.hpp"
#include "src/choice/policies/shared/paper_policy.hpp"
#include "src/rkernel/tree/regions.hpp"

namespace dyn::choice {

/// ceil_by and pad_by of DietCode.
inline std::int64_t ceil_by(std::int64_t a, std::int64_t b) { return round_up(a, b); }

inline bool has_outputs(const ProductShape& shape) {
  return shape.batch > 0 && shape.m > 0 && shape.n > 0;
}

/// P / M of DietCode, wkl / K of FTuner, f_parallel of MikPoly: blocks of outputs.
inline std::int64_t blocks_of(const ProductShape& shape, const MicroKernel& kernel) {
  return shape.batch * ceil_div(shape.m, kernel.m) * ceil_div(shape.n, kernel.n);
}

/// P / pad_by(P, M): the part of the multiply-adds that is wanted, 1 without padding. A product
/// without a reduction pads none of it.
inline double useful_share(const ProductShape& shape, const MicroKernel& kernel) {
  const auto share = [](std::int64_t wanted, std::int64_t block) {
    return wanted > 0 ? static_cast<double>(wanted) / static_cast<double>(ceil_by(wanted, block))
                      : 1.0;
  };
  return share(shape.m, kernel.m) * share(shape.n, kernel.n) * share(shape.k, kernel.k);
}

/// blocks / ceil_by(blocks, units): DietCode's and FTuner's occupancy.
inline double occupied_share(std::int64_t blocks, std::int64_t units) {
  return static_cast<double>(blocks) / static_cast<double>(ceil_by(blocks, units));
}

/// A pattern none of whose regions is empty, and the micro-kernel of each, in the order of
/// rkernel::cover(). Cheap to make and to compare; a KernelProgram is not.
struct KernelCover {
  rkernel::Pattern pattern = rkernel::Pattern::I;
  rkernel::Cuts cuts{};
  std::array<std::size_t, 4> kernels{};
  double merit = 0;
};

inline KernelProgram program_of(const ProductShape& shape, const KernelCover& cover,
                                bool predicts_seconds) {
  KernelProgram program;
  program.merit = cover.merit;
  if (predicts_seconds) program.seconds = -cover.merit;
  for (const rkernel::Region& region :
       rkernel::cover(cover.pattern, shape.m, shape.n, cover.cuts)) {
    program.regions.push_back(
        {region.m0, region.m, region.n0, region.n, cover.kernels[program.regions.size()]});
  }
  return program;
}

/// Keeps the best of what it sees; of equal merit the first.
class BestCover {
 public:
  void operator()(const KernelCover& cover) {
    if (!best_ || cover.merit > best_->merit) best_ = cover;
  }
  KernelProgram program(const ProductShape& shape, bool predicts_seconds) const {
    return best_ ? program_of(shape, *best_, predicts_seconds) : KernelProgram{};
  }

 private:
  std::optional<KernelCover> best_;
};

}  // namespace dyn::choice
