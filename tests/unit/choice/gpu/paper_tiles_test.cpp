// The spaces of the papers' policies on described GPUs, compared with plain enumeration.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>

#include "src/base/rounding.hpp"
#include "src/choice/gpu/programs.hpp"
#include "src/choice/gpu/tile_traffic.hpp"
#include "src/choice/gpu/wave.hpp"
#include "src/choice/policies/gpu/ftuner_tiles.hpp"
#include "src/choice/policies/gpu/gpu_paper.hpp"
#include "src/choice/policies/gpu/mikpoly_tiles.hpp"
#include "src/choice/policies/gpu/paper_spaces.hpp"
#include "src/choice/policies/gpu/pool_tiles.hpp"
#include "src/choice/policies/gpu/vortex_tiles.hpp"
#include "src/choice/policies/vortex/vortex.hpp"
#include "targets/ptx/gpus/gpu_descriptions.hpp"
#include "tests/support/relative.hpp"
#include "tests/support/seed.hpp"

using namespace dyn;
using namespace dyn::choice;
using dyn::testing::rounding;
using rkernel::Policy;

namespace {

constexpr GpuKind bf16_mma{Engine::TensorCores, DType::bf16}, cuda{Engine::CudaCores, DType::f32};
constexpr Policy papers[] = {Policy::Vortex, Policy::MikPoly, Policy::FTuner, Policy::TSCompiler,
                             Policy::DietCode};

int blocks_at_once(const GpuMachine& machine, const GpuTile& tile) {
  return program_occupancy(machine, {&tile, 1}).blocks;
}

/// A bf16 product: CUDA cores copy it by element.
GpuContraction bf16_form(const GpuTile& tile) {
  const bool vectors = tile.engine == Engine::TensorCores;
  return {.a_element_bytes = 2, .b_element_bytes = 2, .a_vectors = vectors, .b_vectors = vectors};
}

/// No space has a tile that the emitters refuse.
void check_emitted(const GpuMachine& machine, const GpuTile& tile) {
  CAPTURE(tile.to_string());
  CHECK(blocks_at_once(machine, tile) > 0);
  CHECK(tile.threads() <= 1024);
  CHECK(tile.block_m % tile.warp_m == 0);
  CHECK(tile.block_n % tile.warp_n == 0);
  CHECK(tile.stages >= 2);
  CHECK(tile.stages <= 4);
  if (tile.engine == Engine::TensorCores) {
    CHECK(tile.block_k % mma_depth(tile.operands) == 0);
    CHECK(tile.warp_m % 16 == 0);
    CHECK(tile.warp_n >= 16);
    CHECK((tile.warp_n & (tile.warp_n - 1)) == 0);
    CHECK(tile.warp_m * tile.warp_n <= 128 * 32);
  } else {
    CHECK((tile.warp_m / tile.thread_m) * (tile.warp_n / tile.thread_n) == 32);
    CHECK(tile.block_k % 4 == 0);
    CHECK(tile.block_n % 4 == 0);
    CHECK(tile.thread_m * tile.thread_n <= 64);
  }
}

using Sizes = std::array<int, 7>;
Sizes sizes_of(const GpuTile& tile) {
  return {tile.thread_m, tile.thread_n, tile.warp_m, tile.warp_n,
          tile.block_m,  tile.block_n,  tile.block_k};
}

std::set<Sizes> sizes_of(const std::vector<GpuTile>& tiles) {
  std::set<Sizes> sizes;
  for (const GpuTile& tile : tiles) sizes.insert(sizes_of(tile));
  return sizes;
}

bool is_multiple(int value) {
  while (value % 2 == 0) value /= 2;
  return value == 1 || value == 3;
}

double block_cost(const GpuMachine& machine, const GpuTile& tile) {
  const int blocks = blocks_at_once(machine, tile);
  return steady_stage_seconds(gpu_wave(machine, timed_form(tile, tile.block_k), tile, blocks)) /
         blocks;
}

/// With stages for it, and registers beside the sums for two steps' fragments.
bool loads_ahead(const GpuTile& tile) {
  return tile.engine == Engine::TensorCores && tile.stages > 2 &&
         tile.warp_m * tile.warp_n / 32 + (tile.warp_m + tile.warp_n) / 2 <= 200;
}

}  // namespace

