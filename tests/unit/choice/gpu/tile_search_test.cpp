// The search among candidates and late tiles: bounds that change no choice.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "src/choice/calibration/calibration.hpp"
#include "src/choice/gpu/late_tiles.hpp"
#include "src/choice/gpu/layer_zero.hpp"
#include "src/choice/gpu/programs.hpp"
#include "targets/ptx/gpus/gpu_descriptions.hpp"
#include "tests/support/relative.hpp"
#include "tests/support/seed.hpp"

using namespace dyn;
using namespace dyn::choice;

namespace {

constexpr DType dtypes[] = {DType::f32, DType::bf16, DType::i8};
constexpr double unlimited = 1e30;  ///< bytes a second

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : random_(seed) {}

  std::size_t below(std::size_t most) { return random_() % most; }
  /// Draws small ones as often as large ones.
  std::int64_t extent(std::int64_t most) {
    return static_cast<std::int64_t>(std::exp(
        std::uniform_real_distribution<double>(0, std::log(static_cast<double>(most)))(random_)));
  }
  /// A form of a contraction in this dtype.
  GpuContraction form(DType dtype) {
    GpuContraction form;
    form.a_element_bytes = form.b_element_bytes = static_cast<double>(size_of(dtype));
    if (dtype == DType::bf16 && below(3) == 0) form.a_element_bytes = 4;
    form.a_vectors = below(2) == 0, form.b_vectors = below(2) == 0;
    form.a_words = below(4) == 0;
    form.epilogue_operations = static_cast<double>(1 + below(30));
    form.epilogue_bytes = static_cast<double>(2 * (1 + below(4)));
    return form;
  }
  void set_sizes(GpuContraction& form) {
    form.batch = below(3) == 0 ? extent(200) : 1;
    form.m = extent(100000);
    form.n = extent(9000);
    form.k = extent(9000);
  }

 private:
  std::mt19937_64 random_;
};

/// The choice that GpuTileSearch::cheapest() promises, by all costs.
GpuChoice cheapest_of_all(const GpuMachine& machine, const GpuContraction& shape,
                          const std::vector<GpuTile>& candidates,
                          const std::vector<GpuTile>& late) {
  const GpuChoice known = select_gpu_tile(machine, shape, candidates);
  GpuChoice best = known;
  double enough = known.seconds * default_calibration().gpu_worth_code;
  for (std::size_t i = 0; i < late.size(); ++i) {
    const double seconds = gpu_contraction_cost(machine, shape, late[i]);
    if (seconds >= enough) continue;
    enough = seconds;
    best = {static_cast<int>(candidates.size() + i), seconds};
  }
  return best;
}

}  // namespace

TEST_CASE("a tile's profile never exceeds its cost, and is equal where memory has bandwidth") {
  Draws draws(dyn::testing::test_seed());
  for (int round = 0; round < 2000; ++round) {
    GpuMachine machine = ptx::described_gpu(round % 2 == 0 ? "a100" : "h200");
    const bool equal = round % 4 < 2;
    if (equal) machine.memory_bytes_per_second = unlimited;
    const DType dtype = dtypes[draws.below(3)];
    const std::vector<GpuTile> tiles = gpu_tiles(machine, dtype, false);
    const GpuTile& tile = tiles[draws.below(tiles.size())];
    GpuContraction shape = draws.form(dtype);
    const GpuTileProfile profile(machine, shape, tile);
    draws.set_sizes(shape);
    const double cost = gpu_contraction_cost(machine, shape, tile),
                 least = profile.least_seconds(shape);
    CAPTURE(tile.to_string());
    CAPTURE(shape.m);
    CAPTURE(shape.n);
    CAPTURE(shape.k);
    CHECK(least <= cost * (1 + 1e-9));
    if (equal) CHECK(least >= cost * (1 - 1e-9));
    const double work = static_cast<double>(shape.batch) * static_cast<double>(shape.m) *
                        static_cast<double>(shape.n) * static_cast<double>(shape.k);
    CHECK(profile.seconds_per_multiply_add() * work <= cost);
  }
}

