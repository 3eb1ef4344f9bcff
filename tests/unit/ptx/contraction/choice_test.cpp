// A contraction's manifest, and the choice among its candidates at every shape.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "dyn/error.hpp"
#include "targets/ptx/contraction/kernel.hpp"
#include "targets/ptx/contraction/manifest.hpp"
#include "targets/ptx/gpus/gpu_descriptions.hpp"
#include "targets/ptx/ir/device_module.hpp"
#include "targets/ptx/ir/kernel_symbol.hpp"
#include "tests/unit/ptx/target_fixture.hpp"

using namespace dyn;
using namespace dyn::ptx;
using namespace dyn::ptx::testing;
using dyn::choice::Engine;
using dyn::choice::GpuTile;

namespace {

const char* const gelu_projection = R"(
dim M in 0..100000
graph g(x: f32[M, 768]) -> (y: f32[M, 3072]) {
  y = gelu(matmul(x, w: f32[768, 3072]) + b: f32[3072])
  return y
}
)";

rkernel::Problem narrowed(rkernel::Problem problem, DType dtype) {
  for (const int factor : {problem.contraction->a, problem.contraction->b})
    problem.operands[static_cast<std::size_t>(factor)].dtype = dtype;
  return problem;
}

struct Bound {
  std::unique_ptr<ContractionKernel> kernel;
  std::vector<codegen::KernelSource> sources;
};

// Handles are 1 + the index of the source.
Bound bound(const rkernel::Problem& problem, const char* gpu, DType compute, bool tf32 = false) {
  auto draft = ContractionKernel::draft(problem, described_gpu(gpu), compute, tf32, "cuda/test");
  REQUIRE(draft.has_value());
  std::vector<codegen::KernelSource> sources = draft->sources();
  return {testing::numbered(*std::move(draft)), std::move(sources)};
}

std::set<std::string> copies_of(const rkernel::Problem& problem, const std::vector<GpuTile>& tiles,
                                Engine engine) {
  std::set<std::string> letters;
  const ContractionManifest manifest(problem, tiles);
  for (const GpuContractionClass& shape_class : manifest.classes()) {
    if (shape_class.tile.engine != engine) continue;
    letters.insert(std::string{letter_of(shape_class.a), letter_of(shape_class.b)} +
                   (shape_class.b_order == BOrder::RowsAlongK ? "t" : ""));
  }
  return letters;
}

using Letters = std::set<std::string>;

}  // namespace

TEST_CASE(
    "what strides prove is decided at load, what they leave open has a class for either answer") {
  const auto f32_tiles = dyn::choice::gpu_tiles(described_gpu("a100"), DType::f32, false);
  const auto bf16_tiles = dyn::choice::gpu_tiles(described_gpu("a100"), DType::bf16, false);
  const LoweredGraph fixed = lowered(gelu_projection), open = lowered(product);
  CHECK(copies_of(fixed.contraction(), f32_tiles, Engine::CudaCores) == Letters{"vv"});
  CHECK(copies_of(open.contraction(), f32_tiles, Engine::CudaCores) ==
        Letters{"vv", "ve", "ev", "ee"});
  CHECK(copies_of(fixed.contraction(), bf16_tiles, Engine::TensorCores) == Letters{"ee"});
  const rkernel::Problem half = narrowed(fixed.contraction(), DType::bf16);
  CHECK(copies_of(half, bf16_tiles, Engine::TensorCores) == Letters{"vv"});
  CHECK(copies_of(half, bf16_tiles, Engine::CudaCores) == Letters{"ee"});
  // K is 100: rows of A are 200 bytes, a multiple of 4 and not of 16.
  const LoweredGraph odd = lowered(R"(
dim M in 0..9
graph g(x: f32[M, 100]) -> (y: f32[M, 64]) {
  y = matmul(x, w: f32[100, 64])
  return y
}
)");
  CHECK(copies_of(narrowed(odd.contraction(), DType::bf16), bf16_tiles, Engine::TensorCores) ==
        Letters{"wv"});
  CHECK(copies_of(narrowed(odd.contraction(), DType::bf16), bf16_tiles, Engine::CudaCores) ==
        Letters{"ee"});
  CHECK(copies_of(odd.contraction(), f32_tiles, Engine::CudaCores) == Letters{"vv"});
  // Columns from 4 on: 16 bytes of f32, 8 of bf16.
  const LoweredGraph slice = lowered(R"(
dim M in 0..9
graph g(x: f32[M, 72]) -> (y: f32[M, 64]) {
  y = matmul(slice(x) axes=[1] starts=[4] ends=[68], w: f32[64, 64])
  return y
}
)");
  CHECK(copies_of(slice.contraction(), f32_tiles, Engine::CudaCores) == Letters{"vv"});
  CHECK(copies_of(narrowed(slice.contraction(), DType::bf16), bf16_tiles, Engine::TensorCores) ==
        Letters{"wv"});
  // Even sizes are whole words, whatever they are; of odd ones nothing is known.
  const LoweredGraph even = lowered(R"(
dim M in 0..9
dim K in 2..90 multiple 2
graph g(x: f32[M, K], u: f32[K, 63]) -> (y: f32[M, 63]) {
  y = matmul(x, u)
  return y
}
)");
  CHECK(copies_of(narrowed(even.contraction(), DType::bf16), bf16_tiles, Engine::TensorCores) ==
        Letters{"ve", "we"});
}