TEST_CASE("a warp's strategies are what the instruction set and its registers admit") {
  const std::vector<GpuTile> mma = warps_by_isa(bf16_mma), lanes = warps_by_isa(cuda);
  // 16 and 32 rows by 16 to 128 columns, 48 and 64 by up to 64, 96 and 128 by up to 32.
  CHECK(mma.size() == 4 + 4 + 3 + 3 + 2 + 2);
  // 4 grids of lanes, 6 numbers of rows, one or two vectors of columns.
  CHECK(lanes.size() == 4 * 6 * 2);
  for (const GpuTile& warp : lanes)
    CHECK((warp.warp_m / warp.thread_m) * (warp.warp_n / warp.thread_n) == 32);
  CHECK(sizes_of(mma).size() == mma.size());
  CHECK(sizes_of(lanes).size() == lanes.size());
}

TEST_CASE("vortex's tiles are all multiples of warps that fill a multiprocessor, by enumeration") {
  const GpuMachine& machine = ptx::described_gpu("a100");
  const double capacity = machine.shared_bytes_per_multiprocessor;
  for (const GpuKind& kind : {bf16_mma, cuda}) {
    std::set<Sizes> expected;
    for (GpuTile tile : warps_by_isa(kind)) {
      for (int i = 1; i <= 32; ++i) {
        for (int j = 1; i * j <= 32; ++j) {
          for (int l = 1; l <= 256; ++l) {
            if (!is_multiple(i) || !is_multiple(j) || !is_multiple(l)) continue;
            tile.block_m = i * tile.warp_m;
            tile.block_n = j * tile.warp_n;
            tile.block_k = l * (kind.engine == Engine::TensorCores ? 16 : 8);
            tile.stages = 2;
            const double filled = 2.0 * (tile.a_stage_bytes() + tile.b_stage_bytes());
            if (filled <= 0.75 * capacity && filled >= capacity / 64 &&
                blocks_at_once(machine, tile) > 0)
              expected.insert(sizes_of(tile));
          }
        }
      }
    }
    const std::vector<RatedTile> all = all_vortex_tiles(machine, {kind});
    std::set<Sizes> found;
    std::map<std::array<int, 3>, double> least;
    for (const RatedTile& one : all) {
      found.insert(sizes_of(one.tile));
      const std::array block{one.tile.block_m, one.tile.block_n, one.tile.block_k};
      const auto [known, fresh] = least.try_emplace(block, one.seconds);
      if (!fresh) known->second = std::min(known->second, one.seconds);
    }
    CHECK(found == expected);
    CHECK(found.size() == all.size());
    const std::vector<GpuTile> best = best_vortex_tiles(all);
    CHECK(best.size() == least.size());
    for (const GpuTile& tile : best) {
      check_emitted(machine, tile);
      CHECK(block_cost(machine, tile) == least.at({tile.block_m, tile.block_n, tile.block_k}));
    }
    MESSAGE(all.size() << " strategies, " << best.size() << " blocks");
  }
}

TEST_CASE("the stages of a tile are those that take the least time, of equal ones the fewest") {
  const GpuMachine& machine = ptx::described_gpu("h200");
  std::mt19937_64 random(dyn::testing::test_seed());
  const std::vector<RatedTile> all = all_vortex_tiles(machine, {bf16_mma, cuda});
  for (int i = 0; i < 200; ++i) {
    GpuTile tile = all[random() % all.size()].tile;
    const GpuTile chosen = with_stages(machine, tile).value().tile;
    for (const int stages : {2, 3, 4}) {
      tile.stages = stages;
      tile.ahead = loads_ahead(tile);
      if (blocks_at_once(machine, tile) == 0) continue;
      const double own = block_cost(machine, tile), best = block_cost(machine, chosen);
      CHECK((stages < chosen.stages ? own > best : own >= best));
    }
  }
}

