// Code that is part of the library: it is found, it is used, and it is what would be compiled now.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "dyn/graph.hpp"
#include "src/aot/layer_code.hpp"
#include "targets/cpu/ahead_of_time.hpp"
#include "targets/cpu/tile/main_loop.hpp"
#include "targets/llvm/jit/ahead_of_time.hpp"
#include "targets/llvm/jit/jit.hpp"
#include "tests/support/held_code.hpp"
#include "tests/support/random_floats.hpp"
#include "tests/support/seed.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace dyn::codegen;
using dyn::cpu::ahead_of_time_sources;

namespace {

/// What a tile's main loop makes of random factors, sums of other columns included.
std::vector<float> products_of(void* function, const Isa& isa, const dyn::cpu::Tile& tile,
                               std::uint64_t seed) {
  constexpr std::int64_t k = 37;
  std::mt19937 random(static_cast<std::uint32_t>(seed));
  const auto floats = [&](std::int64_t count) {
    return dyn::testing::random_floats(random, count);
  };
  const std::int64_t panels = std::max(1, tile.columns / isa.panel_f32), panel = k * isa.panel_f32;
  const std::vector<float> a = floats(tile.rows * (k + 3)), b = floats(panels * panel);
  std::vector<float> c = floats(tile.rows * (panels * isa.panel_f32));
  reinterpret_cast<dyn::cpu::MainLoop>(function)(a.data(), k + 3, b.data(), isa.panel_f32, panel, k,
                                                 c.data(), panels * isa.panel_f32, 1, 0, 0, 0);
  return c;
}

}  // namespace

TEST_CASE("the library has what depends on an ISA alone, common layers, and nothing else") {
  std::set<std::pair<std::string, std::string>> expected;
  std::set<void*> addresses;
  for (const Isa& isa : all_isas()) {
    CAPTURE(isa.name);
    const dyn::aot::LayerCode layers(isa);
    std::vector<KernelSource> sources = ahead_of_time_sources(isa);
    const std::size_t without_layers = sources.size();
    sources.insert(sources.end(), layers.sources().begin(), layers.sources().end());
    CHECK(sources.size() > 2 * without_layers);
    for (const KernelSource& source : sources) {
      CAPTURE(source.key);
      void* const address = ahead_of_time_function(isa, source.key);
      CHECK(address != nullptr);
      addresses.insert(address);
      expected.emplace(isa.name, source.key);
    }
    CHECK(ahead_of_time_function(isa, "contraction") == nullptr);
  }
  CHECK(addresses.size() == expected.size());
  CHECK(ahead_of_time_table().size() == expected.size());
}

TEST_CASE("common layers of other sizes need no code of their own") {
  const auto compiled = [](const std::string& text) {
    dyn::Options options;
    options.threads = 2;
    options.random_weights = true;
    options.cache_dir = "none";
    return dyn::Graph::from_text(text, options).load_report().kernels_compiled;
  };
  CHECK(compiled("dyn 1\ndim B in 1..9\ngraph g(x: f32[B, 37]) -> (y: f32[B, 192]) {\n  y = "
                 "relu(matmul(x, w: f32[37, 192]) + b: f32[192])\n  return y\n}\n") == 0);
  CHECK(compiled("dyn 1\ndim N in 1..9\ndim H in 3..50\ngraph g(x: f32[N, H, 17, 40]) -> (y: "
                 "f32[N, H, 17, 96]) {\n  t = conv(x, w: f32[3, 3, 40, 96]) before=[1, 1] "
                 "after=[1, 1] + b: f32[96]\n  y = t * sigmoid(t)\n  return y\n}\n") == 0);
}

TEST_CASE("what the library has is compiled for a dump alone") {
  const Isa& isa = select_isa("");
  const std::vector<KernelSource> sources = ahead_of_time_sources(isa);
  const auto resolve = [&](const CodeStoreOptions& options) {
    dyn::rkernel::CompileReport report;
    const auto store = CodeStore::open(isa, options);
    dyn::testing::hold(store->resolve(sources, 1, report));
    return report;
  };
  const dyn::rkernel::CompileReport usual = resolve({});
  CHECK(usual.compiled == 0);
  CHECK(usual.kernels == static_cast<int>(sources.size()));
  CHECK(usual.from_memory == usual.kernels);
  const dyn::testing::TemporaryFolder folder;
  ::setenv("DYN_DUMP", "llvm", 1);
  ::setenv("DYN_DUMP_DIR", folder.string().c_str(), 1);
  CodeStoreOptions dumping;
  dumping.dump = dyn::Dump::from_environment();
  ::unsetenv("DYN_DUMP");
  ::unsetenv("DYN_DUMP_DIR");
  CHECK(resolve(dumping).compiled == static_cast<int>(sources.size()));
  const std::filesystem::directory_iterator files(folder.path());
  CHECK(std::distance(begin(files), end(files)) == static_cast<std::ptrdiff_t>(sources.size()));
}

TEST_CASE("a main loop of the library computes what its source does, bit for bit") {
  const std::uint64_t seed = dyn::testing::test_seed(20261125);
  for (const Isa& isa : all_isas()) {
    if (!cpu_has(isa)) continue;
    std::vector<KernelSource> sources = dyn::cpu::main_loop_sources(isa);
    std::vector<void*> known;
    for (KernelSource& source : sources) {
      known.push_back(ahead_of_time_function(isa, source.key));
      source.key += ", compiled now";
    }
    dyn::rkernel::CompileReport report;
    const auto store = CodeStore::open(isa, {});
    const std::vector<void*> made = dyn::testing::hold(store->resolve(sources, 2, report));
    CHECK(report.compiled == static_cast<int>(sources.size()));
    const std::vector<dyn::cpu::Tile> tiles = dyn::cpu::main_loop_tiles(isa);
    for (std::size_t i = 0; i < tiles.size(); ++i) {
      CAPTURE(sources[i].key);
      CHECK(known[i] != made[i]);
      CHECK(products_of(known[i], isa, tiles[i], seed) ==
            products_of(made[i], isa, tiles[i], seed));
    }
  }
}
