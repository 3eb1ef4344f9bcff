// Blocks of a launch in any order give the same bits.

#include <doctest/doctest.h>

#include <cstring>

#include "tests/support/seed.hpp"
#include "tests/unit/ptx/device_run.hpp"

using namespace dyn;
using namespace dyn::ptx;
using namespace dyn::ptx::testing;

namespace {

struct Case {
  const char* name;
  const char* text;
  std::vector<std::pair<std::string, std::int64_t>> sizes;
  bool attention_is_whole = false;
};

const Case cases[] = {
    {"a product", product, {{"B", 2}, {"M", 45}, {"N", 70}, {"K", 53}}},
    {"a product in one or two regions",
     R"(
dim M in 0..1000
graph g(x: f32[M, 40]) -> (y: f32[M, 128]) {
  y = relu(matmul(x, w: f32[40, 128]) + b: f32[128])
  return y
}
)",
     {{"M", 300}}},
    {"a convolution",
     R"(
dim H in 1..1000
graph g(x: f32[2, H, 19, 8]) -> (y: f32[2, H, 19, 24]) {
  y = relu(conv(x, w: f32[3, 3, 8, 24]) before=[1, 1] after=[1, 1] + b: f32[24])
  return y
}
)",
     {{"H", 11}}},
    {"attention in three kernels",
     R"(
dim S in 1..256
graph g(q: f32[1, 3, S, 32], k: f32[1, 3, S, 32], v: f32[1, 3, S, 32]) -> (y: f32[1, 3, S, 32]) {
  y = matmul(softmax(matmul(q, transpose(k) perm=[0, 1, 3, 2]) * 0.176) axis=-1, v)
  return y
}
)",
     {{"S", 75}}},
    {"attention of one query, whose keys blocks share",
     R"(
dim T in 1..5000
graph g(q: f32[1, 1, 1, 32], k: f32[1, 1, T, 32], v: f32[1, 1, T, 32]) -> (y: f32[1, 1, 1, 32]) {
  y = attention(q, k, v)
  return y
}
)",
     {{"T", 1999}},
     true},
    {"loops",
     R"(
dim S in 1..5000
graph g(x: f32[S, 96]) -> (y: f32[S, 96], m: f32[1, 96], t: f32[96, S]) {
  y = layer_norm(gelu(x), g: f32[96], b: f32[96])
  m = reduce_mean(x) axes=[0]
  t = transpose(tanh(x)) perm=[1, 0]
  return y, m, t
}
)",
     {{"S", 333}}},
};

constexpr BlockOrder orders[] = {{BlockOrder::Kind::Ascending, 0},
                                 {BlockOrder::Kind::Descending, 0},
                                 {BlockOrder::Kind::Shuffled, 1},
                                 {BlockOrder::Kind::Shuffled, 2}};

/// The outputs in each of `orders`.
std::vector<std::vector<Floats>> outputs_of(const Case& one, DType precision, int multiprocessors) {
  std::mt19937_64 random(dyn::testing::test_seed());
  LoweredGraph graph =
      lowered(one.text, {.keep_attention = one.attention_is_whole, .attention_depth = 256});
  const Symbols symbols = graph.symbols(one.sizes);
  const auto buffers = buffers_of(graph, symbols, random);
  const std::shared_ptr<Emulator> emulator = emulator_with(multiprocessors);
  TargetOptions options;
  options.device = emulator;
  options.machine = emulator->machine();
  options.precision = precision;
  const auto target = make_ptx_target(options);
  rkernel::Prepared prepared = target->prepare(graph.problems, graph.facts());
  graph.problems = std::move(prepared.problems);
  std::vector<std::vector<Floats>> outputs;
  const EmulatorCounts before = emulator->counts();
  for (const BlockOrder& order : orders) {
    emulator->set_block_order(order);
    DeviceRun device(*target, graph, buffers);
    for (std::size_t i = 0; i < prepared.kernels.size(); ++i) {
      REQUIRE(prepared.kernels[i]);
      device.run(graph.problems[i], *prepared.kernels[i], symbols);
    }
    std::vector<Floats>& of_order = outputs.emplace_back();
    for (const graph::ValueId base : graph.fusion.output_bases)
      of_order.push_back(device.output(base));
  }
  emulator->set_block_order({});
  for (const FaultReport& fault : emulator->take_reports()) FAIL_CHECK(to_string(fault));
  const EmulatorCounts after = emulator->counts();
  CHECK(after.blocks - before.blocks > after.launches - before.launches);
  return outputs;
}

bool same_bits(const Floats& a, const Floats& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace

TEST_CASE("an order of blocks has each block once") {
  using emulation::blocks_in;
  CHECK(blocks_in({BlockOrder::Kind::Ascending, 0}, 3) == std::vector<std::int32_t>{0, 1, 2});
  CHECK(blocks_in({BlockOrder::Kind::Descending, 0}, 3) == std::vector<std::int32_t>{2, 1, 0});
  CHECK(blocks_in({BlockOrder::Kind::Shuffled, 7}, 0).empty());
  std::vector<std::int32_t> shuffled = blocks_in({BlockOrder::Kind::Shuffled, 7}, 100);
  CHECK(shuffled == blocks_in({BlockOrder::Kind::Shuffled, 7}, 100));
  CHECK(shuffled != blocks_in({BlockOrder::Kind::Shuffled, 8}, 100));
  CHECK(shuffled != blocks_in({}, 100));
  std::ranges::sort(shuffled);
  CHECK(shuffled == blocks_in({}, 100));
}

TEST_CASE("blocks in any order give the same bits") {
  for (const Case& one : cases) {
    CAPTURE(one.name);
    for (const DType precision : {DType::f32, DType::bf16}) {
      CAPTURE(name_of(precision));
      const std::vector<std::vector<Floats>> outputs = outputs_of(one, precision, 3);
      for (std::size_t order = 1; order < outputs.size(); ++order) {
        for (std::size_t i = 0; i < outputs[0].size(); ++i) {
          CAPTURE(order);
          CHECK(same_bits(outputs[0][i], outputs[order][i]));
        }
      }
    }
  }
}