TEST_CASE("vortex takes the engine of least cost for each shape of its figure 16") {
  // The text has M of 1 to 16, N of 1024, 2048 and 4096, K of 1024, in 16 bits.
  const auto engines = [](const GpuMachine& machine) {
    const std::vector<GpuTile> tiles =
        best_vortex_tiles(all_vortex_tiles(machine, {bf16_mma, cuda}));
    const GpuPaper paper(Policy::Vortex, machine, tiles, bf16_form);
    std::array<int, 2> counts{};
    for (const std::int64_t n : {1024, 2048, 4096}) {
      for (std::int64_t m = 1; m <= 16; ++m) {
        const ProductShape shape{1, m, n, 1024};
        std::array<double, 2> least{INFINITY, INFINITY};
        for (std::size_t i = 0; i < paper.kernels().size(); ++i) {
          double& own = least[static_cast<std::size_t>(tiles[i].engine)];
          own = std::min(own, vortex_seconds(paper.kernels(), i, shape));
        }
        const auto taken = static_cast<std::size_t>(
            tiles[paper.policy().choose(shape).regions.at(0).kernel].engine);
        CHECK(least[taken] <= least[1 - taken]);
        ++counts[taken];
      }
    }
    return counts;
  };
  const GpuMachine& a100 = ptx::described_gpu("a100");
  const std::array<int, 2> described = engines(a100);
  MESSAGE("a100: CUDA cores " << described[0] << ", tensor cores " << described[1]);
  // Tensor cores no faster than CUDA cores: padding to 16 rows decides.
  GpuMachine even = a100;
  even.f16_mma_fma = even.f32_fma;
  const std::array<int, 2> counts = engines(even);
  MESSAGE("tensor cores as fast as CUDA cores: CUDA cores " << counts[0] << ", tensor cores "
                                                            << counts[1]);
  CHECK(counts[0] > 0);
  CHECK(counts[1] > 0);
}

TEST_CASE("mikpoly's grid has every multiple of 16 that local memory and registers hold") {
  const GpuMachine& machine = ptx::described_gpu("a100");
  std::mt19937_64 random(dyn::testing::test_seed());
  for (const GpuKind& kind : {bf16_mma, cuda}) {
    const std::vector<GpuTile> grid = mikpoly_tile_grid(machine, kind);
    std::map<std::array<int, 3>, GpuTile> at;
    for (const GpuTile& tile : grid) {
      check_emitted(machine, tile);
      CHECK(at.try_emplace({tile.block_m, tile.block_n, tile.block_k}, tile).second);
    }
    for (int i = 0; i < 300; ++i) {
      const auto size = [&] { return 16 * static_cast<int>(1 + random() % (i % 2 == 0 ? 32 : 8)); };
      const std::array block{size(), size(), size()};
      double least = INFINITY;
      for (GpuTile tile : warps_by_isa(kind)) {
        if (block[0] % tile.warp_m != 0 || block[1] % tile.warp_n != 0) continue;
        tile.block_m = block[0], tile.block_n = block[1], tile.block_k = block[2];
        if (tile.warps() > 32 ||
            2 * (tile.a_stage_bytes() + tile.b_stage_bytes()) > machine.shared_bytes_per_block)
          continue;
        for (const int stages : {2, 3, 4}) {
          tile.stages = stages;
          tile.ahead = loads_ahead(tile);
          if (blocks_at_once(machine, tile) > 0) least = std::min(least, block_cost(machine, tile));
        }
      }
      CHECK(at.contains(block) == (least < INFINITY));
      if (at.contains(block)) CHECK(block_cost(machine, at.at(block)) == least);
    }
    MESSAGE(grid.size() << " kernels of the grid");
  }
}

