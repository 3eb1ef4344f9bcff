// Contractions that compute a factor as they load it, or multiply several right sides: every tile
// gives the bits of the kernels that leave these parts in memory.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <llvm/IR/Module.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "targets/ptx/ir/device_module.hpp"
#include "targets/ptx/lowering/ptx_lowering.hpp"
#include "targets/ptx/tile/problem_tile.hpp"
#include "tests/support/problems/problem_interpreter.hpp"
#include "tests/support/ptxas.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/ptx/contraction/matmul_case.hpp"
#include "tests/unit/ptx/device_run.hpp"

using namespace dyn;
using namespace dyn::ptx;
using namespace dyn::ptx::testing;
using dyn::choice::GpuTile;

namespace {

/// Buffers by the names of their values, so that graphs of the same tensors have the same.
using Named = std::map<std::string, Floats>;
using Sizes = std::vector<std::pair<std::string, std::int64_t>>;

const graph::FuseOptions fuses{.gated_columns = 1,
                               .most_gated_products = 2,
                               .prologue_columns = 1,
                               .prologue_pays = [](const graph::PrologueWork&) { return true; }};

LoweredGraph fused_graph(const std::string& text) { return lowered(text, {}, fuses); }

std::map<graph::ValueId, Floats> buffers_of(const LoweredGraph& graph, const Symbols& symbols,
                                            std::mt19937_64& random, Named& known) {
  std::map<graph::ValueId, Floats> buffers = dyn::ptx::testing::buffers_of(graph, symbols, random);
  for (auto& [id, floats] : buffers) {
    const auto [named, fresh] = known.try_emplace(graph.module->value(id).name, floats);
    floats = named->second;
  }
  return buffers;
}

/// Runs the problems, a contraction with this tile alone. The first output of the graph; nothing
/// where a problem cannot have the tile.
std::optional<Floats> run(LoweredGraph& graph, const Symbols& symbols, const GpuTile& tile,
                          const std::map<graph::ValueId, Floats>& buffers) {
  const std::shared_ptr<Emulator> emulator = emulator_with(3);
  TargetOptions options;
  options.device = emulator;
  options.machine = emulator->machine();
  const auto target = make_ptx_target(options);
  DeviceRun device(*target, graph, buffers);
  for (const rkernel::Problem& problem : graph.problems) {
    rkernel::CompileReport report;
    if (!problem.contraction) {
      rkernel::Prepared loop = target->prepare({problem}, graph.facts());
      device.run(problem, *loop.kernels[0], symbols);
      continue;
    }
    auto draft = ContractionKernel::draft(problem, options.machine, tile.operands, {tile}, "tile",
                                          rkernel::Policy::Dyn, {}, false);
    if (!draft) return std::nullopt;
    const std::vector<const void*> functions = emulator->load(draft->sources(), 1, report);
    const auto kernel = std::move(*draft).with_code(functions);
    const rkernel::Launch launch = kernel->plan({symbols, 1});
    device.run(problem, launch, launch.grid.function);
  }
  for (const FaultReport& fault : emulator->take_reports()) FAIL_CHECK(to_string(fault));
  return device.output(graph.fusion.output_bases.front());
}

bool same_bits(const Floats& a, const Floats& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// The first output of the problems' interpreter.
Floats interpreted(const LoweredGraph& graph, const Symbols& symbols,
                   std::map<graph::ValueId, Floats> buffers) {
  std::map<graph::ValueId, void*> memory;
  for (auto& [id, floats] : buffers) memory[id] = floats.data();
  for (const rkernel::Problem& problem : graph.problems)
    dyn::testing::interpret(problem, symbols, memory);
  return buffers.at(graph.fusion.output_bases.front());
}

/// What the products of k terms may be wrong by, over the sum of their magnitudes: both factors are
/// rounded to the tile's operands, and each sum to f32, twice as far on tensor cores. Then an
/// epilogue that grows no steeper than 2.2, as a product of a silu and a sum does.
double most_error(const GpuTile& tile, std::int64_t k) {
  const bool is_tensor = tile.engine != choice::Engine::CudaCores;
  const int factor_bits = tile.operands == DType::bf16  ? 8
                          : tile.operands == DType::f16 ? 11
                          : is_tensor                   ? 10
                                                        : 24;
  const double of_sums = std::ldexp(static_cast<double>(k + 8), is_tensor ? -23 : -24);
  return 2.2 * (2 * std::ldexp(1.0, -factor_bits) + of_sums);
}

/// A graph, and one whose output is no less than the magnitudes that the former's products add up.
struct Texts {
  std::string graph, magnitudes;
};

/// The text in one kernel beside kernels that leave its parts in memory. False where the tile is
/// not for it.
bool check(const Texts& texts, const Sizes& sizes, std::int64_t k, const GpuTile& tile,
           std::mt19937_64& random) {
  LoweredGraph one = fused_graph(texts.graph), several = lowered(texts.graph);
  REQUIRE(one.problems.size() == 1);
  REQUIRE(several.problems.size() > 1);
  const Symbols symbols = one.symbols(sizes), of_several = several.symbols(sizes);
  Named known;
  const auto buffers = buffers_of(one, symbols, random, known);
  const auto others = buffers_of(several, of_several, random, known);
  const std::optional<Floats> together = run(one, symbols, tile, buffers);
  if (!together) return false;
  const std::optional<Floats> expected = run(several, of_several, tile, others);
  std::string at;
  for (const auto& [name, size] : sizes) at += fmt::format(" {}={}", name, size);
  CAPTURE(at);
  CAPTURE(tile.to_string());
  CHECK(same_bits(*together, expected.value()));
  const LoweredGraph sums = lowered(texts.magnitudes);
  const Symbols of_sums = sums.symbols(sizes);
  const Floats exact = interpreted(one, symbols, buffers),
               magnitudes = interpreted(sums, of_sums, buffers_of(sums, of_sums, random, known));
  REQUIRE(together->size() == exact.size());
  REQUIRE(magnitudes.size() == exact.size());
  double worst = 0;  // over what is allowed
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double error = std::fabs(static_cast<double>((*together)[i]) - exact[i]);
    worst = std::isnan(error)
                ? 1e9
                : std::max(worst, error / (most_error(tile, k) * magnitudes[i] + 1e-7));
  }
  CHECK(worst <= 1);
  return true;
}

struct FactorCase {
  const char *parameters, *factor, *product;
};

const FactorCase factors[] = {
    {"x: f32[B, M, K], w: f32[K, N]", "relu(x) - 0.5", "matmul(t, w)"},
    {"x: f32[B, M, K], p: f32[B, M, 1], q: f32[K], w: f32[K, N]", "x * p + q",
     "tanh(matmul(t, w))"},
    {"x: f32[B, M, K], p: f32[B, M, K], w: f32[K, N]", "maximum(x, p)", "matmul(t, w) * 2.0"},
    {"x: f32[B, M, K], w: f32[K, N]", "x + range() end=K dtype=f32", "matmul(t, w)"},
    {"x: f32[B, M, K], k: f32[B, K, N]", "relu(k) + 0.25", "matmul(x, t)"},
    {"x: f32[B, M, K], k: f32[B, K, N], q: f32[N], p: f32[B, K, 1]", "maximum(k, q * p)",
     "relu(matmul(x, t))"},
};

Texts factor_texts(const FactorCase& item) {
  const auto text = [&](const std::string& product) {
    return fmt::format(
        "dim B in 1..9\ndim M in 0..999\ndim N in 2..999\ndim K in 1..999\n"
        "graph g({}) -> (y: f32[B, M, N]) {{\n  t = {}\n  y = {}\n  return y\n}}\n",
        item.parameters, item.factor, product);
  };
  const bool is_left = std::string(item.product).find("(t, w)") != std::string::npos;
  return {text(item.product), text(is_left ? "matmul(abs(t), abs(w))" : "matmul(abs(x), abs(t))")};
}

/// Whole vectors in some of them.
Sizes random_sizes(std::mt19937_64& random) {
  const auto size = [&](int most) { return static_cast<std::int64_t>(1 + random() % most); };
  const bool whole = random() % 2 == 0;
  const auto rounded = [&](std::int64_t value) { return whole ? (value + 7) / 8 * 8 : value + 1; };
  return {{"B", size(3)}, {"M", size(140)}, {"N", rounded(size(150))}, {"K", rounded(size(140))}};
}

/// A thread loads groups of several columns: there are 12 in a row of the left side, and 128
/// threads.
GpuTile uneven_tile() {
  GpuTile tile = small_tensor_tile(DType::bf16);
  tile.block_k = 48;
  return tile;
}

std::vector<GpuTile> tiles() {
  std::vector<GpuTile> tiles = candidate_tiles({DType::f32, DType::f16, DType::bf16});
  tiles.push_back(uneven_tile());
  return tiles;
}

Texts gated_texts(std::int64_t k, std::int64_t n) {
  const std::string side = fmt::format(": f32[{}, {}]", k, n);
  const auto text = [&](const std::string& y) {
    return fmt::format(
        "dim M in 0..999\ngraph g(x: f32[M, {0}], c: f32[{1}]) -> (y: f32[M, {1}]) "
        "{{\n  y = {2}\n  return y\n}}\n",
        k, n, y);
  };
  return {
      text("silu(matmul(x, a" + side + ")) * (matmul(x, b" + side + ") + c)"),
      text("matmul(abs(x), abs(a" + side + ")) * (matmul(abs(x), abs(b" + side + ")) + abs(c))")};
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE(
      "factors that are computed as their tiles are loaded have the bits of those in memory") {
    dyn::testing::Sweep sweep(25);
    std::mt19937_64 random(dyn::testing::test_seed(1));
    int taken = 0;
    for (const FactorCase& item : factors) {
      for (const GpuTile& tile : tiles()) {
        if (!sweep.takes() && tile != uneven_tile()) continue;
        const Sizes sizes = random_sizes(random);
        taken += check(factor_texts(item), sizes, sizes.back().second, tile, random);
      }
    }
    CHECK(taken > 0);
  }

  TEST_CASE("what is not finite in a computed factor stays in its row") {
    std::mt19937_64 random(dyn::testing::test_seed(1));
    const std::string text =
        "dim M in 0..999\ndim N in 2..999\ndim K in 1..999\n"
        "graph g(x: f32[M, K], w: f32[K, N]) -> (y: f32[M, N]) {\n"
        "  y = matmul(x * x, w)\n  return y\n}\n";
    LoweredGraph graph = fused_graph(text);
    REQUIRE(graph.problems.size() == 1);
    // Each tile of the first row of blocks begins with the element, and K ends in a tile.
    const Symbols symbols = graph.symbols({{"M", 9}, {"N", 24}, {"K", 7}});
    Named known;
    auto buffers = buffers_of(graph, symbols, random, known);
    for (auto& [id, floats] : buffers) {
      if (graph.module->value(id).name == "x") floats.front() = 1e30f;
    }
    for (const GpuTile& tile :
         {candidate_tiles({DType::f32}).at(4), small_tensor_tile(DType::bf16)}) {
      const Floats y = run(graph, symbols, tile, buffers).value();
      for (std::size_t i = 24; i < y.size(); ++i) CHECK(std::isfinite(y[i]));
    }
  }

  TEST_CASE("two right sides in one kernel have the bits of products in memory") {
    dyn::testing::Sweep sweep(8);
    std::mt19937_64 random(dyn::testing::test_seed(1));
    int taken = 0;
    for (const GpuTile& tile : tiles()) {
      if (!sweep.takes()) continue;
      const std::int64_t k = 1 + static_cast<std::int64_t>(random() % 140),
                         n = 1 + static_cast<std::int64_t>(random() % 150),
                         m = static_cast<std::int64_t>(random() % 140);
      taken += check(gated_texts(k, n), {{"M", m}}, k, tile, random);
    }
    CHECK(taken > 0);
  }
}

TEST_SUITE("full") {
  TEST_CASE("kernels of fused products assemble for every GPU without spills") {
    if (dyn::test::ptxas_is_missing()) return;
    std::vector<std::string> texts{gated_texts(1024, 1024).graph};
    for (const FactorCase& item : factors) texts.push_back(factor_texts(item).graph);
    dyn::testing::Sweep sweep(40);
    int kernels = 0;
    for (const std::string& text : texts) {
      const LoweredGraph graph = fused_graph(text);
      const rkernel::Problem& problem = graph.contraction();
      for (const GpuTile& tile : tiles()) {
        auto draft = ContractionKernel::draft(problem, emulator_with(3)->machine(), tile.operands,
                                              {tile}, "tile");
        if (!draft) continue;
        for (const codegen::KernelSource& source : draft->sources()) {
          if (!sweep.takes()) continue;
          llvm::LLVMContext context;
          std::string registers;
          const int most = dyn::test::checked_registers(
              lower_to_ptx(*emit_device_module(context, source, "fused")), source.key,
              dyn::test::ptxas_gpus(), registers);
          const GpuTile own = for_problem(tile, problem);
          std::printf("%s: registers%s, %d predicted, %d kept\n", source.key.substr(0, 90).c_str(),
                      registers.c_str(), own.registers(),
                      own.sums_of_thread() + own.factor_registers);
          CHECK(most > 0);
          ++kernels;
        }
      }
    }
    CHECK(kernels > 0);
  }
}
