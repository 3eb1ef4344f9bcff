#include <algorithm>
#include <cstddef>

#include "dyn/error.hpp"
#include "targets/cpu/contraction/emitter.hpp"
#include "targets/cpu/contraction/full_tiles.hpp"
#include "targets/cpu/tile/dot_loop.hpp"
#include "targets/cpu/tile/main_loop.hpp"

namespace dyn::cpu {

using rkernel::LoopKind;

namespace {

constexpr std::size_t factors = 2;  ///< the first operands
constexpr int slots_of_program = 12;

StrategySlots add_strategy_slots(codegen::SlotTable& slots) {
  StrategySlots strategy;
  int reserved = slots.first_reserved();
  for (int* slot :
       {&strategy.regions, &strategy.regions_begin, &strategy.slices, &strategy.sums_row,
        &strategy.merge_rows, &strategy.a_move, &strategy.b_move, &strategy.rest_move,
        &strategy.epilogue, &strategy.full_panel, &strategy.full_vector, &strategy.full_rows})
    *slot = reserved++;
  // Those of one region stand together, and last: KernelArgs::ints ends with one such group for
  // each region.
  strategy.first_of_region = slots.size();
  const auto add = [&] { return slots.add_strategy_slot() - strategy.first_of_region; };
  for (int* slot : {&strategy.first_ticket,   &strategy.m_begin,       &strategy.m_size,
                    &strategy.first_panel,    &strategy.panels,        &strategy.k_slices,
                    &strategy.m_blocks,       &strategy.n_blocks,      &strategy.tile_rows,
                    &strategy.tile_panels,    &strategy.block_k,       &strategy.k_blocks,
                    &strategy.copy_a,         &strategy.ask_ahead,     &strategy.direct_b,
                    &strategy.wide_table,     &strategy.narrow_table,  &strategy.half_table,
                    &strategy.a_row,          &strategy.a_scratch,     &strategy.b_scratch,
                    &strategy.reads_strip,    &strategy.strip_scratch, &strategy.offsets_scratch,
                    &strategy.turned_scratch, &strategy.rest_columns,  &strategy.rest_place,
                    &strategy.rest_row}) {
    *slot = add();
  }
  for (RowSlots* rows : {&strategy.larger, &strategy.smaller}) {
    for (int* slot : {&rows->first_rows, &rows->first_tiles, &rows->second_rows, &rows->tiles})
      *slot = add();
  }
  for (RestSlots* rest : {&strategy.rest_first, &strategy.rest_second}) {
    for (int* slot : {&rest->columns, &rest->rows, &rest->table}) *slot = add();
  }
  strategy.slots_of_region = slots.size() - strategy.first_of_region;
  return strategy;
}

}  // namespace

ContractionSlots::ContractionSlots(const rkernel::Problem& problem)
    : table(problem, factors, slots_of_program), strategy(add_strategy_slots(table)) {
  const rkernel::Contraction& contraction = *problem.contraction;
  if (std::max(contraction.a, contraction.b) >= static_cast<int>(factors))
    throw Error(ErrorKind::internal,
                "the factors of contraction " + problem.name + " are not its first operands");
}

rkernel::Problem factors_only(rkernel::Problem problem) {
  problem.operands.resize(factors);
  problem.exprs.clear();
  problem.stores.clear();
  return problem;
}

rkernel::RKernel contraction_rkernel(const rkernel::Problem& problem, const codegen::Isa& isa,
                                     int threads, bool dot) {
  using rkernel::Analysis;
  const rkernel::Contraction& contraction = *problem.contraction;
  const Tile largest =
      dot ? std::ranges::max(dot_tiles(isa), {}, &Tile::rows) : largest_panel_tile(isa);
  rkernel::RKernel kernel{&problem, {}, isa.f32_lanes};
  kernel.layers.push_back(
      register_layer({largest.rows, largest.columns}, contraction, dot ? isa.f32_lanes : 1));
  kernel.layers.push_back({"L1",
                           {{contraction.n, LoopKind::TemporalSpatial, 0},
                            {contraction.m, LoopKind::TemporalSpatial, 0}},
                           {},
                           Analysis::Analytical,
                           1});
  rkernel::Layer l2{"L2",
                    {{contraction.k, LoopKind::TemporalReduction, 0}},
                    {{contraction.a, threads_layer, l2_layer, rkernel::MoveForm::RowCopy}},
                    Analysis::Analytical,
                    1};
  l2.carried = {
      {"sum", {contraction.m, contraction.n}, 0, "sum + a * b", "sum over slices, in their order"}};
  if (dot) {
    l2.moves.push_back({contraction.b, threads_layer, l2_layer, rkernel::MoveForm::RowCopy});
  } else if (problem.operands[static_cast<std::size_t>(contraction.b)].form !=
             rkernel::Form::Packed) {
    l2.moves.push_back({contraction.b, threads_layer, l2_layer, rkernel::MoveForm::Panels});
  }
  kernel.layers.push_back(std::move(l2));
  rkernel::Layer top{"threads", {}, {}, Analysis::Analytical, threads};
  for (const int axis : batch_axes(problem)) top.loops.push_back({axis, LoopKind::Parallel, 1});
  top.loops.push_back({contraction.k, LoopKind::Parallel, 0});
  top.loops.push_back({contraction.n, LoopKind::Parallel, 0});
  top.loops.push_back({contraction.m, LoopKind::Parallel, 0});
  kernel.layers.push_back(std::move(top));
  return kernel;
}

}  // namespace dyn::cpu
