// Attention as the target plans it: what it takes, its tiles, trees, keys and costs.

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <utility>

#include "graph/passes/products/share_heads.hpp"
#include "graph/text/text.hpp"
#include "src/rkernel/problem/lower.hpp"
#include "targets/ptx/attention/kernel.hpp"
#include "targets/ptx/attention/tree.hpp"
#include "targets/ptx/gpus/gpu_descriptions.hpp"
#include "targets/ptx/tile/tree.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/ptx/attention/attention_case.hpp"
#include "tests/unit/ptx/target_fixture.hpp"

using namespace dyn;
using namespace dyn::ptx;
using namespace dyn::ptx::testing;
using choice::GpuAttention;
using choice::GpuAttentionTile;

namespace {

/// Eight heads of `depth` and 64; queries and keys of any number.
LoweredGraph heads_of(int depth, const std::string& options = "", std::int64_t most_depth = 5000) {
  const std::string text =
      "dyn 1\ndim S in 0..5000\ndim T in 0..5000\ngraph g(q: f32[8, S, D], k: f32[8, T, D], v: "
      "f32[8, T, 64]) -> (y: f32[8, S, 64]) {\n  y = attention(q, k, v)" +
      options + "\n  return y\n}\n";
  std::string sized = text;
  for (std::size_t at = sized.find("D]"); at != std::string::npos; at = sized.find("D]"))
    sized.replace(at, 1, std::to_string(depth));
  LoweredGraph result;
  result.module = std::make_unique<graph::Module>(graph::parse(sized));
  graph::decompose(*result.module, {.keep_attention = true, .attention_depth = most_depth});
  graph::simplify(*result.module);
  result.fusion = graph::fuse(*result.module);
  result.problems = rkernel::lower(*result.module, result.fusion);
  return result;
}

std::optional<GpuAttentionKernel::Draft> drafted(const rkernel::Problem& problem,
                                                 DType compute = DType::bf16,
                                                 rkernel::Policy policy = rkernel::Policy::Dyn) {
  return GpuAttentionKernel::draft(problem, described_gpu("a100"), compute, false, "cuda/a100",
                                   policy);
}

std::vector<std::string> keys_of(const rkernel::Problem& problem) {
  std::vector<std::string> keys;
  for (const codegen::KernelSource& source : drafted(problem).value().sources())
    keys.push_back(source.key);
  return keys;
}

std::vector<GpuAttentionTile> tiles_of_heads(DType operands, bool tf32, int room) {
  return choice::gpu_attention_tiles(described_gpu("a100"), operands, tf32, room, room);
}

}  // namespace

TEST_CASE("attention is one kernel on a GPU, with no scores in memory") {
  const LoweredGraph graph = heads_of(64);
  REQUIRE(graph.problems.size() == 1);
  const rkernel::Problem& problem = graph.problems.front();
  REQUIRE(problem.attention.has_value());
  CHECK(problem.operands.size() == 4);
  const auto kernel = std::move(drafted(problem)).value().without_code();
  const auto symbols = graph.symbols({{"S", 4096}, {"T", 512}});
  const rkernel::Launch launch = kernel->plan({symbols, 1});
  CHECK(launch.tickets > 0);
  CHECK(launch.shared_bytes == 0);
  CHECK(launch.tickets ==
        8 * ((4096 + 8 * 4096 / launch.tickets - 1) / (8 * 4096 / launch.tickets)));
  CHECK(launch.grid.blocks <= launch.tickets);
  CHECK(launch.grid.shared_bytes > 0);
  const auto none = graph.symbols({{"S", 0}, {"T", 512}});
  CHECK(kernel->plan({none, 1}).tickets == 0);
  const std::string text = kernel->explain({symbols, 1});
  CHECK(text.find("chosen") != std::string::npos);
  CHECK(text.find("predicted from the description of") != std::string::npos);
  CHECK(kernel->describe().find("measured") == std::string::npos);
}

