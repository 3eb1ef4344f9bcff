#include "tests/unit/cpu/contraction/policy_context.hpp"

#include "src/choice/policies/shared/cpu_blocks.hpp"
#include "targets/cpu/tile/dot_loop.hpp"
#include "tests/unit/cpu/contraction/fixture.hpp"

namespace dyn::cpu::testing {

std::vector<BlockSpeed> made_up_speeds(const choice::Machine& machine, rkernel::Policy policy) {
  constexpr double crowd = 1.1;
  std::vector<BlockSpeed> speeds;
  for (const choice::BlockPlan& plan : choice::cpu_blocks(policy, machine)) {
    BlockSpeed& speed = speeds.emplace_back(BlockSpeed{plan});
    for (const std::int64_t depth : plan.depths) {
      speed.alone.push_back(choice::compute_seconds(machine, plan.block, depth, {}));
      if (plan.together) speed.together.push_back(crowd * speed.alone.back());
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
                               .library = options.library,
                               .tuning = options.tuning};
  for (const rkernel::Policy policy : measured_policies(options.policy))
    settings.figures.speeds[policy] = made_up_speeds(machine, policy);
  return std::make_shared<const ContractionContext>(isa, std::move(machine), all_loops(isa, store),
                                                    std::move(settings));
}

}  // namespace dyn::cpu::testing