TEST_CASE("patches are copied as vectors where each row of an image is whole ones") {
  const auto f32_tiles = dyn::choice::gpu_tiles(described_gpu("a100"), DType::f32, false);
  const auto bf16_tiles = dyn::choice::gpu_tiles(described_gpu("a100"), DType::bf16, false);
  const auto patches = [](const char* x, const char* type) {
    return lowered(fmt::format(R"(
dim B in 1..9
dim W in 16..999
graph g(x: f32[B, 224, {}, 3]) -> (y: {}) {{
  y = conv(x, w: f32[16, 16, 3, 64]) strides=[16, 16]
  return y
}}
)",
                               x, type));
  };
  const LoweredGraph known = patches("224", "f32[B, 14, 14, 64]"),
                     open = patches("W", "f32[B, 14, floordiv(W, 16), 64]");
  CHECK(copies_of(known.contraction(), f32_tiles, Engine::CudaCores) == Letters{"vv"});
  CHECK(copies_of(narrowed(known.contraction(), DType::bf16), bf16_tiles, Engine::TensorCores) ==
        Letters{"vv"});
  CHECK(copies_of(open.contraction(), f32_tiles, Engine::CudaCores) == Letters{"vv", "ev"});
}

TEST_CASE("a transposed B lies along K on tensor cores") {
  const LoweredGraph graph = lowered(R"(
dim M in 0..9
graph g(x: f32[M, 128], u: f32[64, 128]) -> (y: f32[M, 64]) {
  y = matmul(x, transpose(u) perm=[1, 0])
  return y
}
)");
  const rkernel::Problem problem = narrowed(graph.contraction(), DType::f16);
  const auto tiles = dyn::choice::gpu_tiles(described_gpu("a100"), DType::f16, false);
  CHECK(copies_of(problem, tiles, Engine::TensorCores) == Letters{"vvt"});
  CHECK(copies_of(graph.contraction(),
                  dyn::choice::gpu_tiles(described_gpu("a100"), DType::f32, false),
                  Engine::CudaCores) == Letters{"ve"});
}

TEST_CASE("no problem has more than 32 classes") {
  const LoweredGraph open = lowered(product);
  for (const bool tf32 : {false, true}) {
    CHECK(bound(open.contraction(), "h200", DType::f32, tf32).sources.size() == 32);
  }
  CHECK(bound(narrowed(open.contraction(), DType::bf16), "h200", DType::bf16).sources.size() == 32);
}

