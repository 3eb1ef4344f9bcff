#include "src/rkernel/tree/layer.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dyn::rkernel {
namespace {

void walk_from(const RKernel& kernel, Emitter& emitter, int level) {
  const Layer& layer = kernel.layers[static_cast<std::size_t>(level)];
  if (level == 0) {
    emitter.leaf(layer);
    return;
  }
  const bool ahead = std::any_of(layer.moves.begin(), layer.moves.end(),
                                 [](const Move& move) { return move.stages > 1; });
  for (std::size_t i = 0; i < layer.loops.size(); ++i) {
    if (ahead && i + 1 == layer.loops.size()) emitter.run_ahead(level, layer.moves);
    emitter.open(level, layer.loops[i]);
  }
  for (const Move& move : layer.moves) emitter.move(level, move);
  walk_from(kernel, emitter, level - 1);
  for (auto loop = layer.loops.rbegin(); loop != layer.loops.rend(); ++loop)
    emitter.close(level, *loop);
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

std::string axes_of(const Problem& problem, const Loop& loop) {
  const auto name = [&](int axis) { return problem.axes[static_cast<std::size_t>(axis)].name; };
  return loop.inner < 0 ? name(loop.axis) : name(loop.axis) + " and " + name(loop.inner);
}

const char* name_of(Analysis analysis) {
  switch (analysis) {
    case Analysis::Empirical: return "measured";
    case Analysis::Described: return "predicted from the description";
    case Analysis::Analytical: return "computed";
  }
  return "?";
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
    text += fmt::format("{}{} ({}, {} unit{})\n", indent, layer.name, name_of(layer.analysis),
                        layer.units, layer.units == 1 ? "" : "s");
    for (const Loop& loop : layer.loops) {
      indent += "  ";
      text += fmt::format("{}for {}: {}, tile {}\n", indent, axes_of(problem, loop),
                          name_of(loop.kind), tile_text(loop.tile));
    }
    for (const Carried& carried : layer.carried) {
      text += fmt::format("{}  carries {}: {} at first, then {}; parts merge as {}\n", indent,
                          carried.name, carried.initial, carried.update, carried.merge);
    }
    for (const Move& move : layer.moves) {
      const Operand& operand = problem.operands[static_cast<std::size_t>(move.operand)];
      text += fmt::format(
          "{}  move {}: {} -> {}, {}{}{}{}\n", indent, operand.name,
          kernel.layers[static_cast<std::size_t>(move.from_layer)].name,
          kernel.layers[static_cast<std::size_t>(move.to_layer)].name, name_of(move.form),
          move.dtype == operand.dtype ? "" : fmt::format(", as {}", dyn::name_of(move.dtype)),
          move.stages == 1 ? "" : fmt::format(", {} stages", move.stages),
          move.overlapped ? ", overlapped" : "");
    }
    indent += "  ";
  }
  return text;
}

}  // namespace dyn::rkernel
