// The target as the runtime uses it: the problems that it takes, the buffers that it narrows, and
// the code that it loads.

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

#include "dyn/error.hpp"
#include "src/rkernel/target/narrowing.hpp"
#include "targets/llvm/problem/structure_key.hpp"
#include "targets/ptx/contraction/kernel.hpp"
#include "targets/ptx/gpus/gpu_descriptions.hpp"
#include "targets/ptx/loop/kernel.hpp"
#include "tests/unit/ptx/target_fixture.hpp"

using namespace dyn;
using namespace dyn::ptx;
using namespace dyn::ptx::testing;

namespace {

const char* const large_perceptron = R"(
dim M in 0..100000
graph g(x: f32[M, 64]) -> (y: f32[M, 32]) {
  h = relu(matmul(x, w1: f32[64, 128]) + b1: f32[128])
  y = matmul(h, w2: f32[128, 32]) + b2: f32[32]
  return y
}
)";

// Two layers of one structure, with different sizes.
const char* const twins = R"(
dim M in 0..100000
graph g(x: f32[M, 64]) -> (y: f32[M, 64]) {
  h = relu(matmul(x, w1: f32[64, 128]) + b1: f32[128])
  y = relu(matmul(h, w2: f32[128, 64]) + b2: f32[64])
  return y
}
)";

TargetOptions options_for(DType precision, std::shared_ptr<PtxDevice> device = nullptr) {
  TargetOptions options;
  options.machine = described_gpu("a100");
  options.device = std::move(device);
  options.precision = precision;
  return options;
}

// dtypes of the operands of values by name, over all problems: several where problems disagree.
std::map<std::string, std::set<DType>> dtypes_of(const LoweredGraph& graph) {
  std::map<std::string, std::set<DType>> dtypes;
  for (const rkernel::Problem& problem : graph.problems) {
    for (const rkernel::Operand& operand : problem.operands)
      dtypes[graph.module->value(operand.buffer).name].insert(operand.dtype);
  }
  return dtypes;
}

using One = std::set<DType>;

}  // namespace

const auto all_take = [](std::size_t, int) { return true; };

TEST_CASE(
    "weights of contractions and buffers between kernels are narrowed, ports and other constants "
    "are not") {
  LoweredGraph graph = lowered(large_perceptron);
  rkernel::narrow_buffers(graph.problems, all_take, graph.facts(), DType::bf16);
  auto dtypes = dtypes_of(graph);
  for (const char* narrow : {"w1", "w2"}) CHECK(dtypes.at(narrow) == One{DType::bf16});
  for (const char* wide : {"x", "b1", "b2"}) CHECK(dtypes.at(wide) == One{DType::f32});
  const rkernel::Problem& first = graph.problems.at(0);
  const rkernel::Problem& second = graph.problems.at(1);
  CHECK(first.operands.back().dtype == DType::bf16);
  CHECK(second.operands[static_cast<std::size_t>(second.contraction->a)].dtype == DType::bf16);
  CHECK(second.operands.back().dtype == DType::f32);
}

TEST_CASE("f32 narrows nothing") {
  LoweredGraph graph = lowered(large_perceptron);
  rkernel::narrow_buffers(graph.problems, all_take, graph.facts(), DType::f32);
  for (const auto& [name, dtypes] : dtypes_of(graph)) CHECK(dtypes == One{DType::f32});
}

TEST_CASE("what another target's kernel touches stays as it is, in all problems") {
  LoweredGraph graph = lowered(large_perceptron);
  rkernel::narrow_buffers(
      graph.problems, [](std::size_t problem, int) { return problem == 0; }, graph.facts(),
      DType::f16);
  const auto dtypes = dtypes_of(graph);
  CHECK(dtypes.at("w1") == One{DType::f16});
  CHECK(dtypes.at("w2") == One{DType::f32});
  for (const auto& [name, found] : dtypes) CHECK(found.size() == 1);
  CHECK(graph.problems.at(0).operands.back().dtype == DType::f32);
}

