#include "targets/cpu/tuning/block_bench.hpp"

#include <algorithm>

#include "targets/cpu/measure/buffer.hpp"
#include "targets/cpu/measure/measure.hpp"

namespace dyn::cpu {

BlockBench::BlockBench(const std::string& isa, int threads, const std::string& cache_dir)
    : isa_(codegen::select_isa(isa)) {
  rkernel::CompileReport report;
  codegen::CodeStoreOptions options;
  options.cache_dir = cache_dir;
  const auto store = codegen::CodeStore::open(isa_, options);
  code_ = store->resolve(main_loop_sources(isa_), threads, report);
  loops_ = main_loop_table(main_loop_tiles(isa_), code_.addresses);
  machine_ = machine_figures(isa_, threads, [&] { return loops_; }, *store, cache_dir, report);
}

BlockSpeed BlockBench::measure(const choice::BlockPlan& plan, double slice_seconds) const {
  const double start = now_seconds();
  const auto once = [&] { return measure_blocks(isa_, loops_, {plan}, machine_.threads).front(); };
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
