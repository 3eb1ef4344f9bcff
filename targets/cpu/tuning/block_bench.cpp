#include "targets/cpu/tuning/block_bench.hpp"

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

BlockSpeed BlockBench::measure(const choice::BlockPlan& plan) const {
  return measure_blocks(isa_, loops_, {plan}, machine_.threads).front();
}

}  // namespace dyn::cpu