TEST_CASE("a described GPU plans, explains and lists without a device") {
  LoweredGraph graph = lowered(large_perceptron);
  const auto target = make_ptx_target(options_for(DType::bf16));
  CHECK(target->name() == "cuda/a100");
  CHECK(target->device() == nullptr);
  rkernel::Prepared prepared = target->prepare(graph.problems, graph.facts());
  graph.problems = std::move(prepared.problems);
  const auto& kernels = prepared.kernels;
  REQUIRE(kernels.size() == 2);
  CHECK(graph.problems[0].operands.back().dtype == DType::bf16);
  for (const auto& kernel : kernels) {
    REQUIRE(kernel);
    CHECK(kernel->space() == rkernel::Space::Device);
    CHECK(kernel->target_name() == "cuda/a100");
    const std::vector<std::int64_t> symbols = graph.symbols({{"M", 100}});
    const rkernel::PlanRequest request{symbols, 1};
    const rkernel::Launch launch = kernel->plan(request);
    CHECK(target->load({&launch.grid.function, 1}).front() == nullptr);
    CHECK(launch.grid.blocks > 0);
    CHECK(kernel->explain(request).find("chosen") != std::string::npos);
  }
  CHECK(prepared.report.kernels > 0);
  CHECK(prepared.report.compiled == 0);
  CHECK(target->functions_compiled() == 0);
}

TEST_CASE("code is loaded when a plan needs it, each key once, and each kernel plans its own") {
  LoweredGraph graph = lowered(twins);
  const auto device = std::make_shared<RecordingDevice>(described_gpu("a100"));
  const auto target = make_ptx_target(options_for(DType::f32, device));
  CHECK(target->device() == device);
  rkernel::Prepared prepared = target->prepare(graph.problems, graph.facts());
  graph.problems = std::move(prepared.problems);
  const auto& kernels = prepared.kernels;
  REQUIRE(kernels.size() == 2);
  CHECK(device->calls == 0);
  // The sizes differ, the code does not: it is that of 8 tiles, and of pairs of them.
  const auto tiles = dyn::choice::gpu_tiles(described_gpu("a100"), DType::f32, false);
  const auto pairs = dyn::choice::gpu_pairs(described_gpu("a100"), tiles);
  CHECK(prepared.report.kernels == static_cast<int>(8 + pairs.size()));
  for (int round = 0; round < 2; ++round) {
    for (const std::int64_t m : {1, 17, 300, 5000}) {
      const auto symbols = graph.symbols({{"M", m}});
      std::vector<const void*> functions{nullptr};
      for (const auto& kernel : kernels)
        functions.push_back(kernel->plan({symbols, 1}).grid.function);
      const std::vector<const void*> loaded = target->load(functions);
      REQUIRE(loaded.size() == 3);
      CHECK(loaded[0] == nullptr);
      for (std::size_t i = 0; i < kernels.size(); ++i) {
        const auto index =
            static_cast<std::size_t>(reinterpret_cast<std::intptr_t>(loaded[i + 1]) - 1);
        REQUIRE(index < device->keys.size());
        const codegen::SlotTable slots(graph.problems[i]);
        CHECK(device->keys[index].find(codegen::structure_key(graph.problems[i], slots)) !=
              std::string::npos);
      }
      CHECK(target->functions_compiled() == static_cast<std::int64_t>(device->keys.size()));
    }
    CHECK(std::set<std::string>(device->keys.begin(), device->keys.end()).size() ==
          device->keys.size());
    CHECK(device->keys.size() <= 8);
    CHECK(device->keys.size() > 1);
    CHECK(device->calls <= 4);  // nothing more in the second round
  }
}