TEST_CASE("mikpoly keeps the 40 of the most mean throughput over sizes that are powers of two") {
  const GpuMachine& machine = ptx::described_gpu("a100");
  const std::vector<GpuTile> grid = mikpoly_tile_grid(machine, bf16_mma),
                             kept = mikpoly_tiles(machine, bf16_mma);
  REQUIRE(kept.size() == 40);
  // All of M, N and K, one product after the other.
  const auto throughput = [&](const GpuTile& tile) {
    double sum = 0;
    for (int i = 0; i <= 12; ++i) {
      const std::int64_t k = std::int64_t{1} << i;
      const double task =
          gpu_wave(machine, timed_form(tile, round_up(k, std::int64_t{tile.block_k})), tile, 1)
              .seconds();
      for (int m = 0; m <= 12; ++m) {
        for (int n = 0; n <= 12; ++n) {
          const double rows = std::exp2(m), columns = std::exp2(n);
          const double waves =
              std::ceil(std::ceil(rows / tile.block_m) * std::ceil(columns / tile.block_n) /
                        machine.multiprocessors);
          sum += rows * columns * static_cast<double>(k) / (waves * task);
        }
      }
    }
    return sum;
  };
  std::vector<double> of_kept;
  for (const GpuTile& tile : kept) of_kept.push_back(throughput(tile));
  for (std::size_t i = 1; i < of_kept.size(); ++i)
    CHECK(of_kept[i] <= of_kept[i - 1] * (1 + rounding));
  std::mt19937_64 random(dyn::testing::test_seed());
  for (int i = 0; i < 100; ++i) {
    const GpuTile& other = grid[random() % grid.size()];
    if (std::ranges::find(kept, other) == kept.end())
      CHECK(throughput(other) <= of_kept.back() * (1 + rounding));
  }
}

TEST_CASE("mikpoly's g_predict is learned from 1 to 5120 instances, and holds between them") {
  const GpuMachine& machine = ptx::described_gpu("h200");
  const std::vector<GpuTile> tiles = mikpoly_tiles(machine, bf16_mma);
  const GpuPaper paper(Policy::MikPoly, machine, tiles, bf16_form);
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    GpuContraction block = bf16_form(tiles[i]);
    block.m = tiles[i].block_m;
    block.n = tiles[i].block_n;
    for (const std::int64_t instances : {1, 2, 5, 77, 1000, 5120, 8000}) {
      block.k = instances * tiles[i].block_k;
      CHECK(paper.kernels().task_seconds(i, block.k) ==
            dyn::testing::relative(gpu_wave(machine, block, tiles[i], 1).seconds()).epsilon(1e-6));
    }
  }
}

TEST_CASE("any two of mikpoly's kernels are in one program, of equal threads or not") {
  const GpuMachine& machine = ptx::described_gpu("a100");
  const std::vector<GpuTile> tiles = mikpoly_tiles(machine, bf16_mma);
  const GpuPaper paper(Policy::MikPoly, machine, tiles, bf16_form);
  std::size_t together = 0, unequal = 0;
  for (std::size_t a = 0; a < tiles.size(); ++a) {
    for (std::size_t b = 0; b < tiles.size(); ++b) {
      const std::array both{tiles[a], tiles[b]};
      const bool fits = program_occupancy(machine, both).blocks > 0;
      CHECK(paper.kernels().together(a, b) == fits);
      together += fits;
      unequal += fits && tiles[a].threads() != tiles[b].threads();
    }
  }
  CHECK(together > tiles.size());
  CHECK(unequal > 0);
  MESSAGE(together << " of " << tiles.size() * tiles.size() << " pairs, " << unequal
                   << " of unequal threads");
}

