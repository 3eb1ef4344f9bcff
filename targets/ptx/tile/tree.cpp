#include "targets/ptx/tile/tree.hpp"

#include <algorithm>

#include "dyn/error.hpp"
#include "targets/ptx/tile/problem_tile.hpp"

namespace dyn::ptx {
namespace {

using choice::Engine;
using choice::GpuTile;
using choice::warp_lanes;
using rkernel::Analysis;
using rkernel::Layer;
using rkernel::Loop;
using rkernel::LoopKind;

// Depth of one instruction; a multiply-add has 1.
int instruction_k(const GpuTile& tile) {
  return tile.engine == Engine::CudaCores ? 1 : choice::mma_depth(tile.operands);
}

int tile_along(const rkernel::RKernel& kernel, int layer, int axis) {
  for (const Loop& loop : kernel.layers.at(static_cast<std::size_t>(layer)).loops) {
    if (loop.axis == axis) return static_cast<int>(loop.tile);
  }
  throw Error(ErrorKind::internal, "layer " + std::to_string(layer) + " of the contraction " +
                                       kernel.problem->name + " does not tile axis " +
                                       kernel.problem->axes[static_cast<std::size_t>(axis)].name);
}

}  // namespace

rkernel::RKernel contraction_tree(const rkernel::Problem& problem, const GpuTile& tile,
                                  const choice::GpuMachine& machine) {
  const rkernel::Contraction& contraction = *problem.contraction;
  const int a = contraction.a, b = contraction.b, m = contraction.m, n = contraction.n,
            k = contraction.k;
  const bool cuda_cores = tile.engine == Engine::CudaCores;
  const LoopKind over_lanes = cuda_cores ? LoopKind::Parallel : LoopKind::TemporalSpatial;
  const int depth = instruction_k(tile);
  const auto staged = [&](int factor) {
    return tile.staged(problem.operands[static_cast<std::size_t>(factor)].dtype);
  };
  const Analysis lowest =
      choice::stage_time(machine, tile) != nullptr ? Analysis::Empirical : Analysis::Described;
  rkernel::RKernel kernel{&problem, {}, 1};
  kernel.layers.push_back({"registers",
                           {{k, LoopKind::TemporalReduction, depth},
                            {m, LoopKind::TemporalSpatial, tile.thread_m},
                            {n, LoopKind::TemporalSpatial, tile.thread_n}},
                           {},
                           lowest,
                           1});
  kernel.layers.push_back({"warp",
                           {{m, over_lanes, tile.thread_m},
                            {n, over_lanes, tile.thread_n},
                            {k, LoopKind::TemporalReduction, depth}},
                           {},
                           lowest,
                           warp_lanes});
  if (tile.ahead) {
    for (const int factor : {a, b})
      kernel.layers.back().moves.push_back(
          {factor, shared_layer, register_layer, rkernel::MoveForm::AsItLies, 2, tile.operands});
  }
  kernel.layers.push_back(
      {"block",
       {{m, LoopKind::Parallel, tile.warp_m}, {n, LoopKind::Parallel, tile.warp_n}},
       {},
       Analysis::Analytical,
       tile.warps()});
  const auto form = cuda_cores ? rkernel::MoveForm::RowCopy : rkernel::MoveForm::Swizzled;
  kernel.layers.push_back(
      {"shared",
       {{k, LoopKind::TemporalReduction, tile.block_k}},
       {{a, grid_layer, shared_layer, form, tile.stages, staged(a), tile.overlapped},
        {b, grid_layer, shared_layer, form, tile.stages, staged(b), tile.overlapped}},
       Analysis::Analytical,
       1});
  Layer grid{"grid", {}, {}, Analysis::Analytical, std::max(1, machine.multiprocessors)};
  for (int axis = 0; axis < static_cast<int>(problem.axes.size()); ++axis) {
    if (axis != m && axis != n && axis != k) grid.loops.push_back({axis, LoopKind::Parallel, 1});
  }
  grid.loops.push_back({m, LoopKind::Parallel, tile.block_m});
  grid.loops.push_back({n, LoopKind::Parallel, tile.block_n});
  kernel.layers.push_back(std::move(grid));
  return kernel;
}

GpuTile tile_of(const rkernel::RKernel& kernel) {
  const rkernel::Contraction& contraction = *kernel.problem->contraction;
  const int m = contraction.m, n = contraction.n, k = contraction.k;
  const rkernel::Move& move = kernel.layers.at(shared_layer).moves.at(0);
  GpuTile tile;
  tile.engine =
      tile_along(kernel, register_layer, k) == 1 ? Engine::CudaCores : Engine::TensorCores;
  tile.operands = size_of(move.dtype) == 1 ? DType::i8 : move.dtype;
  tile.thread_m = tile_along(kernel, register_layer, m);
  tile.thread_n = tile_along(kernel, register_layer, n);
  tile.warp_m = tile_along(kernel, block_layer, m);
  tile.warp_n = tile_along(kernel, block_layer, n);
  tile.block_m = tile_along(kernel, grid_layer, m);
  tile.block_n = tile_along(kernel, grid_layer, n);
  tile.block_k = tile_along(kernel, shared_layer, k);
  tile.stages = move.stages;
  tile.overlapped = move.overlapped;
  tile.ahead = !kernel.layers.at(warp_layer).moves.empty();
  return for_problem(tile, *kernel.problem);
}

rkernel::Limits architecture_limits() {
  // CUDA C++ Programming Guide, technical specifications per compute capability: 227 KB of shared
  // memory a block is the most, on 9.0.
  return {
      .vector_registers = 0, .thread_registers = 255, .threads = 1024, .staged_bytes = 227 * 1024};
}

}  // namespace dyn::ptx
