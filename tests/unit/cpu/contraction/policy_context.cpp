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
  choice::Machine machine = context_for(isa, store)->machine();
  machine.threads = options.threads;
  for (const DType dtype : weight_dtypes(isa)) {
    machine.narrow_tiles[dtype] = machine.tiles;
    for (choice::TileSpeed& tile : machine.narrow_tiles[dtype])
      tile.seconds_per_k *= narrow_slowdown;
  }
  ContractionSettings settings{.deterministic = options.deterministic,
                               .policy = options.policy,
                               .speeds = made_up_speeds(machine),
                               .library = options.library};
  return std::make_shared<const ContractionContext>(isa, std::move(machine), all_loops(isa, store),
                                                    std::move(settings));
}

}  // namespace dyn::cpu::testing