TEST_CASE("keys and values that are repeated for groups of heads are read as they lie") {
  const auto lowered = [](const std::string& mask, const std::string& values) {
    const std::string text =
        "dyn 1\ndim S in 1..99\ndim T in 1..99\n"
        "graph g(q: f32[2, 12, S, 64], k: f32[2, 3, T, 64], v: f32[2, 3, T, 64], w: f32[2, 12, T, "
        "64], m: " +
        mask +
        ") -> (y: f32[2, 12, S, 64]) {\n"
        "  a = reshape(expand(reshape(k) shape=[2, 3, 1, T, 64]) shape=[2, 3, 4, T, 64]) "
        "shape=[2, 12, T, 64]\n"
        "  b = reshape(expand(reshape(v) shape=[2, 3, 1, T, 64]) shape=[2, 3, 4, T, 64]) "
        "shape=[2, 12, T, 64]\n"
        "  y = attention(q, a, " +
        values + ", m)\n  return y\n}\n";
    graph::Module module = graph::parse(text);
    graph::share_heads(module);
    graph::decompose(module, {.keep_attention = true, .attention_depth = 256});
    graph::simplify(module);
    std::vector<rkernel::Problem> problems = rkernel::lower(module, graph::fuse(module));
    return std::pair(std::move(module), std::move(problems));  // dims live in the module
  };
  for (const char* mask : {"f32[S, T]", "f32[12, S, T]", "f32[2, 1, S, T]", "f32[2, 12, 1, T]"}) {
    CAPTURE(mask);
    const auto [module, problems] = lowered(mask, "b");
    REQUIRE(problems.size() == 1);
    const int heads = axis_of_shared_heads(problems.front());
    REQUIRE(heads >= 0);
    CHECK(problems.front().axes[static_cast<std::size_t>(heads)].extent.constant() == 4);
    CHECK(heads + 1 == problems.front().attention->m);
  }
  CHECK(lowered("f32[S, T]", "w").second.size() > 1);
}

TEST_CASE("few queries of attention split the keys among warps, many do not") {
  const LoweredGraph graph = heads_of(64);
  const auto kernel = std::move(drafted(graph.problems.front())).value().without_code();
  const auto one = graph.symbols({{"S", 1}, {"T", 4096}}),
             many = graph.symbols({{"S", 4096}, {"T", 4096}});
  const auto chosen = [&](const std::vector<std::int64_t>& symbols) {
    const std::string text = kernel->explain({symbols, 1});
    const std::size_t at = text.find("chosen");
    return text.substr(at, text.find('\n', at) - at);
  };
  CHECK(chosen(one).find("parts") != std::string::npos);
  CHECK(chosen(many).find("parts") == std::string::npos);
}

TEST_CASE("blocks share the keys of few rows, and no others") {
  const LoweredGraph graph = heads_of(64);
  const auto kernel = std::move(drafted(graph.problems.front())).value().without_code();
  const auto plan = [&](std::int64_t queries, std::int64_t keys) {
    return kernel->plan({graph.symbols({{"S", queries}, {"T", keys}}), 1});
  };
  const rkernel::Launch one = plan(1, 4096), few = plan(70, 5000);
  CHECK(one.tickets > 8 * 4);
  CHECK(one.tickets % 8 == 0);
  CHECK(one.grid.blocks == one.tickets);
  CHECK(one.shared_bytes > rkernel::counter_bytes);
  CHECK(few.shared_bytes > rkernel::counter_bytes);
  CHECK(plan(1, 16).shared_bytes == 0);
  CHECK(plan(1, 0).shared_bytes == 0);
  CHECK(plan(0, 4096).shared_bytes == 0);
  CHECK(plan(5000, 5000).shared_bytes == 0);
  // The same kernel runs them all.
  CHECK(plan(1, 5000).grid.function == one.grid.function);
  CHECK(kernel->explain({graph.symbols({{"S", 1}, {"T", 4096}}), 1}).find("keys of") !=
        std::string::npos);
}

TEST_CASE("parts of keys have all tiles of keys, and pay") {
  std::mt19937_64 random(dyn::testing::test_seed());
  const auto below = [&](std::int64_t most) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
  };
  const choice::GpuMachine machine = described_gpu("h100");
  int shared = 0;
  for (int i = 0; i < 300; ++i) {
    GpuAttention shape{.batch = 1 + below(40), .queries = 1 + below(100), .keys = below(20000)};
    shape.depth = shape.width = 64;
    shape.causal = i % 2 == 0;
    for (const GpuAttentionTile& tile : tiles_of_heads(DType::bf16, false, 64)) {
      const choice::GpuKeyChoice chosen = choice::choose_key_parts(machine, shape, tile, true);
      const auto& [count, span] = chosen.parts;
      const double whole = choice::gpu_attention_cost(machine, shape, tile);
      CHECK(chosen.seconds ==
            choice::gpu_attention_cost(machine, shape, tile, nullptr, chosen.parts));
      CHECK(choice::choose_key_parts(machine, shape, tile, false).seconds == whole);
      if (count == 1) {
        CHECK(chosen.seconds == whole);
        continue;
      }
      ++shared;
      const std::int64_t steps = (shape.keys + tile.block_keys() - 1) / tile.block_keys();
      CHECK(count * span >= steps);
      CHECK((count - 1) * span < steps);
      CHECK(chosen.seconds < 0.96 * whole);
    }
  }
  CHECK(shared > 100);
  // There is a counter for each tile of rows.
  GpuAttention many{.batch = rkernel::most_counters + 1, .queries = 1, .keys = 1 << 20};
  many.depth = many.width = 64;
  choice::GpuMachine large = machine;
  large.multiprocessors = 100000;
  large.memory_bytes_per_second *= 1000;
  large.l2_bytes_per_second *= 1000;
  const GpuAttentionTile tile = tiles_of_heads(DType::bf16, false, 64).front();
  CHECK(choice::choose_key_parts(large, many, tile, true).parts.count == 1);
  --many.batch;
  CHECK(choice::choose_key_parts(large, many, tile, true).parts.count > 1);
}

