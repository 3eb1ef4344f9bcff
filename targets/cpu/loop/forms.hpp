#pragma once
// The forms of a loop kernel: what a ticket does, by where the lanes run.

#include "targets/cpu/loop/context.hpp"

namespace dyn::cpu {

/// Element-wise work on a chunk of lanes along a parallel axis.
void emit_chunk(const LoopContext& context, const LoopRange& lanes);

/// Lanes along a parallel axis, each with reductions of its own. Serial axes are outside, lanes
/// inside, and accumulators in memory, so that memory is read in long runs, whatever the strides of
/// the serial axes.
void emit_reduced_chunk(const LoopContext& context, const LoopTicket& ticket,
                        const LoopRange& lanes);

/// The same where accumulators stay in registers from a window's first element to its last.
void emit_sliding_windows(const LoopContext& context, const LoopTicket& ticket);
/// Whether the reductions are over windows so small, and so few, that emit_sliding_windows() has
/// code for them.
bool slides_windows(const LoopContext& context);

/// Lanes along a reduction axis: a ticket is one row, read by one pass after the other.
void emit_reduced_row(const LoopContext& context, const LoopTicket& ticket);

/// Operands that lie along another axis than the lanes: square blocks are loaded as they lie and
/// transposed in registers. `lanes` and `steps`: the ticket's block of the two axes.
void emit_tiles(const LoopContext& context, const LoopRange& lanes, const LoopRange& steps);

}  // namespace dyn::cpu
