#include "src/rkernel/layer.hpp"

#include <fmt/format.h>

#include "dyn/error.hpp"

namespace dyn::rkernel {
namespace {

void walk_from(const RKernel& kernel, Emitter& emitter, int level) {
  const Layer& layer = kernel.layers[static_cast<std::size_t>(level)];
  if (level == 0) {
    emitter.leaf(layer);
    return;
  }
  for (const Loop& loop : layer.loops) emitter.open(level, loop);
  for (const Move& move : layer.moves) emitter.move(level, move);
  walk_from(kernel, emitter, level - 1);
  for (auto loop = layer.loops.rbegin(); loop != layer.loops.rend(); ++loop) emitter.close(level, *loop);
}

const char* name_of(LoopKind kind) {
  switch (kind) {
    case LoopKind::Parallel: return "parallel";
    case LoopKind::TemporalSpatial: return "temporal spatial";
    case LoopKind::TemporalReduction: return "temporal reduction";
  }
  return "?";
}

const char* name_of(MoveForm form) {
  switch (form) {
    case MoveForm::AsItLies: return "as it lies";
    case MoveForm::RowCopy: return "row copy";
    case MoveForm::Panels: return "panels";
    case MoveForm::Swizzled: return "swizzled";
  }
  return "?";
}

std::string tile_text(std::int64_t tile) {
  return tile > 0 ? fmt::format("{}", tile) : tile == 0 ? "chosen per call" : "all";
}

}  // namespace

void walk(const RKernel& kernel, Emitter& emitter) {
  walk_from(kernel, emitter, static_cast<int>(kernel.layers.size()) - 1);
}

std::string to_string(const RKernel& kernel) {
  std::string text;
  const Problem& problem = *kernel.problem;
  std::string indent;
  for (std::size_t level = kernel.layers.size(); level-- > 0;) {
    const Layer& layer = kernel.layers[level];
    text += fmt::format("{}{} ({}, {} unit{})\n", indent, layer.name,
                        layer.analysis == Analysis::Empirical ? "measured" : "computed", layer.units,
                        layer.units == 1 ? "" : "s");
    for (const Loop& loop : layer.loops) {
      indent += "  ";
      text += fmt::format("{}for {}: {}, tile {}\n", indent, problem.axes[static_cast<std::size_t>(loop.axis)].name,
                          name_of(loop.kind), tile_text(loop.tile));
    }
    for (const Move& move : layer.moves) {
      text += fmt::format("{}  move {}: {} -> {}, {}\n", indent,
                          problem.operands[static_cast<std::size_t>(move.operand)].name,
                          kernel.layers[static_cast<std::size_t>(move.from_layer)].name,
                          kernel.layers[static_cast<std::size_t>(move.to_layer)].name, name_of(move.form));
    }
    indent += "  ";
  }
  return text;
}

std::vector<std::string> illegalities(const RKernel& kernel, int vector_registers) {
  std::vector<std::string> found;
  const Problem& problem = *kernel.problem;
  const int layers = static_cast<int>(kernel.layers.size());
  std::vector<std::int64_t> below(problem.axes.size(), 1);
  for (int level = 0; level < layers; ++level) {
    const Layer& layer = kernel.layers[static_cast<std::size_t>(level)];
    for (const Loop& loop : layer.loops) {
      const Axis& axis = problem.axes[static_cast<std::size_t>(loop.axis)];
      std::int64_t& tile = below[static_cast<std::size_t>(loop.axis)];
      if (axis.kind == AxisKind::Reduction && loop.kind == LoopKind::Parallel) {
        found.push_back(fmt::format("layer {} runs the reduction axis {} in parallel", layer.name, axis.name));
      }
      if (axis.kind == AxisKind::Parallel && loop.kind == LoopKind::TemporalReduction) {
        found.push_back(fmt::format("layer {} reduces over the parallel axis {}", layer.name, axis.name));
      }
      if (loop.tile > 0 && loop.tile % tile != 0) {
        found.push_back(fmt::format("layer {}: tile {} of axis {} is no multiple of {} below", layer.name, loop.tile,
                                    axis.name, tile));
      }
      if (loop.tile > 0) tile = loop.tile;
    }
    for (const Move& move : layer.moves) {
      if (move.from_layer < move.to_layer || move.from_layer >= layers) {
        found.push_back(fmt::format("layer {} moves an operand upwards", layer.name));
      }
    }
  }
  if (problem.contraction && !kernel.layers.empty()) {
    std::int64_t rows = 1, columns = 1;
    for (const Loop& loop : kernel.layers.front().loops) {
      if (loop.axis == problem.contraction->m) rows = loop.tile;
      if (loop.axis == problem.contraction->n) columns = loop.tile;
    }
    const std::int64_t vectors = columns / kernel.vector_width;
    const std::int64_t needed = rows * vectors + 1 + (rows > 1 ? vectors : 0);
    if (needed > vector_registers) {
      found.push_back(fmt::format("a {} x {} tile needs {} vector registers of {}", rows, columns, needed, vector_registers));
    }
  }
  return found;
}

void legalise(const RKernel& kernel, int vector_registers) {
  const std::vector<std::string> found = illegalities(kernel, vector_registers);
  if (found.empty()) return;
  std::string text = fmt::format("the rKernel of {} is not legal:", kernel.problem->name);
  for (const std::string& line : found) text += "\n  " + line;
  throw Error(ErrorKind::internal, text);
}

}  // namespace dyn::rkernel