TEST_CASE("late tiles and a paper's have code when a plan takes them, which no load lists") {
  for (const rkernel::Policy policy : {rkernel::Policy::Dyn, rkernel::Policy::Vortex,
                                       rkernel::Policy::MikPoly, rkernel::Policy::FTuner}) {
    CAPTURE(name_of(policy));
    LoweredGraph graph = lowered(twins);
    const auto device = std::make_shared<RecordingDevice>(described_gpu("a100"));
    TargetOptions options = options_for(DType::f32, device);
    options.policy = policy;
    const auto target = make_ptx_target(options);
    rkernel::Prepared prepared = target->prepare(graph.problems, graph.facts());
    graph.problems = std::move(prepared.problems);
    const auto tiles = dyn::choice::gpu_tiles(described_gpu("a100"), DType::f32, false);
    const auto pairs = dyn::choice::gpu_pairs(described_gpu("a100"), tiles);
    CHECK(prepared.report.kernels == static_cast<int>(8 + pairs.size()));
    CHECK(device->calls == 0);
    LoweredGraph same = lowered(twins);
    rkernel::Prepared again = target->prepare(same.problems, same.facts());
    const auto known = ContractionKernel::draft(graph.problems[0], described_gpu("a100"),
                                                DType::f32, tiles, "t", policy, pairs)
                           ->sources();
    std::set<std::string> later;
    for (int round = 0; round < 2; ++round) {
      for (const std::int64_t m : {1, 17, 300, 5000}) {
        const auto symbols = graph.symbols({{"M", m}});
        std::vector<const rkernel::Kernel*> kernels;
        for (const auto& kernel : prepared.kernels) kernels.push_back(kernel.get());
        for (const auto& kernel : again.kernels) kernels.push_back(kernel.get());
        for (const rkernel::Kernel* kernel : kernels) {
          const rkernel::PlanRequest request{symbols, 1};
          const rkernel::Launch launch = kernel->plan(request);
          const void* const loaded = target->load({&launch.grid.function, 1}).front();
          const auto index = static_cast<std::size_t>(reinterpret_cast<std::intptr_t>(loaded) - 1);
          REQUIRE(index < device->keys.size());
          const std::string& key = device->keys[index];
          if (std::ranges::none_of(known, [&](const auto& source) { return source.key == key; }))
            later.insert(key);
          CHECK(kernel->listings_at(request).size() == 1);
        }
      }
      // A second load of the same problems takes the same code.
      for (const std::string& key : later) CHECK(std::ranges::count(device->keys, key) == 1);
    }
    CHECK_FALSE(later.empty());
  }
}

TEST_CASE(
    "problems of an attention block agree on every buffer after narrowing, and each has a kernel") {
  LoweredGraph graph = lowered(R"(
dim S in 1..512
graph g(x: f32[S, 64]) -> (y: f32[S, 64]) {
  q = matmul(x, wq: f32[64, 64])
  k = matmul(x, wk: f32[64, 64])
  v = matmul(x, wv: f32[64, 64])
  p = softmax(matmul(q, transpose(k) perm=[1, 0]) * 0.125) axis=-1
  y = layer_norm(x + matmul(p, v), g: f32[64], b: f32[64])
  return y
}
)");
  const auto target = make_ptx_target(options_for(DType::f16));
  rkernel::Prepared prepared = target->prepare(graph.problems, graph.facts());
  graph.problems = std::move(prepared.problems);
  const auto& kernels = prepared.kernels;
  REQUIRE(kernels.size() == graph.problems.size());
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    CAPTURE(graph.problems[i].name);
    CHECK(kernels[i] != nullptr);
  }
  int narrow = 0;
  for (const auto& [name, dtypes] : dtypes_of(graph)) {
    CAPTURE(name);
    CHECK(dtypes.size() == 1);
    narrow += dtypes.count(DType::f16) > 0 ? 1 : 0;
  }
  CHECK(narrow >= 5);
}

TEST_CASE("a problem that device code cannot run has no kernel, and the others do") {
  LoweredGraph graph = lowered(large_perceptron);
  graph.problems[1].operands[0].gathers = true;
  const auto target = make_ptx_target(options_for(DType::bf16));
  rkernel::Prepared prepared = target->prepare(graph.problems, graph.facts());
  graph.problems = std::move(prepared.problems);
  const auto& kernels = prepared.kernels;
  CHECK(kernels.at(0) != nullptr);
  CHECK(kernels.at(1) == nullptr);
  CHECK(graph.problems[0].operands.back().dtype == DType::f32);
}

TEST_CASE("device kernels pack nothing") {
  const auto target = make_ptx_target(options_for(DType::f32));
  CHECK_THROWS_AS(target->pack({}, {}, 0, 0, nullptr), Error);
}