TEST_CASE("the search finds the cheapest of candidates and late tiles") {
  Draws draws(dyn::testing::test_seed());
  const GpuMachine machine = ptx::described_gpu("a100");
  int late_ones = 0;
  for (const DType dtype : dtypes) {
    const std::vector<GpuTile> candidates = gpu_tiles(machine, dtype, false);
    const auto late = late_gpu_tiles(machine, candidates);
    for (int form_round = 0; form_round < dyn::testing::test_rounds(6, 2); ++form_round) {
      const GpuContraction form = draws.form(dtype);
      const GpuTileSearch search(machine, candidates, *late, [&](const GpuTile&) { return form; });
      for (int round = 0; round < 40; ++round) {
        GpuContraction shape = form;
        draws.set_sizes(shape);
        CAPTURE(shape.m);
        CAPTURE(shape.n);
        CAPTURE(shape.k);
        const GpuChoice found = search.cheapest(shape),
                        wanted = cheapest_of_all(machine, shape, candidates, *late);
        CHECK(found.seconds == doctest::Approx(wanted.seconds).epsilon(1e-9));
        if (static_cast<std::size_t>(wanted.tile) < candidates.size())
          CHECK(found.tile == wanted.tile);
        else
          ++late_ones;
        const auto listed = search.cheapest_late(shape, 1);
        REQUIRE(listed.size() == 1);
        if (static_cast<std::size_t>(found.tile) >= candidates.size())
          CHECK(listed[0].seconds == doctest::Approx(found.seconds).epsilon(1e-9));
      }
    }
  }
  CHECK(late_ones > 50);
}

TEST_CASE("without sizes to compute, or late tiles, a search takes a candidate") {
  const GpuMachine machine = ptx::described_gpu("a100");
  const std::vector<GpuTile> candidates = gpu_tiles(machine, DType::bf16, false);
  const auto form = [](const GpuTile&) { return GpuContraction{}; };
  const GpuTileSearch search(machine, candidates, *late_gpu_tiles(machine, candidates), form);
  for (const GpuContraction& empty :
       {GpuContraction{.m = 0, .n = 5, .k = 5}, {.m = 5, .n = 5, .k = 0}}) {
    const GpuChoice choice = search.cheapest(empty);
    CHECK(choice.tile >= 0);
    CHECK(static_cast<std::size_t>(choice.tile) < candidates.size());
  }
  CHECK(GpuTileSearch(machine, {}, {}, form).cheapest({.m = 8, .n = 8, .k = 8}).tile == -1);
}

TEST_CASE("late tiles are few, new, held by the GPU, and of one kind") {
  for (const char* gpu : {"a100", "h100", "h200"}) {
    const GpuMachine machine = ptx::described_gpu(gpu);
    for (const DType dtype : dtypes) {
      const std::vector<GpuTile> candidates = gpu_tiles(machine, dtype, false);
      const auto late = late_gpu_tiles(machine, candidates);
      CAPTURE(gpu);
      CAPTURE(name_of(dtype));
      CHECK(late->size() >= 30);
      CHECK(late->size() <= 128);
      CHECK(std::set<GpuTile>(late->begin(), late->end()).size() == late->size());
      for (const GpuTile& tile : *late) {
        CAPTURE(tile.to_string());
        CHECK(std::ranges::find(candidates, tile) == candidates.end());
        CHECK(program_occupancy(machine, {&tile, 1}).blocks > 0);
        CHECK(kinds_of({tile}) == kinds_of({candidates.front()}));
      }
      CHECK(late == late_gpu_tiles(machine, candidates));
    }
  }
  CHECK(late_gpu_tiles(ptx::described_gpu("a100"), {})->empty());
}

// No candidate has so few columns, rows or steps as some problems.
TEST_CASE("late tiles make narrow and shallow products faster") {
  const GpuMachine machine = ptx::described_gpu("a100");
  const std::vector<GpuTile> candidates = gpu_tiles(machine, DType::f32, false);
  const auto late = late_gpu_tiles(machine, candidates);
  for (const GpuContraction& shape :
       {GpuContraction{.m = 100000, .n = 16, .k = 500},
        {.m = 100000, .n = 40, .k = 20},
        {.batch = 100, .m = 100, .n = 64, .k = 100, .a_vectors = false}}) {
    const GpuTileSearch search(machine, candidates, *late, [&](const GpuTile&) { return shape; });
    CAPTURE(shape.n);
    CHECK(search.cheapest(shape).seconds <
          0.9 * select_gpu_tile(machine, shape, candidates).seconds);
  }
}
