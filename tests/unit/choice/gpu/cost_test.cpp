// The cost of a contraction on a GPU: limits, monotonicity, and that the terms decide.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "targets/ptx/gpus/gpu_descriptions.hpp"
#include "tests/support/relative.hpp"
#include "tests/support/seed.hpp"

using namespace dyn;
using namespace dyn::choice;
using namespace dyn::rkernel;
using dyn::testing::rounding;

namespace {

struct Sample {
  GpuMachine machine;
  GpuContraction shape;
  GpuTile tile;
};

// A GPU, a shape and one of its candidates.
class Samples {
 public:
  explicit Samples(std::uint64_t seed) : random_(seed) {}

  Sample next() {
    Sample sample;
    sample.machine = ptx::described_gpu(random_() % 2 == 0 ? "a100" : "h200");
    constexpr DType dtypes[] = {DType::bf16, DType::f32, DType::i8};
    const DType dtype = dtypes[random_() % 3];
    const auto tiles = gpu_tiles(sample.machine, dtype, random_() % 2 == 0);
    sample.tile = tiles[random_() % tiles.size()];
    const double bytes = static_cast<double>(size_of(dtype));
    sample.shape = {.batch = random_() % 3 == 0 ? extent(64) : 1,
                    .m = extent(9000),
                    .n = extent(9000),
                    .k = extent(9000),
                    .a_element_bytes = bytes,
                    .b_element_bytes = bytes,
                    .a_vectors = random_() % 4 != 0,
                    .b_vectors = random_() % 4 != 0,
                    .epilogue_operations = static_cast<double>(1 + random_() % 30),
                    .epilogue_bytes = bytes * static_cast<double>(1 + random_() % 2)};
    return sample;
  }

 private:
  // Draws small ones as often as large ones.
  std::int64_t extent(std::int64_t most) {
    return static_cast<std::int64_t>(std::exp(
        std::uniform_real_distribution<double>(0, std::log(static_cast<double>(most)))(random_)));
  }
  std::mt19937_64 random_;
};

constexpr int rounds = 2000;

GpuContraction square(std::int64_t size, double bytes) {
  return {.m = size,
          .n = size,
          .k = size,
          .a_element_bytes = bytes,
          .b_element_bytes = bytes,
          .epilogue_bytes = bytes};
}

}  // namespace

TEST_CASE("no prediction is below the machine's limit") {
  const std::uint64_t seed = dyn::testing::test_seed();
  MESSAGE("DYN_SEED=" << seed);
  Samples samples(seed);
  for (int round = 0; round < rounds; ++round) {
    const auto [machine, shape, tile] = samples.next();
    const double multiply_adds = static_cast<double>(shape.batch) * static_cast<double>(shape.m) *
                                 static_cast<double>(shape.n) * static_cast<double>(shape.k);
    double per_cycle = machine.f32_fma;
    if (tile.engine == Engine::TensorCores)
      per_cycle = tile.integers()               ? machine.i8_mma_fma
                  : tile.operands == DType::f32 ? machine.tf32_mma_fma
                                                : machine.f16_mma_fma;
    const double compute = multiply_adds / (per_cycle * machine.multiprocessors * machine.clock_hz);
    const double of_one = static_cast<double>(shape.m * shape.k) * shape.a_element_bytes +
                          static_cast<double>(shape.n * shape.k) * shape.b_element_bytes +
                          static_cast<double>(shape.m * shape.n) * shape.epilogue_bytes;
    const double bytes = static_cast<double>(shape.batch) * of_one;
    CAPTURE(tile.to_string());
    CHECK(gpu_contraction_cost(machine, shape, tile) * (1 + rounding) >=
          std::max(compute, bytes / machine.memory_bytes_per_second));
  }
}

TEST_CASE("a better machine is never slower") {
  const std::uint64_t seed = dyn::testing::test_seed();
  MESSAGE("DYN_SEED=" << seed);
  Samples samples(seed);
  std::mt19937_64 random(seed + 1);
  for (int round = 0; round < rounds; ++round) {
    const auto [machine, shape, tile] = samples.next();
    const double before = gpu_contraction_cost(machine, shape, tile) * (1 + rounding);
    const double factor = 1 + static_cast<double>(random() % 100) / 50;
    const auto improved = [&](const char* what, const auto& improve) {
      GpuMachine better = machine;
      improve(better);
      CAPTURE(what);
      CAPTURE(tile.to_string());
      CAPTURE(shape.m);
      CAPTURE(shape.n);
      CAPTURE(shape.k);
      CHECK(gpu_contraction_cost(better, shape, tile) <= before);
    };
    improved("multiprocessors",
             [&](GpuMachine& m) { m.multiprocessors += 1 + static_cast<int>(random() % 40); });
    improved("memory bandwidth", [&](GpuMachine& m) { m.memory_bytes_per_second *= factor; });
    improved("L2 bandwidth", [&](GpuMachine& m) {
      m.l2_bytes_per_second *= factor, m.l2_bytes_per_cycle *= factor;
    });
    improved("L2 size", [&](GpuMachine& m) { m.l2_bytes *= 2; });
    improved("shared memory bandwidth", [&](GpuMachine& m) { m.shared_bytes *= factor; });
    improved("clock", [&](GpuMachine& m) { m.clock_hz *= factor; });
    improved("multiply-adds", [&](GpuMachine& m) {
      m.f32_fma *= factor, m.f16_mma_fma *= factor, m.tf32_mma_fma *= factor;
      m.i8_mma_fma *= factor;
    });
    improved("latency", [&](GpuMachine& m) {
      m.memory_latency_seconds /= factor, m.launch_seconds /= factor;
    });
  }
}

