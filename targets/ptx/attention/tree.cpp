#include "targets/ptx/attention/tree.hpp"

#include <algorithm>
#include <limits>

#include "dyn/error.hpp"

namespace dyn::ptx {
namespace {

using choice::Engine;
using choice::GpuAttentionTile;
using rkernel::Analysis;
using rkernel::LoopKind;
using rkernel::MoveForm;

constexpr int lanes_along_columns = 8, fma_depth = 4, mma_tile_rows = 16, mma_tile_columns = 8;

const rkernel::Loop& attention_loop(const rkernel::RKernel& kernel, int layer, int axis) {
  for (const rkernel::Loop& loop : kernel.layers.at(static_cast<std::size_t>(layer)).loops) {
    if (loop.axis == axis) return loop;
  }
  throw Error(ErrorKind::internal, "layer " + std::to_string(layer) + " of the attention " +
                                       kernel.problem->name + " does not tile axis " +
                                       kernel.problem->axes[static_cast<std::size_t>(axis)].name);
}

/// FlashAttention-2, algorithm 1, lines 8 to 10; the merge of parts as its section 3.1.
std::vector<rkernel::Carried> carried_values(const rkernel::Attention& attention) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return {{"maximum", {attention.m}, -infinity, "max(maximum, scores)", "max over parts"},
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
}

}  // namespace

rkernel::RKernel attention_tree(const rkernel::Problem& problem, const GpuAttentionTile& tile,
                                int heads, const choice::GpuMachine& machine) {
  const rkernel::Attention& attention = *problem.attention;
  const bool tensor = tile.engine == Engine::TensorCores;
  const LoopKind over_lanes = tensor ? LoopKind::TemporalSpatial : LoopKind::Parallel;
  const int depth = !tensor ? fma_depth : size_of(tile.operands) == 2 ? 16 : 8;
  const int rows = tensor ? mma_tile_rows : tile.thread_rows(),
            columns = tensor ? mma_tile_columns : tile.width / lanes_along_columns;
  const MoveForm form = tensor ? MoveForm::Swizzled : MoveForm::RowCopy;
  rkernel::RKernel kernel{&problem, {}, 1};
  kernel.layers.push_back({"registers",
                           {{attention.d, LoopKind::TemporalReduction, depth},
                            {attention.keys, LoopKind::TemporalReduction, depth},
                            {attention.m, LoopKind::TemporalSpatial, rows, heads},
                            {attention.n, LoopKind::TemporalSpatial, columns}},
                           {},
                           Analysis::Described,
                           1});
  kernel.layers.push_back({"warp",
                           {{attention.m, over_lanes, rows, heads},
                            {attention.n, over_lanes, columns},
                            {attention.keys, LoopKind::TemporalReduction, depth},
                            {attention.d, LoopKind::TemporalReduction, depth}},
                           {},
                           Analysis::Described,
                           choice::warp_lanes});
  kernel.layers.push_back({"block",
                           {{attention.m, LoopKind::Parallel, tile.warp_m, heads},
                            {attention.keys, LoopKind::Parallel, tile.part_keys}},
                           {},
                           Analysis::Analytical,
                           tile.warps()});
  kernel.layers.push_back(
      {"shared",
       {{attention.keys, LoopKind::TemporalReduction, tile.block_keys()}},
       {{attention.k, attention_grid, attention_shared, form, tile.stages, tile.operands},
        {attention.v, attention_grid, attention_shared, form, tile.stages, tile.operands}},
       Analysis::Analytical,
       1,
       carried_values(attention)});
  rkernel::Layer grid{"grid",
                      {},
                      {{attention.q, attention_grid, attention_shared, form, 1, tile.operands}},
                      Analysis::Analytical,
                      std::max(1, machine.multiprocessors)};
  for (int axis = 0; axis < attention.m; ++axis) {
    if (axis != heads) grid.loops.push_back({axis, LoopKind::Parallel, 1});
  }
  grid.loops.push_back({attention.m, LoopKind::Parallel, tile.block_m, heads});
  grid.loops.push_back({attention.n, LoopKind::Parallel, tile.width});
  kernel.layers.push_back(std::move(grid));
  return kernel;
}

GpuAttentionTile attention_tile_of(const rkernel::RKernel& kernel, int depth) {
  const rkernel::Attention& attention = *kernel.problem->attention;
  const auto tile = [&](int layer, int axis) {
    return static_cast<int>(attention_loop(kernel, layer, axis).tile);
  };
  const rkernel::Move& move = kernel.layers.at(attention_shared).moves.at(0);
  GpuAttentionTile made;
  made.engine = move.form == MoveForm::Swizzled ? Engine::TensorCores : Engine::CudaCores;
  made.operands = move.dtype;
  made.warp_m = tile(attention_block, attention.m);
  made.block_m = tile(attention_grid, attention.m);
  made.part_keys = tile(attention_block, attention.keys);
  made.parts = tile(attention_shared, attention.keys) / made.part_keys;
  made.depth = depth;
  made.width = tile(attention_grid, attention.n);
  made.stages = move.stages;
  return made;
}

int attention_heads_of(const rkernel::RKernel& kernel) {
  return attention_loop(kernel, attention_grid, kernel.problem->attention->m).inner;
}

}  // namespace dyn::ptx