TEST_CASE("every M from 1 to 4096 runs a source of the manifest, on the cheapest tile") {
  const LoweredGraph graph = lowered(gelu_projection);
  const rkernel::Problem problem = narrowed(graph.contraction(), DType::bf16);
  const dyn::choice::GpuMachine& machine = described_gpu("a100");
  const Bound kernel = bound(problem, "a100", DType::bf16);
  const std::vector<GpuTile> tiles = dyn::choice::gpu_tiles(machine, DType::bf16, false);
  std::set<std::int64_t> used;
  int sharing = 0;
  for (std::int64_t m = 1; m <= 4096; ++m) {
    const rkernel::Launch launch = kernel.kernel->plan({graph.symbols({{"M", m}}), 1});
    const auto handle = reinterpret_cast<std::intptr_t>(launch.grid.function);
    REQUIRE(handle >= 1);
    REQUIRE(handle <= static_cast<std::intptr_t>(kernel.sources.size()));
    used.insert(handle);
    // The strides prove one class for each tile, so that source i is tile i's.
    REQUIRE(kernel.sources.size() == tiles.size());
    const GpuTile& tile = tiles[static_cast<std::size_t>(handle - 1)];
    const std::int64_t m_blocks = (m + tile.block_m - 1) / tile.block_m,
                       n_blocks = (3072 + tile.block_n - 1) / tile.block_n;
    // The slots of a raster without batches, then those of tickets.
    const std::vector<std::int64_t> last(launch.ints.end() - 13, launch.ints.end());
    CHECK(last[0] == m_blocks);
    CHECK(last[1] == n_blocks);
    CHECK(last[8] == 1);
    CHECK(last[9] == launch.tickets);
    const std::int64_t whole = last[10], span = last[11],
                       steps = (768 + tile.block_k - 1) / tile.block_k;
    CHECK(last[12] == (m_blocks * n_blocks - whole) * steps);
    CHECK((last[12] > 0) == (launch.shared_bytes > 0));
    CHECK(launch.tickets - whole == (last[12] > 0 ? (last[12] + span - 1) / span : 0));
    sharing += last[12] > 0;
    CHECK(launch.grid.blocks >= 1);
    CHECK(launch.grid.blocks <= launch.tickets);
    CHECK(launch.grid.blocks <=
          machine.multiprocessors *
              dyn::choice::occupancy(machine, tile.threads(), tile.registers(), tile.shared_bytes())
                  .blocks);
    CHECK(launch.grid.threads == tile.threads());
    CHECK(launch.grid.shared_bytes == tile.shared_bytes());
    CHECK(launch.flops == 2.0 * static_cast<double>(m) * 768 * 3072);
    if (m % 97 != 1) continue;
    dyn::choice::GpuContraction shape{
        .m = m, .n = 3072, .k = 768, .a_element_bytes = 2, .b_element_bytes = 2};
    double least = 1;
    for (const GpuTile& other : tiles) {
      for (const double operations : {2.0, 60.0}) {
        shape.epilogue_operations = operations;
        shape.epilogue_bytes = 4;
        least = std::min(least, dyn::choice::gpu_contraction_cost(machine, shape, other));
      }
    }
    CHECK((launch.shared_bytes > 0 || launch.predicted_seconds >= least));
    CHECK(launch.predicted_seconds < 2 * least);
  }
  CHECK(used.size() >= 3);
  CHECK(sharing > 30);
  MESSAGE(used.size() << " of " << tiles.size() << " tiles are chosen for some M");
}

TEST_CASE("empty sizes have nothing to do") {
  const LoweredGraph graph = lowered(product);
  const Bound kernel = bound(graph.contraction(), "a100", DType::f32);
  CHECK(kernel.kernel->plan({graph.symbols({{"B", 2}, {"M", 0}, {"N", 8}, {"K", 8}}), 1}).tickets ==
        0);
  CHECK(kernel.kernel->plan({graph.symbols({{"B", 2}, {"M", 8}, {"N", 0}, {"K", 8}}), 1})
            .grid.blocks == 0);
  CHECK(kernel.kernel->plan({graph.symbols({{"B", 2}, {"M", 8}, {"N", 8}, {"K", 0}}), 1}).tickets >=
        2);
}

