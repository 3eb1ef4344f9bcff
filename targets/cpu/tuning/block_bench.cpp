#include "targets/cpu/tuning/block_bench.hpp"

#include <algorithm>

#include "targets/cpu/measure/buffer.hpp"
#include "targets/cpu/measure/measure.hpp"

namespace dyn::cpu {

BlockBench::BlockBench(const std::string& isa, int threads, const std::string& cache_dir,
                       const TimedOperands& operands)
    : isa_(codegen::select_isa(isa)), operands_(operands) {
  rkernel::CompileReport report;
  codegen::CodeStoreOptions options;
  options.cache_dir = cache_dir;
  const auto store = codegen::CodeStore::open(isa_, options);
  const auto loops_over = [&](const rkernel::Factors& factors) {
    code_.push_back(store->resolve(main_loop_sources(isa_, factors), threads, report));
    return main_loop_table(main_loop_tiles(isa_), code_.back().addresses);
  };
  loops_ = loops_over({});
  machine_ = machine_figures(isa_, threads, [&] { return loops_; }, *store, cache_dir, report);
  const rkernel::Factors& factors = operands.factors;
  if (factors == rkernel::Factors()) return;
  loops_ = loops_over(factors);
  machine_.tiles = tile_figures(isa_, factors, [&] { return loops_; }, cache_dir, report);
}

BlockSpeed BlockBench::measure(const choice::BlockPlan& plan, double slice_seconds) const {
  const double start = now_seconds();
  const auto once = [&] {
    return measure_blocks(isa_, loops_, {plan}, machine_.threads, operands_).front();
  };
  const auto keep_least = [](std::vector<double>& least, const std::vector<double>& others) {
    for (std::size_t i = 0; i < least.size(); ++i) least[i] = std::min(least[i], others[i]);
  };
  BlockSpeed speed = once();
  while (now_seconds() - start < slice_seconds) {
    const BlockSpeed again = once();
    keep_least(speed.alone, again.alone);
    keep_least(speed.together, again.together);
  }
  return speed;
}

}  // namespace dyn::cpu