TEST_CASE("ftuner's tiles pass its filters one after the other, by enumeration") {
  const GpuMachine& machine = ptx::described_gpu("a100");
  const TileRates rates(machine);
  std::mt19937_64 random(dyn::testing::test_seed());
  int filtered_by[4] = {};
  for (int round = 0; round < 60; ++round) {
    const auto size = [&](int bits) {
      return 1 + static_cast<std::int64_t>(random() >> (64 - bits));
    };
    const ProductShape shape{size(1), size(4 + round % 9), size(4 + round % 8), size(10)};
    const GpuKind kind = round % 2 == 0 ? bf16_mma : cuda;
    CAPTURE(shape.m);
    CAPTURE(shape.n);
    CAPTURE(shape.k);
    const std::vector<GpuTile> aligned = aligned_tiles(machine, shape, kind);
    REQUIRE(!aligned.empty());
    const auto blocks = [&](const GpuTile& tile) {
      return static_cast<double>(shape.batch * ceil_div(shape.m, std::int64_t{tile.block_m}) *
                                 ceil_div(shape.n, std::int64_t{tile.block_n}));
    };
    std::vector<GpuTile> left = aligned;
    int stage = 0;
    const auto filter = [&](auto&& passes) {
      std::vector<GpuTile> kept;
      std::ranges::copy_if(left, std::back_inserter(kept), passes);
      filtered_by[stage++] += kept.size() < left.size() && !kept.empty();
      const bool none = kept.empty();
      if (!none) left = std::move(kept);
      return !none;
    };
    const auto occupied = [&](const GpuTile& tile) {
      return blocks(tile) /
             (std::ceil(blocks(tile) / machine.multiprocessors) * machine.multiprocessors);
    };
    const bool crossed = filter([&](const GpuTile& tile) {
      const double pad = static_cast<double>(shape.m * shape.n) /
                         static_cast<double>(round_up(shape.m, std::int64_t{tile.block_m}) *
                                             round_up(shape.n, std::int64_t{tile.block_n}));
      for (int step = 0; step <= 45; ++step)
        if (pad >= 0.5 + 0.01 * step - 1e-6 && occupied(tile) >= 0.95 - 0.001 * step - 1e-6)
          return true;
      return false;
    });
    if (!crossed) {
      double most = 0;
      for (const GpuTile& tile : left) most = std::max(most, occupied(tile));
      std::erase_if(left, [&](const GpuTile& tile) { return occupied(tile) < most; });
    }
    filter([&](const GpuTile& tile) {
      const double bound = std::min(2.0, std::ceil(blocks(tile) / machine.multiprocessors));
      return bound * tile.threads() * std::ceil(tile.registers() / 8.0) * 8 <= 65536;
    });
    filter([&](const GpuTile& tile) { return blocks(tile) >= 2 * machine.multiprocessors; });
    filter([&](const GpuTile& tile) {
      const TileTraffic traffic =
          traffic_of(machine, tile, bf16_form(tile), multiply_adds_per_cycle(machine, tile));
      const double steps = std::max(1.0, std::ceil(static_cast<double>(shape.k) / tile.block_k));
      return steps * traffic.compute >=
             std::max(steps * traffic.memory + traffic.output_memory, steps * traffic.shared);
    });
    const std::vector<GpuTile> kept = ftuner_tiles(rates, shape, kind, bf16_form);
    CHECK(sizes_of(kept) == sizes_of(left));
    CHECK(kept.size() == left.size());
    double before = 0;
    for (const GpuTile& tile : kept) {
      check_emitted(machine, tile);
      const double rate = block_cost(machine, tile) / tile.block_m / tile.block_n / tile.block_k;
      CHECK(rate * (1 + rounding) >= before);
      before = rate;
    }
  }
  for (const int count : filtered_by) CHECK(count > 0);
}