TEST_CASE("strides choose the class at each shape") {
  const LoweredGraph graph = lowered(product);
  const Bound kernel = bound(graph.contraction(), "a100", DType::f32);
  const auto key_at = [&](std::int64_t n, std::int64_t k) {
    const rkernel::Launch launch =
        kernel.kernel->plan({graph.symbols({{"B", 2}, {"M", 40}, {"N", n}, {"K", k}}), 1});
    return kernel.sources
        .at(static_cast<std::size_t>(reinterpret_cast<std::intptr_t>(launch.grid.function) - 1))
        .key;
  };
  CHECK(key_at(64, 32).find("copies vv") != std::string::npos);
  CHECK(key_at(64, 31).find("copies ev") != std::string::npos);
  CHECK(key_at(66, 32).find("copies ve") != std::string::npos);
  CHECK(key_at(67, 33).find("copies ee") != std::string::npos);
}

TEST_CASE("keys cover what changes code, and nothing else") {
  const LoweredGraph graph = lowered(product), same = lowered(product),
                     fused = lowered(gelu_projection);
  const auto keys_of = [](const rkernel::Problem& problem, DType compute, bool tf32 = false) {
    std::set<std::string> keys;
    const Bound kernel = bound(problem, "a100", compute, tf32);
    for (const codegen::KernelSource& source : kernel.sources)
      CHECK(keys.insert(source.key).second);
    return keys;
  };
  const auto apart = [](const std::set<std::string>& a, const std::set<std::string>& b) {
    return std::none_of(a.begin(), a.end(),
                        [&](const std::string& key) { return b.count(key) > 0; });
  };
  const auto plain = keys_of(graph.contraction(), DType::f32);
  CHECK(plain == keys_of(same.contraction(), DType::f32));
  CHECK(apart(plain, keys_of(fused.contraction(), DType::f32)));
  CHECK(apart(keys_of(graph.contraction(), DType::bf16),
              keys_of(narrowed(graph.contraction(), DType::bf16), DType::bf16)));
  CHECK(apart(keys_of(narrowed(graph.contraction(), DType::f16), DType::f16),
              keys_of(narrowed(graph.contraction(), DType::bf16), DType::bf16)));
  // CUDA cores multiply f32 whatever the precision: that code is shared, and nothing else is.
  const auto of_tensor_cores = [](std::set<std::string> keys) {
    std::erase_if(
        keys, [](const std::string& key) { return key.find("tensor cores") == std::string::npos; });
    CHECK(!keys.empty());
    return keys;
  };
  CHECK(apart(plain, of_tensor_cores(keys_of(graph.contraction(), DType::f32, true))));
  CHECK(apart(of_tensor_cores(keys_of(graph.contraction(), DType::f32, true)),
              keys_of(graph.contraction(), DType::f16)));
  CHECK(apart(of_tensor_cores(keys_of(graph.contraction(), DType::f16)),
              keys_of(graph.contraction(), DType::bf16)));
  // The number of multiprocessors affects the plan, not the code.
  dyn::choice::GpuMachine machine = described_gpu("a100");
  const auto on_a100 =
      ContractionKernel::draft(graph.contraction(), machine, DType::f32, false, "t")->sources();
  machine.name = "other", machine.multiprocessors = 107;
  const auto on_other =
      ContractionKernel::draft(graph.contraction(), machine, DType::f32, false, "t")->sources();
  REQUIRE(on_a100.size() == on_other.size());
  CHECK(on_a100.front().key == on_other.front().key);
}

TEST_CASE("what device code cannot run is refused") {
  const LoweredGraph graph = lowered(product);
  const dyn::choice::GpuMachine& machine = described_gpu("a100");
  const auto refused = [&](const rkernel::Problem& problem, DType compute = DType::f32) {
    return !ContractionKernel::draft(problem, machine, compute, false, "t").has_value();
  };
  CHECK(!refused(graph.contraction()));
  CHECK(refused(graph.contraction(), DType::i8));
  rkernel::Problem guarded = graph.contraction();
  guarded.operands[0].guards.push_back(
      rkernel::range_of(0, graph.module->dims->constant(0), graph.module->dims->constant(1)));
  CHECK(refused(guarded));
  rkernel::Problem gathers = graph.contraction();
  gathers.operands[1].gathers = true;
  CHECK(refused(gathers));
  CHECK(refused(narrowed(graph.contraction(), DType::i32)));
  rkernel::Problem output = graph.contraction();
  output.operands.back().dtype = DType::f64;
  CHECK(refused(output));
  rkernel::Problem packed = graph.contraction();
  packed.operands[1].form = rkernel::Form::Packed;
  CHECK(refused(packed));
  rkernel::Problem loop = graph.contraction();
  loop.contraction.reset();
  CHECK(refused(loop));
}

