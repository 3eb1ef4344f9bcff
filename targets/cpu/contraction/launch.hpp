#pragma once
// A program for a contraction of known sizes, as the slots of its kernel.

#include "src/rkernel/target/target.hpp"
#include "targets/cpu/contraction/context.hpp"
#include "targets/cpu/contraction/emitter.hpp"

namespace dyn::cpu {

/// Writes blocks, tiles, tables and scratch of every region into `launch.ints`, which holds the
/// problem's values and grows by the further regions' slots; sets `launch.tickets` and
/// `launch.scratch_bytes`. Borders between regions along n are multiples of the panel.
void write_program(const ContractionContext& context, const StrategySlots& slots,
                   const choice::ContractionShape& shape, const rkernel::Program& program,
                   rkernel::Launch& launch);

/// The second stage of a program of one region whose K is split, for `threads` threads.
void write_merge(const ContractionContext& context, const StrategySlots& slots,
                 const choice::ContractionShape& shape, const rkernel::Strategy& strategy,
                 int threads, rkernel::Launch& launch);

}  // namespace dyn::cpu