TEST_CASE("ftuner's extents are factors of the axes, of their neighbours for a prime") {
  const GpuMachine& machine = ptx::described_gpu("a100");
  std::set<int> rows, thread_rows;
  for (const GpuTile& tile : aligned_tiles(machine, {1, 53, 768, 768}, cuda)) {
    rows.insert(tile.block_m);
    thread_rows.insert(tile.thread_m);
  }
  // The paper's example: 53 is a prime, 52 = 4 * 13 and 54 = 2 * 27.
  for (const int factor : {1, 2, 3, 4, 6, 9, 13, 18, 26, 27}) CHECK(rows.contains(factor));
  CHECK(thread_rows.contains(6));
  CHECK_FALSE(thread_rows.contains(5));
  for (const GpuTile& tile : aligned_tiles(machine, {1, 96, 160, 64}, bf16_mma)) {
    CHECK((96 / 16) % (tile.block_m / 16) == 0);
    CHECK((160 / 16) % (tile.block_n / 16) == 0);
    CHECK((tile.block_m / 16) % (tile.warp_m / 16) == 0);
  }
}

TEST_CASE("ftuner's programs pad nothing along an axis where uKernels cover it") {
  const GpuMachine& machine = ptx::described_gpu("a100");
  const GpuPaperSpaces spaces(machine, {cuda});
  const auto form = [](const GpuTile&) { return GpuContraction{}; };
  int two = 0;
  for (std::int64_t m = 500; m < 600; m += 7) {
    const ProductShape shape{1, m, 256, 512};
    const GpuPaper paper(Policy::FTuner, machine, spaces.tiles(Policy::FTuner, shape, form), form);
    const KernelProgram program = paper.policy().choose(shape);
    REQUIRE(!program.regions.empty());
    bool covers_rows = true, covers_columns = true;
    std::int64_t outputs = 0;
    for (const KernelRegion& region : program.regions) {
      const MicroKernel block = paper.kernels()[region.kernel];
      covers_rows = covers_rows && region.m % block.m == 0;
      covers_columns = covers_columns && region.n % block.n == 0;
      outputs += region.m * region.n;
    }
    CHECK((covers_rows || covers_columns));
    CHECK(outputs == shape.m * shape.n);
    two += program.regions.size() == 2;
  }
  MESSAGE(two << " of 15 programs have two uKernels");
}

TEST_CASE("tscompiler's pool does what all aligned tiles do together, by its wave model") {
  const GpuMachine& machine = ptx::described_gpu("a100");
  const std::vector<GpuTile> aligned = aligned_gpu_tiles(machine, {bf16_mma, cuda}),
                             pool = tscompiler_tiles(machine, {bf16_mma, cuda});
  CHECK(pool.size() <= 40);
  CHECK(pool.size() > 4);
  const auto least = [&](const std::vector<GpuTile>& among, std::int64_t m, std::int64_t n) {
    double seconds = INFINITY;
    for (const GpuTile& tile : among) {
      const int blocks = blocks_at_once(machine, tile);
      const double tasks = static_cast<double>(ceil_div(m, std::int64_t{tile.block_m}) *
                                               ceil_div(n, std::int64_t{tile.block_n}));
      seconds =
          std::min(seconds, std::ceil(tasks / machine.multiprocessors / blocks) *
                                gpu_wave(machine, timed_form(tile, 1024), tile, blocks).seconds());
    }
    return seconds;
  };
  for (const GpuTile& tile : pool) {
    check_emitted(machine, tile);
    CHECK(std::ranges::find(aligned, tile) != aligned.end());
  }
  for (const std::int64_t m : {1, 37, 256, 1000, 4096})
    for (const std::int64_t n : {64, 500, 4096})
      CHECK(least(pool, m, n) <= 1.1 * least(aligned, m, n));
}