TEST_CASE("attention that device code lacks is refused") {
  CHECK(drafted(heads_of(256).problems.front()).has_value());
  CHECK_FALSE(drafted(heads_of(257).problems.front()).has_value());
  LoweredGraph scaled = heads_of(64);
  scaled.problems.front().attention->k_scales = 0;
  CHECK_FALSE(drafted(scaled.problems.front()).has_value());
  LoweredGraph integers = heads_of(64);
  integers.problems.front().operands[1].dtype = DType::i8;
  CHECK_FALSE(drafted(integers.problems.front()).has_value());
  CHECK_FALSE(drafted(heads_of(64).problems.front(), DType::i32).has_value());
}

TEST_CASE("attention that is too deep for a target is split") {
  TargetOptions options;
  options.machine = described_gpu("a100");
  const auto target = make_ptx_target(options);
  CHECK(target->fuses_attention());
  const std::int64_t most = target->most_attention_depth();
  const auto kept = [&](std::int64_t depth) {
    const LoweredGraph graph = heads_of(static_cast<int>(depth), "", most);
    return std::ranges::any_of(graph.problems, [](const rkernel::Problem& problem) {
      return problem.attention.has_value();
    });
  };
  CHECK(kept(most));
  CHECK_FALSE(kept(most + 1));
}

TEST_CASE("everything that changes the code of attention is in its key, and no length") {
  const std::vector<std::string> keys = keys_of(heads_of(64).problems.front());
  CHECK(keys_of(heads_of(64).problems.front()) == keys);
  std::vector<std::string> distinct = keys;
  std::ranges::sort(distinct);
  CHECK(std::ranges::adjacent_find(distinct) == distinct.end());
  CHECK(keys_of(heads_of(64, " causal=true").problems.front()) != keys);
  CHECK(keys_of(heads_of(128).problems.front()) != keys);
  // The scale is a number of the launch.
  CHECK(keys_of(heads_of(64, " scale=0.3").problems.front()) == keys);
}

TEST_CASE("trees of attention are legal, and give their tiles back") {
  std::mt19937_64 random(dyn::testing::test_seed());
  const LoweredGraph graph = heads_of(64);
  for (const bool tf32 : {false, true}) {
    for (const DType operands : {DType::f32, DType::bf16}) {
      for (const int room : {32, 64, 96, 128, 192, 256}) {
        const std::vector<GpuAttentionTile> tiles = tiles_of_heads(operands, tf32, room);
        CHECK_FALSE(tiles.empty());
        for (const GpuAttentionTile& tile : tiles) {
          const int heads = random() % 2 == 0 ? 0 : -1;
          CAPTURE(tile.to_string());
          const rkernel::RKernel tree =
              attention_tree(graph.problems.front(), tile, heads, described_gpu("a100"));
          CHECK(rkernel::illegalities(tree, architecture_limits()).empty());
          CHECK(attention_tile_of(tree, tile.depth) == tile);
          CHECK(attention_heads_of(tree) == heads);
          CHECK(rkernel::threads_below_top(tree) == tile.threads());
          CHECK(tile.shared_bytes() <= described_gpu("a100").shared_bytes_per_block);
        }
      }
    }
  }
}

TEST_CASE("a GPU with little shared memory has tiles for every head") {
  choice::GpuMachine small = described_gpu("a100");
  small.shared_bytes_per_block = 99 * 1024;
  for (const bool tf32 : {false, true}) {
    for (const DType operands : {DType::f32, DType::f16}) {
      for (const int room : {32, 64, 96, 128, 192, 256}) {
        const auto tiles = choice::gpu_attention_tiles(small, operands, tf32, room, room);
        CHECK_FALSE(tiles.empty());
        for (const GpuAttentionTile& tile : tiles)
          CHECK(tile.shared_bytes() <= small.shared_bytes_per_block);
      }
    }
  }
}

