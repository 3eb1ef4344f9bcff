// Programs of two regions on described GPUs: their cost, the pairs that exist, and when they are
// chosen.

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "src/base/rounding.hpp"
#include "src/choice/gpu/micro_kernels.hpp"
#include "src/choice/gpu/programs.hpp"
#include "src/choice/gpu/wave.hpp"
#include "targets/ptx/contraction/kernel.hpp"
#include "targets/ptx/gpus/gpu_descriptions.hpp"
#include "tests/support/relative.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/ptx/target_fixture.hpp"

using namespace dyn;
using namespace dyn::choice;
using namespace dyn::rkernel;
using dyn::testing::rounding;

namespace {

GpuContraction shape_of(std::int64_t m, std::int64_t n, std::int64_t k) {
  return {.m = m,
          .n = n,
          .k = k,
          .a_element_bytes = 2,
          .b_element_bytes = 2,
          .epilogue_operations = 2,
          .epilogue_bytes = 2};
}

struct Candidates {
  explicit Candidates(const char* gpu)
      : machine(ptx::described_gpu(gpu)),
        tiles(gpu_tiles(machine, DType::bf16, false)),
        pairs(gpu_pairs(machine, tiles)) {}
  GpuMachine machine;
  std::vector<GpuTile> tiles;
  std::vector<GpuPair> pairs;
};

/// The place that ends last, ticket by ticket.
double longest_place(const GpuMachine& machine, const std::vector<GpuPart>& parts, int fitting) {
  std::vector<std::size_t> part_of_ticket;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto& [shape, tile, m, n, split] = parts[i];
    part_of_ticket.insert(part_of_ticket.end(),
                          static_cast<std::size_t>(shape.batch * ceil_div(shape.m, tile.block_m) *
                                                   ceil_div(shape.n, tile.block_n)),
                          i);
  }
  const std::size_t places =
      static_cast<std::size_t>(machine.multiprocessors) * static_cast<std::size_t>(fitting);
  const std::size_t last = part_of_ticket.size() % places;
  std::vector<double> seconds(places);
  for (std::size_t ticket = 0; ticket < part_of_ticket.size(); ++ticket) {
    const bool in_last = ticket + last >= part_of_ticket.size();
    const int resident =
        in_last ? std::min(fitting, static_cast<int>(ceil_div(static_cast<std::int64_t>(last),
                                                              machine.multiprocessors)))
                : fitting;
    const GpuPart& part = parts[part_of_ticket[ticket]];
    const GpuWave wave = gpu_wave(machine, part.shape, part.tile, resident);
    const bool follows =
        ticket >= places && part_of_ticket[ticket - places] == part_of_ticket[ticket];
    seconds[ticket % places] += wave.seconds() - (follows ? wave.hidden : 0);
  }
  return *std::ranges::max_element(seconds);
}

}  // namespace

TEST_CASE("two regions cost what the place with most to do takes, ticket by ticket") {
  std::mt19937_64 random(dyn::testing::test_seed());
  Candidates a100("a100");
  a100.machine.memory_bytes_per_second *= 1e4;  // so that the schedule decides
  a100.machine.l2_bytes_per_second *= 1e4;
  a100.machine.multiprocessors = 7;
  REQUIRE(!a100.pairs.empty());
  for (int round = 0; round < 200; ++round) {
    GpuPair pair = a100.pairs[random() % a100.pairs.size()];
    if (round % 2 == 1)
      std::swap(pair.first,
                pair.second);  // then the place of the first ticket need not be the last to end
    const auto below = [&](std::int64_t most) {
      return 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
    };
    GpuContraction above = shape_of(below(3000), below(700), 64 * below(20)), rest = above;
    above.batch = rest.batch = below(3);
    rest.m = below(3000);
    const std::vector<GpuPart> parts{{above, a100.tiles[pair.first], 0, 0},
                                     {rest, a100.tiles[pair.second], above.m, 0}};
    const GpuTile both[] = {parts[0].tile, parts[1].tile};
    const double expected =
        longest_place(a100.machine, parts, program_occupancy(a100.machine, both).blocks) +
        a100.machine.launch_seconds;
    CostBreakdown breakdown;
    CHECK(gpu_program_cost(a100.machine, parts, &breakdown) ==
          dyn::testing::relative(expected).epsilon(rounding));
    CHECK(breakdown.seconds == dyn::testing::relative(expected).epsilon(rounding));
    CHECK(breakdown.layers.size() == breakdown.costs.size());
  }
}

