#include "src/choice/gpu/programs.hpp"

#include <algorithm>
#include <array>

#include "src/base/rounding.hpp"
#include "src/choice/calibration/calibration.hpp"
#include "src/rkernel/target/device.hpp"

namespace dyn::choice {
namespace {

constexpr int most_waves_back = 2;

// The first tile has what lies before the cut.
std::vector<GpuRegion> cut_at(const GpuContraction& shape, const GpuPair& pair, bool rows,
                              std::int64_t at) {
  if (rows)
    return {{pair.first, 0, at, 0, shape.n, {}}, {pair.second, at, shape.m - at, 0, shape.n, {}}};
  return {{pair.first, 0, shape.m, 0, at, {}}, {pair.second, 0, shape.m, at, shape.n - at, {}}};
}

// Whole strips of blocks of the first tile that fill waves; both cuts beside where the wave ends.
template <class Visit>
void for_each_cut(const GpuContraction& shape, const GpuTile& first, std::int64_t wave_blocks,
                  bool rows, Visit&& visit) {
  const std::int64_t along = rows ? shape.m : shape.n, block = rows ? first.block_m : first.block_n;
  if (!rows && block % column_unit != 0) return;
  const std::int64_t in_strip =
      shape.batch * (rows ? ceil_div(shape.n, first.block_n) : ceil_div(shape.m, first.block_m));
  const std::int64_t strips = along / block, waves = strips * in_strip / wave_blocks;
  std::int64_t before = 0;
  for (std::int64_t wave = waves; wave > std::max<std::int64_t>(0, waves - most_waves_back);
       --wave) {
    for (const std::int64_t cut : {std::min(strips, ceil_div(wave * wave_blocks, in_strip)),
                                   wave * wave_blocks / in_strip}) {
      if (cut == before || cut == 0 || cut * block >= along) continue;
      before = cut;
      visit(cut * block);
    }
  }
}

// `resident`: blocks on each multiprocessor. Blocks of one wave share the tiles of the last one or
// two; or of the last one, so that each multiprocessor has one block.
std::vector<GpuSplit> splits_of(std::int64_t tiles, std::int64_t steps,
                                std::int64_t multiprocessors, std::int64_t resident) {
  std::vector<GpuSplit> splits;
  const std::int64_t wave = multiprocessors * resident;
  if (wave == 0 || tiles % wave == 0) return splits;
  const auto add = [&](std::int64_t shared, std::int64_t span) {
    const GpuSplit split{shared, span};
    if (span < steps && shared * steps <= most_shared_steps && shared <= rkernel::most_counters &&
        std::ranges::find(splits, split) == splits.end())
      splits.push_back(split);
  };
  const std::int64_t last = tiles % wave;
  for (const std::int64_t blocks : {wave, multiprocessors}) {
    add(last, ceil_div(last * steps, blocks));
    if (const std::int64_t parts = blocks / last; parts > 1) add(last, ceil_div(steps, parts));
  }
  if (tiles > wave) add(last + wave, ceil_div((last + wave) * steps, wave));
  return splits;
}

GpuProgram one_region(const GpuChoice& alone, const GpuContraction& sizes) {
  return {{{static_cast<std::size_t>(alone.tile), 0, sizes.m, 0, sizes.n, {}}}, alone.seconds};
}

// `one`: of the tile `alone`.
GpuProgram best_beside_one_region(const GpuMachine& machine, const GpuShapeFor& shape_for,
                                  const std::vector<GpuTile>& tiles,
                                  const std::vector<GpuPair>& pairs, bool split,
                                  const GpuTile& alone, const GpuProgram& one) {
  GpuProgram best = one;
  const auto take = [&](const GpuProgram& program, double worth) {
    if (program.seconds < std::min(best.seconds, worth * one.seconds)) best = program;
  };
  for_each_gpu_cut(machine, shape_for, tiles, pairs, alone, [&](const GpuProgram& program) {
    take(program, default_calibration().gpu_worth_two_regions);
  });
  if (!split) return best;
  for_each_gpu_split(machine, shape_for, tiles, [&](const GpuProgram& program) {
    take(program, default_calibration().gpu_worth_sharing);
  });
  return best;
}

}  // namespace

double gpu_program_cost(const GpuMachine& machine, const GpuShapeFor& shape_for,
                        const std::vector<GpuTile>& tiles, const std::vector<GpuRegion>& regions,
                        CostBreakdown* breakdown) {
  std::vector<GpuPart> parts;
  for (const GpuRegion& region : regions) {
    GpuPart part{shape_for(tiles[region.tile]), tiles[region.tile], region.m0, region.n0,
                 region.split};
    part.shape.m = region.m;
    part.shape.n = region.n;
    parts.push_back(part);
  }
  return gpu_program_cost(machine, parts, breakdown);
}

void for_each_gpu_cut(const GpuMachine& machine, const GpuShapeFor& shape_for,
                      const std::vector<GpuTile>& tiles, const std::vector<GpuPair>& pairs,
                      const GpuTile& alone, const std::function<void(const GpuProgram&)>& visit) {
  const GpuContraction shape = shape_for(alone);
  const auto wave_blocks = [&](std::span<const GpuTile> of) {
    return std::int64_t{machine.multiprocessors} * program_occupancy(machine, of).blocks;
  };
  const std::int64_t blocks = shape.batch * ceil_div(shape.m, alone.block_m) *
                              ceil_div(shape.n, alone.block_n),
                     wave = wave_blocks({&alone, 1});
  if (wave == 0 || blocks % wave == 0 ||
      static_cast<double>(blocks % wave) >
          default_calibration().gpu_nearly_full * static_cast<double>(wave))
    return;
  for (const GpuPair& pair : pairs) {
    const std::array both{tiles[pair.first], tiles[pair.second]};
    const std::int64_t of_both = wave_blocks(both);
    if (of_both == 0) continue;
    for (const bool rows : {true, false}) {
      for_each_cut(shape, both[0], of_both, rows, [&](std::int64_t at) {
        std::vector<GpuRegion> regions = cut_at(shape, pair, rows, at);
        const double seconds = gpu_program_cost(machine, shape_for, tiles, regions);
        visit({std::move(regions), seconds});
      });
    }
  }
}

void for_each_gpu_split(const GpuMachine& machine, const GpuShapeFor& shape_for,
                        const std::vector<GpuTile>& tiles,
                        const std::function<void(const GpuProgram&)>& visit) {
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    const GpuTile& tile = tiles[i];
    if (!tile.can_be_shared()) continue;
    const GpuContraction shape = shape_for(tile);
    const std::int64_t blocks =
        shape.batch * ceil_div(shape.m, tile.block_m) * ceil_div(shape.n, tile.block_n);
    const std::int64_t resident = program_occupancy(machine, {&tile, 1}).blocks;
    for (const GpuSplit& split :
         splits_of(blocks, ceil_div(shape.k, tile.block_k), machine.multiprocessors, resident)) {
      std::vector<GpuRegion> regions{{i, 0, shape.m, 0, shape.n, split}};
      const double seconds = gpu_program_cost(machine, shape_for, tiles, regions);
      visit({std::move(regions), seconds});
    }
  }
}

GpuProgram select_gpu_program(const GpuMachine& machine, const GpuShapeFor& shape_for,
                              const std::vector<GpuTile>& tiles, const std::vector<GpuPair>& pairs,
                              bool split) {
  const GpuChoice alone = select_gpu_tile(machine, shape_for, tiles);
  if (alone.tile < 0) return {};
  const GpuTile& tile = tiles[static_cast<std::size_t>(alone.tile)];
  return best_beside_one_region(machine, shape_for, tiles, pairs, split, tile,
                                one_region(alone, shape_for(tile)));
}

GpuProgram select_gpu_program(const GpuMachine& machine, const GpuShapeFor& shape_for,
                              const GpuTileSearch& search, const GpuContraction& sizes,
                              const std::vector<GpuPair>& pairs, bool split) {
  const GpuChoice alone = search.cheapest(sizes);
  if (alone.tile < 0) return {};
  return best_beside_one_region(machine, shape_for, search.candidates(), pairs, split,
                                search.tile(alone), one_region(alone, sizes));
}

}  // namespace dyn::choice