TEST_CASE("explanations rank every candidate with the terms of its cost") {
  const LoweredGraph graph = lowered(gelu_projection);
  const Bound kernel = bound(narrowed(graph.contraction(), DType::bf16), "a100", DType::bf16);
  const auto symbols = graph.symbols({{"M", 777}});
  const rkernel::PlanRequest request{symbols, 1};
  const std::string text = kernel.kernel->explain(request);
  const std::size_t candidates =
      kernel.kernel->choices(request, rkernel::Policy::Dyn).candidates.size();
  for (const char* part :
       {"M 777 N 3072 K 768",
        "108 multiprocessors of NVIDIA A100",
        "times: predicted from the description of NVIDIA A100-SXM4-80GB; no layer is measured",
        "chosen",
        "waves",
        "occupancy",
        "limited by",
        "tensor cores",
        "CUDA cores",
        "F_parallel",
        "T_load",
        "T_store",
        "registers:",
        "warp:",
        "block:",
        "shared:",
        "grid",
        "L2, all blocks",
        "memory, all blocks",
        "launch:"}) {
    CAPTURE(text);
    CHECK(text.find(std::to_string(candidates) + " candidates") != std::string::npos);
    CHECK(text.find(part) != std::string::npos);
  }
  const std::size_t chosen = text.find("chosen");
  CHECK(text.find("chosen", chosen + 1) == std::string::npos);
  const std::string description = kernel.kernel->describe();
  for (const char* layer : {"warp (predicted from the description, 32 units)",
                            "registers (predicted from the description, 1 unit)"})
    CHECK(description.find(layer) != std::string::npos);
  CHECK(description.find("measured") == std::string::npos);
  CHECK(description.find("copies vv") != std::string::npos);
}

TEST_CASE(
    "plans of one kernel from many shapes agree with themselves after the memory of choices is "
    "full") {
  const LoweredGraph graph = lowered(gelu_projection);
  const Bound kernel = bound(graph.contraction(), "h200", DType::f32);
  const auto planned = [&](std::int64_t m) {
    return kernel.kernel->plan({graph.symbols({{"M", m}}), 1}).grid.function;
  };
  const void* first = planned(77);
  for (std::int64_t m = 1; m <= 5000; ++m) planned(m);
  CHECK(planned(77) == first);
}

TEST_CASE(
    "every source becomes a kernel of the size that plans launch, and a listing with a name fit "
    "for a file") {
  const LoweredGraph graph = lowered(gelu_projection);
  std::set<std::string> names;
  for (const DType compute : {DType::f32, DType::bf16}) {
    const Bound kernel = bound(narrowed(graph.contraction(), compute), "a100", compute);
    const std::vector<GpuTile> tiles =
        dyn::choice::gpu_tiles(described_gpu("a100"), compute, false);
    for (std::size_t i = 0; i < kernel.sources.size(); ++i) {
      llvm::LLVMContext context;
      const auto module =
          emit_device_module(context, kernel.sources[i], kernel_symbol(kernel.sources[i].key));
      CHECK(kernel_shape(*module).threads == tiles[i].threads());
      CHECK(kernel_shape(*module).shared_bytes == tiles[i].shared_bytes());
    }
    for (const rkernel::CodeListing& listing : kernel.kernel->listings()) {
      CHECK(names.insert(listing.name).second);
      CHECK(listing.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-.") ==
            std::string::npos);
      CHECK(listing.text.find(".visible .entry dyn_") != std::string::npos);
      CHECK(listing.text.find(".target sm_80") != std::string::npos);
      CHECK(listing.hash.size() == 16);
    }
  }
}