TEST_CASE(
    "two regions of one tile, cut between its blocks, cost what the whole does; a region without "
    "outputs costs nothing") {
  const Candidates a100("a100");
  for (const GpuTile& tile : a100.tiles) {
    for (const bool rows : {true, false}) {
      const GpuContraction whole = shape_of(5120, 2048, 1024);
      GpuContraction first = whole, second = whole;
      (rows ? first.m : first.n) = 1024;
      (rows ? second.m : second.n) -= 1024;
      const GpuPart parts[] = {{first, tile, 0, 0},
                               {second, tile, rows ? 1024 : 0, rows ? 0 : 1024}};
      CHECK(gpu_program_cost(a100.machine, parts) ==
            dyn::testing::relative(gpu_contraction_cost(a100.machine, whole, tile))
                .epsilon(rounding));
      GpuContraction empty = whole;
      empty.m = 0;
      const GpuPart with_nothing[] = {{whole, tile, 0, 0}, {empty, tile, whole.m, 0}};
      CHECK(gpu_program_cost(a100.machine, with_nothing) ==
            dyn::testing::relative(gpu_contraction_cost(a100.machine, whole, tile))
                .epsilon(rounding));
    }
  }
}

TEST_CASE(
    "pairs are two tiles of the first engine with equal threads, larger blocks first, and few") {
  for (const char* gpu : {"a100", "h200"}) {
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      const GpuMachine& machine = ptx::described_gpu(gpu);
      const auto tiles = gpu_tiles(machine, dtype, false);
      const auto pairs = gpu_pairs(machine, tiles);
      CHECK(!pairs.empty());
      CHECK(pairs.size() <= 2);
      CHECK(pairs == gpu_pairs(machine, tiles));
      for (const auto& [first, second] : pairs) {
        CHECK(first != second);
        CHECK(tiles[first].engine == tiles.front().engine);
        CHECK(tiles[second].engine == tiles.front().engine);
        CHECK(tiles[first].threads() == tiles[second].threads());
        CHECK(tiles[first].block_m * tiles[first].block_n >=
              tiles[second].block_m * tiles[second].block_n);
        CHECK(tiles[first].stages + tiles[second].stages <= 8);
      }
    }
  }
  CHECK(gpu_pairs(ptx::described_gpu("a100"), {}).empty());
}

TEST_CASE(
    "two regions are chosen where they are clearly cheaper; each output lies in one, and copies of "
    "columns stay aligned") {
  const std::uint64_t seed = dyn::testing::test_seed();
  MESSAGE("DYN_SEED=" << seed);
  std::mt19937_64 random(seed);
  int two = 0;
  constexpr int rounds = 2000;
  for (const char* gpu : {"a100", "h200"}) {
    const Candidates all(gpu);
    for (int round = 0; round < rounds; ++round) {
      const auto below = [&](std::int64_t most) {
        return 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
      };
      GpuContraction shape = shape_of(below(8000), below(4000), below(4000));
      shape.batch = round % 3 == 0 ? below(9) : 1;
      const auto shape_for = [&](const GpuTile&) { return shape; };
      const GpuChoice alone = select_gpu_tile(all.machine, shape, all.tiles);
      const GpuProgram program =
          select_gpu_program(all.machine, shape_for, all.tiles, all.pairs, false);
      CHECK(program.seconds == dyn::testing::relative(gpu_program_cost(all.machine, shape_for,
                                                                       all.tiles, program.regions))
                                   .epsilon(rounding));
      if (program.regions.size() == 1) {
        CHECK(program.regions.front() ==
              GpuRegion{static_cast<std::size_t>(alone.tile), 0, shape.m, 0, shape.n, {}});
        continue;
      }
      ++two;
      CHECK(program.seconds <= 0.97 * alone.seconds);
      const GpuRegion &a = program.regions.at(0), &b = program.regions.at(1);
      CHECK(std::ranges::find(all.pairs, GpuPair{a.tile, b.tile}) != all.pairs.end());
      const bool rows = a.n == shape.n;
      CHECK((rows ? a.m + b.m : a.n + b.n) == (rows ? shape.m : shape.n));
      CHECK((rows ? b.m0 : b.n0) == (rows ? a.m : a.n));
      CHECK(std::min({a.m, b.m, a.n, b.n}) > 0);
      CHECK((a.m0 == 0 && a.n0 == 0));
      CHECK(b.n0 % 16 == 0);
    }
  }
  CHECK(two > rounds / 100);
  MESSAGE(two << " of " << 2 * rounds << " random sizes have two regions");
}