TEST_CASE("a tile that pads more is slower at the same number of waves") {
  GpuMachine machine = ptx::described_gpu("a100");
  machine.memory_bytes_per_second *= 100;
  machine.l2_bytes_per_second *= 100;
  const GpuTile fits{.engine = Engine::TensorCores,
                     .operands = DType::bf16,
                     .thread_m = 16,
                     .thread_n = 8,
                     .warp_m = 32,
                     .warp_n = 32,
                     .block_m = 64,
                     .block_n = 64,
                     .block_k = 64,
                     .stages = 3};
  GpuTile pads = fits;
  pads.block_m = 128;
  const GpuContraction shape{.batch = machine.multiprocessors,
                             .m = 64,
                             .n = 64,
                             .k = 4096,
                             .a_element_bytes = 2,
                             .b_element_bytes = 2};
  CHECK(gpu_contraction_cost(machine, shape, pads) >
        1.3 * gpu_contraction_cost(machine, shape, fits));
}

TEST_CASE(
    "one block more than a wave costs a wave more; work by element costs more than by word, and "
    "that more than by vector") {
  GpuMachine machine = ptx::described_gpu("a100");
  machine.memory_bytes_per_second *= 100;
  machine.l2_bytes_per_second *= 100;
  const GpuTile tile{.engine = Engine::TensorCores,
                     .operands = DType::bf16,
                     .thread_m = 16,
                     .thread_n = 8,
                     .warp_m = 64,
                     .warp_n = 32,
                     .block_m = 128,
                     .block_n = 128,
                     .block_k = 32,
                     .stages = 3};
  const int resident =
      occupancy(machine, tile.threads(), tile.registers(), tile.shared_bytes()).blocks;
  GpuContraction shape = square(128, 2);
  shape.k = 2048;
  shape.batch = machine.multiprocessors * resident;
  const double one_wave = gpu_contraction_cost(machine, shape, tile);
  ++shape.batch;
  CHECK(gpu_contraction_cost(machine, shape, tile) > 1.2 * one_wave);
  shape.batch = machine.multiprocessors;
  const double alone = gpu_contraction_cost(machine, shape, tile);
  shape.a_vectors = false;
  const double by_element = gpu_contraction_cost(machine, shape, tile);
  CHECK(by_element > 1.2 * alone);
  shape.a_words = true;
  CHECK(gpu_contraction_cost(machine, shape, tile) > alone);
  CHECK(gpu_contraction_cost(machine, shape, tile) < by_element);
  // Of f32 elements nothing is copied as they are to a tile of bf16.
  shape.a_element_bytes = 4;
  const double converted = gpu_contraction_cost(machine, shape, tile);
  shape.a_words = false;
  CHECK(gpu_contraction_cost(machine, shape, tile) == converted);
}

TEST_CASE("the breakdown adds up to the prediction") {
  Samples samples(7);
  for (int round = 0; round < 200; ++round) {
    const auto [machine, shape, tile] = samples.next();
    CostBreakdown breakdown;
    const double seconds = gpu_contraction_cost(machine, shape, tile, &breakdown);
    CHECK(breakdown.seconds == seconds);
    REQUIRE(breakdown.layers.size() == breakdown.costs.size());
    double grid = 0, bound = 0;
    for (std::size_t i = 0; i < breakdown.layers.size(); ++i) {
      const std::string name = breakdown.layers[i].name;
      if (name.starts_with("grid")) grid += breakdown.costs[i];
      if (name.ends_with("all blocks")) bound = std::max(bound, breakdown.costs[i]);
    }
    CHECK(seconds == dyn::testing::relative(machine.launch_seconds + std::max(grid, bound)));
    CHECK(breakdown.tickets == shape.batch * ((shape.m + tile.block_m - 1) / tile.block_m) *
                                   ((shape.n + tile.block_n - 1) / tile.block_n));
  }
}

