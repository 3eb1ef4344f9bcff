#pragma once
// What it costs to hand work to kernels and threads: measured for the cost model.

#include "targets/cpu/tile/main_loop.hpp"

namespace dyn::cpu {

struct Overheads {
  double call_seconds =
      0;  ///< a main loop without steps of K: its call, its tile's loads and stores
  double ticket_seconds = 0;    ///< taking a ticket from a counter that all threads take from
  double handover_seconds = 0;  ///< until a thread that waits has seen a flag, and its answer has
                                ///< been seen; 0 for one thread
};

/// The best of several rounds each; a few milliseconds. `loop`: that of a full tile of these rows
/// and columns. No more threads are started than there are processors: threads that wait for each
/// other on one processor would wait for its scheduler.
Overheads measure_overheads(MainLoop loop, const Tile& tile, int threads, int processors);

}  // namespace dyn::cpu