TEST_CASE("attention whose heads are known at run time has a kernel for each") {
  LoweredGraph graph = heads_of(64);
  rkernel::Problem& problem = graph.problems.front();
  const rkernel::Attention& attention = *problem.attention;
  const auto open = [&](int axis, const char* name, std::int64_t high) {
    problem.axes[static_cast<std::size_t>(axis)].extent = graph.module->dims->symbol(
        {.name = name, .low = 1, .high = high, .divisor = 1, .hint = {}});
  };
  open(attention.d, "D", 256);
  open(attention.n, "N", 1000);
  CHECK(keys_of(problem).size() <= 32);
  const auto kernel = std::move(drafted(problem)).value().without_code();
  for (const auto& [d, n] : {std::pair<int, int>{1, 1}, {64, 300}, {65, 64}, {256, 1000}}) {
    const auto symbols = graph.symbols({{"S", 64}, {"T", 64}, {"D", d}, {"N", n}});
    CHECK(kernel->plan({symbols, 1}).tickets > 0);
  }
  open(attention.d, "E", 257);
  CHECK_FALSE(drafted(problem).has_value());
}

TEST_CASE("attention on a GPU costs more for more work") {
  const choice::GpuMachine machine = described_gpu("a100");
  GpuAttention shape{.batch = 96, .queries = 1024, .keys = 1024, .depth = 64, .width = 64};
  for (const GpuAttentionTile& tile : tiles_of_heads(DType::bf16, false, 64)) {
    CAPTURE(tile.to_string());
    const auto cost = [&](const GpuAttention& of) {
      return choice::gpu_attention_cost(machine, of, tile);
    };
    GpuAttention longer = shape, causal = shape, more = shape, elements = shape, none = shape;
    longer.keys *= 2;
    causal.causal = true;
    more.batch *= 2;
    elements.vectors = false;
    none.queries = 0;
    CHECK(cost(longer) > cost(shape));
    CHECK(cost(causal) < cost(shape));
    CHECK(cost(more) > cost(shape));
    // Blocks of few rows wait for L2, however they copy.
    CHECK(cost(elements) >= cost(shape));
    if (tile.block_m >= 64) CHECK(cost(elements) > cost(shape));
    CHECK(cost(none) == machine.launch_seconds);
    choice::CostBreakdown breakdown;
    CHECK(choice::gpu_attention_cost(machine, shape, tile, &breakdown) == breakdown.seconds);
    CHECK(breakdown.layers.size() == breakdown.costs.size());
  }
}

TEST_CASE(
    "attention on a GPU: dyn considers each tile once and takes the plan's; no paper has one") {
  const LoweredGraph graph = heads_of(64);
  const auto kernel = std::move(drafted(graph.problems.front())).value().without_code();
  for (const auto& [queries, keys] : {std::pair{1, 4096}, {300, 300}, {4096, 512}}) {
    const auto symbols = graph.symbols({{"S", queries}, {"T", keys}});
    const rkernel::Choices choices = kernel->choices({symbols, 1}, rkernel::Policy::Dyn);
    CHECK(choices.candidates.size() > 1);
    const rkernel::Candidate& chosen = choices.candidates.at(choices.chosen);
    const rkernel::Launch plan = kernel->plan({symbols, 1});
    CHECK(chosen.launch.ints == plan.ints);
    CHECK(chosen.launch.grid.threads == plan.grid.threads);
    CHECK(chosen.predicted_seconds == plan.predicted_seconds);
    std::set<std::string> programs;
    for (const rkernel::Candidate& candidate : choices.candidates) {
      CHECK(*candidate.predicted_seconds >= *chosen.predicted_seconds);
      programs.insert(candidate.program);
    }
    CHECK(programs.size() == choices.candidates.size());
    for (const rkernel::PolicyInfo& info : rkernel::all_policies()) {
      kernel->choose_only({symbols, 1}, info.policy, false);
      if (info.policy == rkernel::Policy::Dyn) continue;
      const rkernel::Choices none = kernel->choices({symbols, 1}, info.policy);
      CHECK(none.candidates.empty());
      CHECK(none.none_reason == rkernel::undefined_reason(info.policy, "attention"));
    }
  }
  const auto by_vortex =
      std::move(drafted(graph.problems.front(), DType::bf16, rkernel::Policy::Vortex))
          .value()
          .without_code();
  CHECK(by_vortex->explain({graph.symbols({{"S", 3}, {"T", 4}}), 1})
            .find("policy vortex has none: the paper defines no choice for attention") !=
        std::string::npos);
  CHECK(kernel->choices({graph.symbols({{"S", 0}, {"T", 512}}), 1}, rkernel::Policy::Dyn)
            .candidates.empty());
}
