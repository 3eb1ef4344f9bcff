#include <algorithm>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/rkernel/tree/layer.hpp"

namespace dyn::rkernel {
namespace {

using Lines = std::vector<std::string>;

/// A thread needs so many registers for addresses, counters and the operands of one instruction,
/// beside its outputs.
constexpr int working_registers = 32;

/// The extent of each axis that layers 0 to `level` cover: the nearest known tile, 1 where none is.
std::vector<std::int64_t> extents_at(const RKernel& kernel, int level) {
  std::vector<std::int64_t> extents(kernel.problem->axes.size(), 1);
  for (int i = 0; i <= level; ++i) {
    for (const Loop& loop : kernel.layers[static_cast<std::size_t>(i)].loops) {
      if (loop.tile > 0) extents[static_cast<std::size_t>(loop.axis)] = loop.tile;
    }
  }
  return extents;
}

/// True where parts of a reduction can be merged.
bool merges(const RKernel& kernel) {
  return std::ranges::any_of(kernel.layers, [](const Layer& layer) {
    return !layer.carried.empty() &&
           std::ranges::none_of(layer.carried,
                                [](const Carried& carried) { return carried.merge.empty(); });
  });
}

bool has_loop(const RKernel& kernel, int axis) {
  return std::ranges::any_of(kernel.layers, [axis](const Layer& layer) {
    return std::ranges::any_of(layer.loops, [axis](const Loop& loop) { return loop.axis == axis; });
  });
}

void check_loops(const RKernel& kernel, Lines& found) {
  const Problem& problem = *kernel.problem;
  std::vector<std::int64_t> below(problem.axes.size(), 1);
  for (const Layer& layer : kernel.layers) {
    for (const Loop& loop : layer.loops) {
      const Axis& axis = problem.axes[static_cast<std::size_t>(loop.axis)];
      std::int64_t& tile = below[static_cast<std::size_t>(loop.axis)];
      if (axis.kind == AxisKind::Reduction && loop.kind == LoopKind::Parallel && !merges(kernel)) {
        found.push_back(
            fmt::format("layer {} runs the reduction axis {} in parallel", layer.name, axis.name));
      }
      if (axis.kind == AxisKind::Parallel && loop.kind == LoopKind::TemporalReduction) {
        found.push_back(
            fmt::format("layer {} reduces over the parallel axis {}", layer.name, axis.name));
      }
      if (loop.tile > 0 && loop.tile % tile != 0) {
        found.push_back(fmt::format("layer {}: tile {} of axis {} is no multiple of {} below",
                                    layer.name, loop.tile, axis.name, tile));
      }
      if (loop.tile > 0) tile = loop.tile;
      if (loop.inner >= 0 && has_loop(kernel, loop.inner)) {
        found.push_back(
            fmt::format("layer {} counts axis {} with {}, which has loops of its own", layer.name,
                        problem.axes[static_cast<std::size_t>(loop.inner)].name, axis.name));
      }
    }
  }
}

/// The extent that one iteration of the nearest loop over an axis above `level` covers; 0: not
/// known.
std::int64_t tile_above(const RKernel& kernel, std::size_t level, int axis) {
  for (std::size_t above = level + 1; above < kernel.layers.size(); ++above) {
    for (const Loop& loop : kernel.layers[above].loops) {
      if (loop.axis == axis) return loop.tile;
    }
  }
  return 0;
}

void check_units(const RKernel& kernel, Lines& found) {
  for (std::size_t level = 1; level + 1 < kernel.layers.size(); ++level) {
    const Layer& layer = kernel.layers[level];
    std::int64_t trips = 1;
    bool known = false;
    for (const Loop& loop : layer.loops) {
      if (loop.kind != LoopKind::Parallel) continue;
      const std::int64_t extent = tile_above(kernel, level, loop.axis);
      known = extent > 0 && loop.tile > 0;
      if (!known) break;
      trips *= extent / loop.tile;
    }
    if (known && trips != layer.units) {
      found.push_back(fmt::format("layer {} has {} parallel iterations for {} units", layer.name,
                                  trips, layer.units));
    }
  }
}

void check_moves(const RKernel& kernel, const Limits& limits, Lines& found) {
  const int layers = static_cast<int>(kernel.layers.size());
  std::int64_t bytes = 0;
  for (int level = 0; level < layers; ++level) {
    const Layer& layer = kernel.layers[static_cast<std::size_t>(level)];
    for (const Move& move : layer.moves) {
      if (move.from_layer < move.to_layer || move.from_layer >= layers) {
        found.push_back(fmt::format("layer {} moves an operand upwards", layer.name));
      }
      if (move.stages < 1)
        found.push_back(fmt::format("layer {} has a move of {} stages", layer.name, move.stages));
      // Registers are not what threads share.
      if (!kernel.problem->contraction || move.to_layer == 0) continue;
      const Contraction& contraction = *kernel.problem->contraction;
      const std::vector<std::int64_t> extents = extents_at(kernel, layers - 1);
      const int spatial = move.operand == contraction.a ? contraction.m : contraction.n;
      bytes += extents[static_cast<std::size_t>(spatial)] *
               extents[static_cast<std::size_t>(contraction.k)] * move.stages *
               static_cast<std::int64_t>(size_of(move.dtype));
    }
  }
  if (limits.staged_bytes > 0 && bytes > limits.staged_bytes) {
    found.push_back(fmt::format("the stages need {} bytes of {}", bytes, limits.staged_bytes));
  }
}

void check_vector_registers(const RKernel& kernel, const Limits& limits, Lines& found) {
  // With steps of K along the lanes each output has a register, else each vector of columns.
  std::int64_t rows = 1, columns = 1, depth = 1;
  for (const Loop& loop : kernel.layers.front().loops) {
    if (loop.axis == kernel.problem->contraction->k) depth = loop.tile;
    if (loop.axis == kernel.problem->contraction->m) rows = loop.tile;
    if (loop.axis == kernel.problem->contraction->n) columns = loop.tile;
  }
  const std::int64_t vectors =
      depth == kernel.vector_width ? columns : columns / kernel.vector_width;
  const std::int64_t needed = rows * vectors + 1 + (rows > 1 ? vectors : 0);
  if (needed > limits.vector_registers) {
    found.push_back(fmt::format("a {} x {} tile needs {} vector registers of {}", rows, columns,
                                needed, limits.vector_registers));
  }
}

// Outputs stay with their thread through the whole reduction, so the registers of a block's threads
// hold all outputs of the block at once.
void check_threads(const RKernel& kernel, const Limits& limits, Lines& found) {
  const int threads = threads_below_top(kernel);
  if (limits.threads > 0 && threads > limits.threads)
    found.push_back(fmt::format("{} threads of {}", threads, limits.threads));
  const Contraction& contraction = *kernel.problem->contraction;
  const std::vector<std::int64_t> extents =
      extents_at(kernel, static_cast<int>(kernel.layers.size()) - 1);
  const std::int64_t outputs = extents[static_cast<std::size_t>(contraction.m)] *
                               extents[static_cast<std::size_t>(contraction.n)];
  const std::int64_t needed = outputs / threads + working_registers;
  if (needed > limits.thread_registers) {
    found.push_back(fmt::format("{} outputs of one thread need {} registers of {}",
                                outputs / threads, needed, limits.thread_registers));
  }
}

}  // namespace

int threads_below_top(const RKernel& kernel) {
  int threads = 1;
  for (std::size_t level = 1; level + 1 < kernel.layers.size(); ++level)
    threads *= kernel.layers[level].units;
  return threads;
}

std::vector<std::string> illegalities(const RKernel& kernel, const Limits& limits) {
  Lines found;
  check_loops(kernel, found);
  check_units(kernel, found);
  check_moves(kernel, limits, found);
  if (!kernel.problem->contraction || kernel.layers.empty()) return found;
  if (limits.vector_registers > 0) check_vector_registers(kernel, limits, found);
  if (limits.thread_registers > 0) check_threads(kernel, limits, found);
  return found;
}

void legalise(const RKernel& kernel, const Limits& limits) {
  const Lines found = illegalities(kernel, limits);
  if (found.empty()) return;
  std::string text = fmt::format("the rKernel of {} is not legal:", kernel.problem->name);
  for (const std::string& line : found) text += "\n  " + line;
  throw Error(ErrorKind::internal, text);
}

}  // namespace dyn::rkernel
