#include "tests/unit/cpu/contraction/policy_context.hpp"

#include "targets/cpu/tile/dot_loop.hpp"
#include "tests/unit/cpu/contraction/fixture.hpp"

namespace dyn::cpu::testing {

std::vector<BlockSpeed> made_up_speeds(const choice::Machine& machine) {
  constexpr double crowd = 1.1;
  std::vector<BlockSpeed> speeds;
  for (const choice::BlockKernel& block : choice::block_kernels(machine)) {
    BlockSpeed& speed = speeds.emplace_back(BlockSpeed{block, {}, {}});
    const auto tiles =
        static_cast<double>(block.rows / block.tile_rows * (block.columns / block.tile_columns));
    const double per_k = machine.find_tile(block.tile_rows, block.tile_columns)->seconds_per_k;
    for (std::size_t i = 0; i < measured_depths.size(); ++i) {
      speed.alone[i] =
          tiles * (static_cast<double>(measured_depths[i]) * per_k + machine.seconds_per_call);
      speed.together[i] = crowd * speed.alone[i];
    }
  }
  return speeds;
}

std::shared_ptr<const ContractionContext> policy_context(const codegen::Isa& isa,
                                                         codegen::CodeStore& store,
                                                         const ContextOptions& options) {
  constexpr double narrow_slowdown = 1.2;
  rkernel::CompileReport report;
  choice::Machine machine = context_for(isa, store)->machine();
  machine.threads = options.threads;
  std::map<DType, MainLoopTable> narrow_loops;
  for (const DType dtype : weight_dtypes(isa)) {
    narrow_loops[dtype] = loops_for(isa, store, dtype);
    machine.narrow_tiles[dtype] = machine.tiles;
    for (choice::TileSpeed& tile : machine.narrow_tiles[dtype])
      tile.seconds_per_k *= narrow_slowdown;
  }
  const MainLoopTable dot_loops =
      main_loop_table(dot_tiles(isa), store.resolve(dot_loop_sources(isa), 2, report));
  const std::vector<BlockSpeed> speeds = made_up_speeds(machine);
  auto context = std::make_shared<ContractionContext>(isa, std::move(machine),
                                                      loops_for(isa, store, DType::f32), dot_loops,
                                                      options.deterministic, narrow_loops);
  context->set_policy(options.policy, speeds);
  context->set_library(options.library);
  return context;
}

}  // namespace dyn::cpu::testing