TEST_CASE(
    "tiles are shared where waves are not full and K is long; each step has one block, and no "
    "prediction is below the machine's limit") {
  const std::uint64_t seed = dyn::testing::test_seed();
  MESSAGE("DYN_SEED=" << seed);
  std::mt19937_64 random(seed);
  int shared = 0, visited = 0;
  constexpr int rounds = 500;
  for (const char* gpu : {"a100", "h200"}) {
    const Candidates all(gpu);
    const double most =
        2 * all.machine.multiprocessors * all.machine.f16_mma_fma * all.machine.clock_hz;
    for (int round = 0; round < rounds; ++round) {
      const auto below = [&](std::int64_t most) {
        return 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
      };
      const GpuContraction shape = shape_of(below(900), below(900), below(30000));
      const auto shape_for = [&](const GpuTile&) { return shape; };
      const double flops =
          2.0 * static_cast<double>(shape.m * shape.n) * static_cast<double>(shape.k);
      for_each_gpu_split(all.machine, shape_for, all.tiles, [&](const GpuProgram& program) {
        ++visited;
        const GpuRegion& region = program.regions.at(0);
        const GpuTile& tile = all.tiles[region.tile];
        const std::int64_t tiles =
                               ceil_div(shape.m, tile.block_m) * ceil_div(shape.n, tile.block_n),
                           steps = ceil_div(shape.k, tile.block_k),
                           blocks = region.split.blocks(steps);
        CHECK(region.split.tiles <= tiles);
        CHECK(region.split.span < steps);
        CHECK((blocks - 1) * region.split.span < region.split.tiles * steps);
        CHECK(blocks * region.split.span >= region.split.tiles * steps);
        CHECK(program.seconds > flops / most);
      });
      const GpuProgram whole = select_gpu_program(all.machine, shape_for, all.tiles, {}, false),
                       any = select_gpu_program(all.machine, shape_for, all.tiles, {}, true);
      if (any.regions == whole.regions) continue;
      ++shared;
      CHECK(any.regions.at(0).split.tiles > 0);
      CHECK(any.seconds <= 0.95 * whole.seconds);
    }
  }
  CHECK(visited > 10 * rounds);
  CHECK(shared > rounds / 2);
  MESSAGE(shared << " of " << 2 * rounds << " random sizes share tiles");
}

TEST_CASE("micro-kernels are together where their tiles are said to be, in either order") {
  const Candidates a100("a100");
  const auto form = [](const GpuTile&) { return shape_of(1, 1, 1); };
  const GpuMicroKernels kernels(a100.machine, a100.tiles, form, [&](std::size_t a, std::size_t b) {
    return std::ranges::find(a100.pairs, GpuPair{a, b}) != a100.pairs.end() ||
           std::ranges::find(a100.pairs, GpuPair{b, a}) != a100.pairs.end();
  });
  std::size_t together = 0;
  for (std::size_t a = 0; a < kernels.size(); ++a) {
    for (std::size_t b = 0; b < kernels.size(); ++b) together += kernels.together(a, b);
  }
  CHECK(together == 2 * a100.pairs.size());
  const GpuMicroKernels alone(a100.machine, a100.tiles, form);
  CHECK_FALSE(alone.together(0, 1));
}

TEST_CASE("what a launch of two tiles fills has threads and room for either") {
  const GpuMachine& machine = ptx::described_gpu("a100");
  GpuTile small, large;
  small.block_m = 32;
  large.block_m = 256;
  REQUIRE(small.threads() < large.threads());
  for (const auto& tiles : {std::array{small, large}, std::array{large, small}}) {
    const Occupancy both = program_occupancy(machine, tiles);
    CHECK(both.blocks == program_occupancy(machine, {&large, 1}).blocks);
    CHECK(both.blocks < program_occupancy(machine, {&small, 1}).blocks);
  }
}

TEST_CASE(
    "the code of pairs is there only where some size of the problem can fill a wave with the "
    "larger tile") {
  const Candidates a100("a100");
  const auto pair_sources = [&](const std::string& rows) {
    const ptx::testing::LoweredGraph graph =
        ptx::testing::lowered("\ndim M in 0.." + rows +
                              "\ngraph g(x: f32[M, 768]) -> (y: f32[M, 768]) {\n  y = matmul(x, w: "
                              "f32[768, 768])\n  return y\n}\n");
    const auto draft = ptx::ContractionKernel::draft(graph.contraction(), a100.machine, DType::bf16,
                                                     a100.tiles, "t", Policy::Dyn, a100.pairs);
    REQUIRE(draft.has_value());
    const auto sources = draft->sources();
    return static_cast<std::size_t>(std::ranges::count_if(sources, [](const auto& source) {
      return source.key.find(" and bf16") != std::string::npos;
    }));
  };
  CHECK(pair_sources("512") == 0);
  CHECK(pair_sources("100000") == a100.pairs.size());
}
