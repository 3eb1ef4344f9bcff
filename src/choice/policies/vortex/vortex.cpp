#include "src/choice/policies/vortex/vortex.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "src/choice/policies/shared/blocks.hpp"

namespace dyn::choice {
namespace {

constexpr std::size_t most_visited = 48;
constexpr int sampled_doublings = 12;
constexpr double rounding = 1 - 1e-9;  ///< bounds and costs multiply in different orders

/// Kernels with the same outputs in a block, so with the same number of waves.
struct Outputs {
  std::int64_t m = 1, n = 1, per_wave = 1;
  double least_rate = std::numeric_limits<double>::infinity();  ///< of its kernels
  double output_rate = 0;  ///< least seconds of one multiply-add of a full wave
  std::vector<std::size_t> kernels;
};

struct Costed {
  std::size_t kernel = 0;
  double seconds = std::numeric_limits<double>::infinity();
  bool operator<(const Costed& other) const {
    return std::tie(seconds, kernel) < std::tie(other.seconds, other.kernel);
  }
};

std::int64_t waves_of(const ProductShape& shape, std::int64_t m, std::int64_t n,
                      std::int64_t per_wave) {
  return ceil_div(shape.batch * ceil_div(shape.m, m) * ceil_div(shape.n, n), per_wave);
}

/// Kernels stand in groups of equal outputs, in the order of what a multiply-add costs at least. No
/// shape costs a group less than its multiply-adds at that rate, so that the first group whose
/// bound exceeds the best cost ends the search: bounds change no choice.
class Vortex final : public PaperPolicy {
 public:
  Vortex(const MicroKernels& kernels, VortexLayersFree free) : kernels_(kernels) {
    std::vector<std::size_t> usable(kernels.size());
    for (std::size_t kernel = 0; kernel < usable.size(); ++kernel) usable[kernel] = kernel;
    group(usable);
    if (free == VortexLayersFree::All || usable.empty()) return;
    const std::vector<std::size_t> votes = sampled_choices();
    const std::size_t lowest =
        most_frequent(votes, [&](std::size_t kernel) { return kernels_.lowest_layer(kernel); });
    std::erase_if(usable,
                  [&](std::size_t kernel) { return kernels_.lowest_layer(kernel) != lowest; });
    group(usable);
    if (free != VortexLayersFree::FixedAll) return;
    group({most_frequent(sampled_choices(), [](std::size_t kernel) { return kernel; })});
  }

  KernelProgram choose(const ProductShape& shape) const override {
    if (!has_outputs(shape) || groups_.empty()) return {};
    return program(best(shape), shape);
  }

  void for_each(const ProductShape& shape,
                const std::function<void(const KernelProgram&)>& visit) const override {
    if (!has_outputs(shape)) return;
    std::vector<Costed> all;
    for (const Outputs& group : groups_) {
      for (const std::size_t kernel : group.kernels)
        all.push_back({kernel, vortex_seconds(kernels_, kernel, shape)});
    }
    const std::size_t visited = std::min(all.size(), most_visited);
    std::ranges::partial_sort(all, all.begin() + static_cast<std::ptrdiff_t>(visited), std::less{});
    for (std::size_t i = 0; i < visited; ++i) visit(program(all[i], shape));
  }

 private:
  void group(const std::vector<std::size_t>& usable) {
    std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, Outputs> groups;
    for (const std::size_t kernel : usable) {
      const MicroKernel block = kernels_[kernel];
      const std::int64_t per_wave = kernels_.blocks_per_wave(kernel);
      Outputs& own = groups[{block.m, block.n, per_wave}];
      own.m = block.m, own.n = block.n, own.per_wave = per_wave;
      own.least_rate = std::min(own.least_rate, kernels_.vortex_least_rate(kernel));
      own.kernels.push_back(kernel);
    }
    groups_.clear();
    for (auto& [key, own] : groups) {
      own.output_rate =
          own.least_rate / (static_cast<double>(own.m * own.n) * static_cast<double>(own.per_wave));
      groups_.push_back(std::move(own));
    }
    std::ranges::stable_sort(groups_, {}, &Outputs::output_rate);
  }

  Costed best(const ProductShape& shape) const {
    const double multiply_adds = static_cast<double>(shape.batch) * static_cast<double>(shape.m) *
                                 static_cast<double>(shape.n) * static_cast<double>(shape.k);
    Costed best;
    for (const Outputs& group : groups_) {
      if (multiply_adds * group.output_rate * rounding > best.seconds) break;
      const auto waves = static_cast<double>(waves_of(shape, group.m, group.n, group.per_wave));
      if (waves * static_cast<double>(shape.k) * group.least_rate * rounding > best.seconds)
        continue;
      for (const std::size_t kernel : group.kernels)
        best = std::min(best, {kernel, waves * kernels_.vortex_block_seconds(kernel, shape.k)});
    }
    return best;
  }

  std::vector<std::size_t> sampled_choices() const {
    std::vector<std::size_t> choices;
    for (int m = 0; m <= sampled_doublings; ++m) {
      for (int n = 0; n <= sampled_doublings; ++n) {
        for (int k = 0; k <= sampled_doublings; ++k)
          choices.push_back(
              best({1, std::int64_t{1} << m, std::int64_t{1} << n, std::int64_t{1} << k}).kernel);
      }
    }
    return choices;
  }

  /// The value that most kernels have in common; of equally frequent ones the least.
  template <class Value>
  static std::size_t most_frequent(const std::vector<std::size_t>& kernels, const Value& value) {
    std::map<std::size_t, std::size_t> counts;
    for (const std::size_t kernel : kernels) ++counts[value(kernel)];
    return std::ranges::max_element(counts, {}, [](const auto& count) { return count.second; })
        ->first;
  }

  static KernelProgram program(const Costed& costed, const ProductShape& shape) {
    return program_of(shape, {.kernels = {costed.kernel}, .merit = -costed.seconds}, true);
  }

  const MicroKernels& kernels_;
  std::vector<Outputs> groups_;
};

}  // namespace

double vortex_seconds(const MicroKernels& kernels, std::size_t kernel, const ProductShape& shape) {
  const MicroKernel block = kernels[kernel];
  return static_cast<double>(waves_of(shape, block.m, block.n, kernels.blocks_per_wave(kernel))) *
         kernels.vortex_block_seconds(kernel, shape.k);
}

std::unique_ptr<const PaperPolicy> make_vortex(const MicroKernels& kernels, VortexLayersFree free) {
  return std::make_unique<Vortex>(kernels, free);
}

}  // namespace dyn::choice
