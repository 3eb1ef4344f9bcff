#include <limits>

#include "targets/cpu/attention/emitter.hpp"
#include "targets/cpu/tile/main_loop.hpp"

namespace dyn::cpu {

using rkernel::LoopKind;

AttentionSlots add_attention_slots(codegen::SlotTable& slots) {
  AttentionSlots made;
  for (int* slot : {&made.m_blocks,
                    &made.splits,
                    &made.block_keys,
                    &made.tile_rows,
                    &made.tile_panels,
                    &made.wide_table,
                    &made.panel_table,
                    &made.vector_table,
                    &made.wide_value_table,
                    &made.panel_value_table,
                    &made.vector_value_table,
                    &made.scale,
                    &made.q_row,
                    &made.acc_row,
                    &made.score_row,
                    &made.record,
                    &made.q_scratch,
                    &made.acc_scratch,
                    &made.max_scratch,
                    &made.sum_scratch,
                    &made.score_scratch,
                    &made.key_scratch,
                    &made.value_scratch}) {
    *slot = slots.add_strategy_slot();
  }
  return made;
}

rkernel::RKernel attention_rkernel(const rkernel::Problem& problem, const codegen::Isa& isa,
                                   choice::ScoreForm form, int threads) {
  using rkernel::Analysis;
  using rkernel::MoveForm;
  const rkernel::Attention& attention = *problem.attention;
  const Tile largest = largest_panel_tile(isa);
  rkernel::RKernel kernel{&problem, {}, isa.f32_lanes};
  kernel.layers.push_back({"registers",
                           {{attention.d, LoopKind::TemporalReduction, 1},
                            {attention.keys, LoopKind::TemporalReduction, largest.columns},
                            {attention.m, LoopKind::TemporalSpatial, largest.rows},
                            {attention.n, LoopKind::TemporalSpatial, largest.columns}},
                           {},
                           Analysis::Empirical,
                           1});
  kernel.layers.push_back(
      {"L1", {{attention.m, LoopKind::TemporalSpatial, 0}}, {}, Analysis::Analytical, 1});
  rkernel::Layer l2{
      "L2", {{attention.keys, LoopKind::TemporalReduction, 0}}, {}, Analysis::Analytical, 1};
  constexpr double infinity = std::numeric_limits<double>::infinity();
  l2.carried = {{"maximum", {attention.m}, -infinity, "max(maximum, scores)", "max over parts"},
                {"sum",
                 {attention.m},
                 0,
                 "sum * e^(old - new maximum) + sum of e^(scores - maximum)",
                 "sum of e^(maximum - all) * sum"},
                {"accumulator",
                 {attention.m, attention.n},
                 0,
                 "accumulator * e^(old - new maximum) + e^(scores - maximum) * values",
                 "sum of e^(maximum - all) * accumulator"}};
  if (form == choice::ScoreForm::Panels)
    l2.moves.push_back({attention.k, attention_threads, attention_l2, MoveForm::Panels});
  l2.moves.push_back({attention.v, attention_threads, attention_l2, MoveForm::Panels});
  kernel.layers.push_back(std::move(l2));
  rkernel::Layer top{"threads",
                     {},
                     {{attention.q, attention_threads, attention_l2, MoveForm::RowCopy}},
                     Analysis::Analytical,
                     threads};
  for (int axis = 0; axis < attention.m; ++axis) top.loops.push_back({axis, LoopKind::Parallel, 1});
  top.loops.push_back({attention.keys, LoopKind::Parallel, 0});
  top.loops.push_back({attention.m, LoopKind::Parallel, 0});
  kernel.layers.push_back(std::move(top));
  return kernel;
}

}  // namespace dyn::cpu