TEST_CASE("dietcode's search leaves tiles that do what its whole space does") {
  const GpuMachine& machine = ptx::described_gpu("a100");
  std::mt19937_64 random(dyn::testing::test_seed());
  for (const GpuKind& kind : {bf16_mma, cuda}) {
    const std::vector<GpuTile> pool = dietcode_tiles(machine, kind);
    CHECK(pool == dietcode_tiles(machine, kind));
    CHECK(pool.size() <= 40);
    CHECK(pool.size() > 4);
    const auto merit = [&](const GpuTile& tile, std::int64_t m, std::int64_t n) {
      const double task =
          gpu_wave(machine,
                   timed_form(tile, round_up(std::int64_t{512}, std::int64_t{tile.block_k})), tile,
                   1)
              .seconds();
      const double tasks = static_cast<double>(ceil_div(m, std::int64_t{tile.block_m}) *
                                               ceil_div(n, std::int64_t{tile.block_n}));
      const double waves = std::ceil(tasks / machine.multiprocessors);
      const double padded_k =
          static_cast<double>(round_up(std::int64_t{512}, std::int64_t{tile.block_k}));
      // Equation 3 but for what all have in common.
      return 512 / padded_k / (waves * task);
    };
    for (const GpuTile& tile : pool) check_emitted(machine, tile);
    const std::vector<RatedTile> others = all_vortex_tiles(machine, {kind});
    for (const std::int64_t m : {16, 256, 4096}) {
      for (const std::int64_t n : {64, 1024}) {
        double most = 0, other = 0;
        for (const GpuTile& tile : pool) most = std::max(most, merit(tile, m, n));
        for (int i = 0; i < 200; ++i)
          other = std::max(other, merit(others[random() % others.size()].tile, m, n));
        CHECK(most >= 0.85 * other);
      }
    }
  }
}

TEST_CASE("each paper's space has tiles that dyn's candidates have not, and is made once") {
  for (const char* gpu : {"a100", "h200"}) {
    const GpuMachine& machine = ptx::described_gpu(gpu);
    for (const DType dtype : {DType::f32, DType::bf16, DType::i8}) {
      const std::vector<GpuTile> dyns = gpu_tiles(machine, dtype, false);
      const GpuPaperSpaces spaces(machine, kinds_of(dyns));
      for (const Policy policy : papers) {
        CAPTURE(name_of(policy));
        const std::vector<GpuTile> own = spaces.tiles(policy, {1, 300, 300, 300}, bf16_form);
        std::size_t others = 0;
        for (const GpuTile& tile : own) {
          check_emitted(machine, tile);
          others += std::ranges::find(dyns, tile) == dyns.end();
        }
        CHECK(others > 0);
        CHECK(own == spaces.tiles(policy, {1, 300, 300, 300}, bf16_form));
      }
      CHECK(spaces.tiles(Policy::Dyn, {1, 300, 300, 300}, bf16_form).empty());
    }
  }
}

TEST_CASE(
    "dietcode's alternatives have its tiles on a GPU, and partitioning cuts whole blocks off") {
  const GpuMachine& machine = ptx::described_gpu("a100");
  const GpuPaperSpaces spaces(machine, {cuda});
  const GpuShapeFor form = [](const GpuTile& tile) { return timed_form(tile, tile.block_k); };
  const ProductShape any{1, 300, 300, 300};
  const std::vector<GpuTile> tiles = spaces.tiles(Policy::DietCode, any, form);
  CHECK(spaces.tiles(Policy::DietCodePadding, any, form) == tiles);
  CHECK(spaces.tiles(Policy::DietCodePartition, any, form) == tiles);
  const GpuPaper paper(Policy::DietCodePartition, machine, tiles, form);
  int two = 0;
  for (std::int64_t m = 300; m < 2000; m += 97) {
    const ProductShape shape{1, m, 768, 768};
    const KernelProgram program = paper.policy().choose(shape);
    REQUIRE(!program.regions.empty());
    REQUIRE(program.regions.size() <= 2);
    if (program.regions.size() == 1) continue;
    const KernelRegion &first = program.regions[0], &second = program.regions[1];
    const GpuTile &a = paper.tiles()[first.kernel], &b = paper.tiles()[second.kernel];
    CHECK(first.m % a.block_m == 0);
    CHECK(second.m0 + second.m == m);
    CHECK(second.n0 + second.n == 768);
    CHECK(run_together(machine, a, b));
    ++two;
  }
  MESSAGE(two << " programs have two regions");
  CHECK(two > 0);
}