TEST_CASE(
    "tensor cores win by far at 4096 cubed, and wherever a tie is possible; a wide tile wins "
    "there, a low one for a single row") {
  for (const char* name : {"a100", "h200"}) {
    const GpuMachine& machine = ptx::described_gpu(name);
    const std::vector<GpuTile> tiles = gpu_tiles(machine, DType::bf16, false);
    const GpuContraction large = square(4096, 2);
    const GpuChoice choice = select_gpu_tile(machine, large, tiles);
    REQUIRE(choice.tile >= 0);
    const GpuTile& chosen = tiles[static_cast<std::size_t>(choice.tile)];
    CHECK(chosen.engine == Engine::TensorCores);
    CHECK(chosen.block_m * chosen.block_n >= 128 * 128);
    for (const GpuTile& tile : tiles) {
      if (tile.engine == Engine::CudaCores)
        CHECK(gpu_contraction_cost(machine, large, tile) > 4 * choice.seconds);
    }
    GpuContraction row = large;
    row.m = 1;
    const GpuTile& low = tiles[static_cast<std::size_t>(select_gpu_tile(machine, row, tiles).tile)];
    CHECK(low.block_m <= 32);
    CHECK(low.engine == Engine::TensorCores);
    const std::vector<GpuTile> cuda = gpu_tiles(machine, DType::f32, false);
    GpuContraction f32_row = square(4096, 4);
    f32_row.m = 1;
    CHECK(cuda[static_cast<std::size_t>(select_gpu_tile(machine, f32_row, cuda).tile)].block_m <=
          8);
  }
}

TEST_CASE("one term of the cost changes the choice") {
  const GpuMachine machine = ptx::described_gpu("a100");
  const std::vector<GpuTile> tiles = gpu_tiles(machine, DType::bf16, false);
  const GpuContraction shape = square(1024, 2);
  const auto chosen = [&](const GpuMachine& on) {
    return tiles[static_cast<std::size_t>(select_gpu_tile(on, shape, tiles).tile)];
  };
  GpuMachine slow_tensor_cores = machine;
  slow_tensor_cores.f16_mma_fma = 4;
  CHECK(chosen(machine).engine == Engine::TensorCores);
  CHECK(chosen(slow_tensor_cores).engine == Engine::CudaCores);
  GpuMachine slow_l2 = machine;
  slow_l2.l2_bytes_per_second /= 8;
  CHECK(chosen(slow_l2).block_m * chosen(slow_l2).block_n >
        chosen(machine).block_m * chosen(machine).block_n);
}

TEST_CASE("the first of the tiles within 2 % of the cheapest is chosen") {
  Samples samples(11);
  int ties = 0;
  for (int round = 0; round < 500; ++round) {
    const auto [machine, shape, tile] = samples.next();
    const std::vector<GpuTile> tiles =
        gpu_tiles(machine, shape.a_element_bytes == 2 ? DType::bf16 : DType::f32, false);
    std::vector<double> costs;
    for (const GpuTile& candidate : tiles)
      costs.push_back(gpu_contraction_cost(machine, shape, candidate));
    const double least = *std::min_element(costs.begin(), costs.end());
    const auto first =
        std::find_if(costs.begin(), costs.end(), [&](double cost) { return cost <= 1.02 * least; });
    const GpuChoice choice = select_gpu_tile(machine, shape, tiles);
    CHECK(choice.tile == first - costs.begin());
    CHECK(choice.seconds == *first);
    ties += *first > least ? 1 : 0;
  }
  CHECK(ties > 0);
}

TEST_CASE("ties go to the earlier tile, and what does not fit is not chosen") {
  const GpuMachine machine = ptx::described_gpu("a100");
  std::vector<GpuTile> tiles = gpu_tiles(machine, DType::bf16, false);
  const GpuContraction shape = square(512, 2);
  const int best = select_gpu_tile(machine, shape, tiles).tile;
  std::vector<GpuTile> twice{tiles[static_cast<std::size_t>(best)],
                             tiles[static_cast<std::size_t>(best)]};
  CHECK(select_gpu_tile(machine, shape, twice).tile == 0);
  twice[0].stages = 100;
  CHECK(select_gpu_tile(machine, shape, twice).tile == 1);
  twice[1].stages = 100;
  CHECK(select_gpu_tile(machine, shape, twice).tile == -1);
}

TEST_CASE("loops cost their bytes, and never less than the limit") {
  const GpuMachine& machine = ptx::described_gpu("a100");
  const double bytes = 1e9;
  const double seconds = gpu_loop_cost(machine, bytes / 8, bytes, 4, 4096, 256);
  CHECK(seconds >= bytes / machine.memory_bytes_per_second);
  CHECK(seconds < 1.3 * bytes / machine.memory_bytes_per_second);
  CHECK(gpu_loop_cost(machine, bytes / 8, bytes, 400, 4096, 256) > 2 * seconds);
  CHECK(gpu_loop_cost(machine, bytes / 8, bytes, 4, 1, 256) > 10 * seconds);
  CHECK(gpu_loop_cost(machine, 0, 0, 1, 0, 256) == machine.launch_seconds);
}
