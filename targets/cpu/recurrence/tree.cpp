#include "targets/cpu/recurrence/kernel.hpp"

namespace dyn::cpu {

using rkernel::LoopKind;

rkernel::RKernel recurrence_rkernel(const rkernel::Problem& problem, const codegen::Isa& isa,
                                    RecurrenceForm form, int threads) {
  using rkernel::Analysis;
  const rkernel::Recurrence& recurrence = *problem.recurrence;
  const int gates = rkernel::gates_of(recurrence.cell.kind);
  const CellTile tile = cell_tile(isa, form, gates);
  rkernel::RKernel kernel{&problem, {}, isa.f32_lanes};
  kernel.layers.push_back(
      {"registers",
       {{recurrence.k, LoopKind::TemporalReduction, 1},
        {recurrence.b, LoopKind::TemporalSpatial, tile.rows},
        {recurrence.g, LoopKind::TemporalSpatial, gates},
        {recurrence.n, LoopKind::TemporalSpatial, std::int64_t{tile.vectors} * isa.f32_lanes}},
       {},
       Analysis::Analytical,
       1});
  kernel.layers.push_back(
      {"L1",
       {{recurrence.n, LoopKind::TemporalSpatial, 0}, {recurrence.b, LoopKind::TemporalSpatial, 0}},
       {},
       Analysis::Analytical,
       1});
  rkernel::Layer steps{
      "L2", {{recurrence.t, LoopKind::TemporalReduction, 1}}, {}, Analysis::Analytical, 1};
  steps.carried = {{"state",
                    {recurrence.b, recurrence.n},
                    0,
                    "the cell's function of the gates and of state * weights",
                    ""}};
  kernel.layers.push_back(std::move(steps));
  kernel.layers.push_back(
      {"threads",
       {{recurrence.d, LoopKind::Parallel, 1}, {recurrence.b, LoopKind::Parallel, 0}},
       {},
       Analysis::Analytical,
       threads});
  return kernel;
}

}  // namespace dyn::cpu
