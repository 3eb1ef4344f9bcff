#include <numeric>
#include <random>

#include "src/choice/calibration/calibration.hpp"
#include "src/runtime/plan/arena_layout.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn::runtime;

TEST_CASE("buffers that live at the same time never overlap") {
  const unsigned seed = std::random_device()();
  MESSAGE("seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    const std::size_t count = random() % 40;
    const int steps = 1 + static_cast<int>(random() % 30);
    std::vector<Lifetime> lifetimes(count);
    std::vector<std::size_t> bytes(count), offsets(count);
    for (std::size_t i = 0; i < count; ++i) {
      lifetimes[i].first = static_cast<int>(random() % static_cast<unsigned>(steps));
      lifetimes[i].last = lifetimes[i].first + static_cast<int>(random() % 6);
      bytes[i] = random() % 5 == 0 ? 0 : random() % 5000;
    }
    const std::size_t total = ArenaLayout(lifetimes).place(bytes, offsets);
    for (std::size_t a = 0; a < count; ++a) {
      CHECK(offsets[a] % arena_alignment == 0);
      CHECK(offsets[a] + bytes[a] <= total);
      for (std::size_t b = 0; b < a; ++b) {
        const bool meet =
            lifetimes[a].first <= lifetimes[b].last && lifetimes[b].first <= lifetimes[a].last;
        const bool apart =
            offsets[a] + bytes[a] <= offsets[b] || offsets[b] + bytes[b] <= offsets[a];
        if (meet && bytes[a] > 0 && bytes[b] > 0) CHECK(apart);
      }
    }
  }
}

TEST_CASE("no main loop asks for lines of another thread's scratch") {
  const dyn::choice::Calibration& fitted = dyn::choice::default_calibration();
  CHECK(scratch_stride(0) == 0);
  for (const std::size_t bytes : {1, 63, 64, 65, 8192, 100000}) {
    const std::size_t between = scratch_stride(bytes) - bytes;
    CHECK(scratch_stride(bytes) % arena_alignment == 0);
    CHECK(between >= static_cast<std::size_t>(fitted.prefetch_bytes));
    CHECK(between >= static_cast<std::size_t>(fitted.prefetch_bytes_of_tall_tiles));
    CHECK(between >= static_cast<std::size_t>(fitted.prefetch_bytes_of_codes));
    CHECK(between >= 4 * static_cast<std::size_t>(fitted.prefetch_near_elements));
  }
}

TEST_CASE("memory is used again: a chain needs two buffers, whatever its length") {
  std::vector<Lifetime> chain;
  for (int i = 0; i < 50; ++i) chain.push_back({i, i + 1});
  const std::vector<std::size_t> bytes(50, 1024);
  std::vector<std::size_t> offsets(50);
  CHECK(ArenaLayout(chain).place(bytes, offsets) == 2048);
}

TEST_CASE("sizes that overflow are an error") {
  const std::vector<Lifetime> lifetimes(4, Lifetime{0, 1});
  const std::vector<std::size_t> bytes(4, std::size_t{1} << 62);
  std::vector<std::size_t> offsets(4);
  dyn::testing::check_error(
      dyn::ErrorKind::user, [&] { ArenaLayout(lifetimes).place(bytes, offsets); }, "memory");
}
