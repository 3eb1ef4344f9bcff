#include "tests/unit/ptx/emulator/planted_bugs_kernels.hpp"
#include "targets/ptx/tile/strip_layout.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <stdexcept>

#include "targets/ptx/gpus/gpu_descriptions.hpp"
#include "targets/ptx/ir/device_module.hpp"
#include "targets/ptx/loop/kernel.hpp"
#include "tests/unit/ptx/attention/attention_case.hpp"
#include "tests/unit/ptx/contraction/matmul_data.hpp"
#include "tests/unit/ptx/emulator/fixture.hpp"
#include "tests/unit/ptx/loop/cases.hpp"
#include "tests/unit/ptx/loop/emulated_loop.hpp"

namespace dyn::test {

using ptx::Copy;
using ptx::testing::MatmulCase;

namespace {

std::vector<ptx::testing::Bytes> to_bytes(const std::vector<PlantedBuffer>& buffers) {
  std::vector<ptx::testing::Bytes> result;
  for (const PlantedBuffer& buffer : buffers) {
    const auto* begin = reinterpret_cast<const std::byte*>(buffer.bytes.data());
    result.emplace_back(begin, begin + buffer.bytes.size());
  }
  return result;
}

PlantedKernel matmul(const std::string& name, const MatmulCase& c, std::mt19937_64& random) {
  const auto built = std::make_shared<const ptx::testing::BuiltMatmul>(build(c));
  PlantedKernel kernel;
  kernel.name = name;
  kernel.blocks = c.blocks;
  kernel.ints = ints_of(c, *built);
  for (const ptx::testing::Bytes& bytes : random_buffers(c, random)) {
    const auto* begin = reinterpret_cast<const std::uint8_t*>(bytes.data());
    kernel.buffers.push_back({std::vector<std::uint8_t>(begin, begin + bytes.size()), false});
  }
  kernel.buffers.back().written = true;
  if (c.split) kernel.buffers.push_back({std::vector<std::uint8_t>(shared_bytes_of(c)), true});
  kernel.emit = [built](llvm::LLVMContext& context) {
    return ptx::emit_device_module(context, source_of(*built), "matmul");
  };
  kernel.is_right = [c](const std::vector<PlantedBuffer>& after) {
    std::vector<ptx::testing::Bytes> bytes = to_bytes(after);
    if (c.split) {
      const auto counters = std::span(bytes.back()).first(rkernel::counter_bytes);
      if (std::ranges::any_of(counters, [](std::byte byte) { return byte != std::byte{0}; }))
        return false;
      bytes.pop_back();
    }
    return worst_error(c, bytes, bytes.back()) <= 1;
  };
  return kernel;
}

/// Heads of 32.
ptx::testing::AttentionCase small_heads() {
  ptx::testing::AttentionCase c;
  c.tile =
      choice::gpu_attention_tiles(ptx::described_gpu("a100"), DType::bf16, false, 32, 32).front();
  c.q = c.k = c.v = Copy::Vectors;
  c.dtype = DType::bf16;
  c.batch = 2;
  c.n = c.d = 32;
  return c;
}

/// One query of each head and five parts of the keys, of which the last is a short one.
ptx::testing::AttentionCase decoding() {
  ptx::testing::AttentionCase c = small_heads();
  c.keys = 5 * std::int64_t{c.tile.block_keys()} - 3;
  c.shares_rows = true;
  c.parts = {5, 1};
  return c;
}

/// Queries of five heads that share keys, behind a cache: two tiles of rows cut a query in two.
ptx::testing::AttentionCase shared_heads() {
  ptx::testing::AttentionCase c = small_heads();
  c.heads_as_rows = c.causal = c.residual = true;
  c.mask = ptx::testing::MaskForm::Full;
  c.group = 5;
  c.m = 5;
  c.keys = std::int64_t{c.tile.block_keys()} + 3;
  return c;
}

PlantedKernel attention(const std::string& name, const ptx::testing::AttentionCase& c,
                        std::mt19937_64& random) {
  const auto built = std::make_shared<const ptx::testing::BuiltAttention>(c);
  PlantedKernel kernel;
  kernel.name = name;
  kernel.blocks = 3;
  kernel.ints = built->ints();
  for (const std::vector<std::uint8_t>& bytes : random_operands(*built, random))
    kernel.buffers.push_back({bytes, false});
  kernel.buffers.back().written = true;
  if (built->part_memory() > 0)
    kernel.buffers.push_back({std::vector<std::uint8_t>(built->part_memory()), true});
  kernel.emit = [built](llvm::LLVMContext& context) {
    return ptx::emit_device_module(context, built->source(), "attention");
  };
  kernel.is_right = [built](const std::vector<PlantedBuffer>& after) {
    ptx::testing::Contents contents;
    for (const PlantedBuffer& buffer : after) contents.push_back(buffer.bytes);
    if (built->part_memory() > 0) {
      const auto counters = std::span(contents.back()).first(rkernel::counter_bytes);
      if (std::ranges::any_of(counters, [](std::uint8_t byte) { return byte != 0; })) return false;
      contents.pop_back();
    }
    return worst_attention_error(*built, contents, contents.back()) <= 1;
  };
  return kernel;
}

bool close(const std::vector<std::uint8_t>& got, const std::vector<std::uint8_t>& wanted,
           DType dtype) {
  if (dtype != DType::f32) return got == wanted;
  const std::size_t count = wanted.size() / sizeof(float);
  const auto at = [](const std::vector<std::uint8_t>& bytes, std::size_t i) {
    float value;
    std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
    return value;
  };
  float largest = 1;
  for (std::size_t i = 0; i < count; ++i) largest = std::max(largest, std::fabs(at(wanted, i)));
  for (std::size_t i = 0; i < count; ++i) {
    if (!(std::fabs(at(got, i) - at(wanted, i)) <= 1e-4f * largest)) return false;
  }
  return true;
}

/// The class of the kernel that its own plan chooses on so many multiprocessors, by at most two
/// blocks.
PlantedKernel loop(const std::string& name, const std::string& problem, std::int64_t outer,
                   std::int64_t inner, std::mt19937_64& random, int multiprocessors = 108) {
  int indices = -1;
  const std::shared_ptr<testing::ProblemBuilder> builder =
      build(find_case(problem), outer, inner, &indices);
  std::map<int, std::vector<std::uint8_t>> given;
  if (indices >= 0) {
    std::vector<std::int64_t> values(
        static_cast<std::size_t>(builder->elements[static_cast<std::size_t>(indices)]));
    for (std::int64_t& value : values) value = static_cast<std::int64_t>(random() % 14) - 7;
    // The last row is read too: a row further on is outside.
    values.front() = 6;
    given.emplace(indices, testing::bytes_of(values));
  }
  const auto contents = random_contents(*builder, static_cast<unsigned>(random()), false, given);
  auto draft =
      ptx::LoopKernel::draft(builder->problem, test_gpu(multiprocessors), "ptx/test").value();
  const auto sources = std::make_shared<std::vector<codegen::KernelSource>>(draft.sources());
  std::vector<const void*> handles;
  for (const codegen::KernelSource& source : *sources) handles.push_back(&source);
  const std::shared_ptr<ptx::LoopKernel> loop_kernel = std::move(draft).with_code(handles);
  const rkernel::Launch launch = loop_kernel->plan({builder->values, 1});
  PlantedKernel kernel;
  kernel.name = name;
  kernel.blocks = std::min<std::int64_t>(launch.grid.blocks, 2);
  kernel.ints = launch.ints;
  for (std::size_t i = 0; i < contents.size(); ++i)
    kernel.buffers.push_back({contents[i], builder->problem.operands[i].written});
  const auto* chosen = static_cast<const codegen::KernelSource*>(launch.grid.function);
  kernel.emit = [builder, loop_kernel, sources, chosen](llvm::LLVMContext& context) {
    return ptx::emit_device_module(context, *chosen, "loop");
  };
  kernel.is_right =
      [builder, wanted = interpreted(*builder, contents)](const std::vector<PlantedBuffer>& after) {
        for (std::size_t i = 0; i < after.size(); ++i) {
          if (!close(after[i].bytes, wanted[i], builder->problem.operands[i].dtype)) return false;
        }
        return true;
      };
  return kernel;
}

MatmulCase matrices(const choice::GpuTile& tile, std::int64_t m, std::int64_t n, std::int64_t k) {
  MatmulCase c;
  c.tile = tile;
  c.batch = 2;
  c.m = m;
  c.n = n;
  c.k = k;
  c.a = c.b = c.output = tile.operands;
  return c;
}

/// The case's tile computes the upper rows, one of lower blocks the rest.
MatmulCase in_two_regions(MatmulCase c, std::int64_t rows) {
  c.second = c.tile;
  c.second->block_m = c.tile.block_m / 2;
  c.second->block_n = c.tile.block_n * 2;
  c.first = {0, rows, 0, c.n};
  return c;
}

/// Both operands in vectors: rows begin at multiples of 16 bytes.
MatmulCase in_vectors(MatmulCase c) {
  const auto elements = static_cast<std::int64_t>(16 / size_of(c.a));
  c.a_copy = c.b_copy = Copy::Vectors;
  c.a_slack = (elements - c.k % elements) % elements;
  c.b_slack = (elements - c.n % elements) % elements;
  return c;
}

}  // namespace

std::vector<PlantedKernel> planted_kernels(std::uint64_t seed) {
  using ptx::testing::small_cuda_tile;
  using ptx::testing::small_tensor_tile;
  std::mt19937_64 random(seed);
  choice::GpuTile cuda = small_cuda_tile();
  cuda.stages = 3;
  MatmulCase bf16 = in_vectors(matrices(small_tensor_tile(DType::bf16), 45, 37, 132));
  bf16.bias = bf16.gelu = bf16.residual = true;
  MatmulCase f16 = matrices(small_tensor_tile(DType::f16), 45, 37, 132);
  f16.transpose_a = true;
  f16.output = DType::f32;
  // With five steps, the bytes that a sixth step would copy lie behind those that the epilogue
  // uses.
  MatmulCase single = matrices(cuda, 45, 37, 37);
  single.blocks = 8;
  MatmulCase windows = in_vectors(matrices(small_tensor_tile(DType::bf16), 1, 37, 1));
  windows.b_slack = 3;
  windows.tile.window_entry_bytes = 16;
  set_windows(windows, {.images = 2, .height = 5, .width = 7, .channels = 8});
  // Four tiles of five steps each, in parts of two steps.
  MatmulCase shared = in_vectors(matrices(small_tensor_tile(DType::bf16), 45, 37, 132));
  shared.split = true;
  shared.shared = {4, 2};
  shared.blocks = 3;
  MatmulCase bytes = in_vectors(matrices(small_tensor_tile(DType::i8), 45, 37, 164));
  bytes.a = DType::u8;
  bytes.output = DType::i32;
  // Rows of whole words, whose last one is half of what exists.
  MatmulCase words = bytes;
  words.a_copy = words.b_copy = Copy::Words;
  words.k = 162;
  words.a_slack = 2;
  words.b_slack = 3;
  MatmulCase byte_windows = bytes;
  byte_windows.b_slack = 11;
  byte_windows.tile.window_entry_bytes = 16;
  set_windows(byte_windows, {.images = 2, .height = 5, .width = 7, .channels = 16, .outside = 114});
  MatmulCase strips = in_vectors(matrices(small_tensor_tile(DType::bf16), 1, 37, 1));
  strips.a_copy = Copy::Strips;
  strips.b_slack = 3;
  set_windows(
      strips,
      {.images = 2, .height = 5, .width = 40, .channels = 3, .stride = {2, 2}, .after = {1, 2}});
  strips.tile = ptx::with_windows(strips.tile, build(strips).problem);
  std::vector<PlantedKernel> kernels;
  kernels.push_back(matmul("matmul bf16, tiles shared", shared, random));
  MatmulCase ahead_of_outputs = bf16;
  ahead_of_outputs.tile = ptx::testing::overlapped(bf16.tile);
  kernels.push_back(matmul("matmul bf16, overlapped", ahead_of_outputs, random));
  kernels.push_back(matmul("matmul f32 elements", matrices(cuda, 45, 37, 29), random));
  kernels.push_back(matmul("matmul f32 vectors", in_vectors(matrices(cuda, 45, 37, 29)), random));
  kernels.push_back(matmul("matmul f32, one ticket for each block", single, random));
  kernels.push_back(matmul("matmul bf16 vectors", bf16, random));
  kernels.push_back(matmul("matmul f16 elements", f16, random));
  kernels.push_back(matmul("matmul tf32 vectors",
                           in_vectors(matrices(small_tensor_tile(DType::f32), 45, 37, 69)),
                           random));
  kernels.push_back(
      matmul("matmul bf16 in two regions",
             in_vectors(in_two_regions(matrices(small_tensor_tile(DType::bf16), 45, 37, 132), 21)),
             random));
  kernels.push_back(loop("softmax by blocks", "softmax", 5, 1021, random));
  kernels.push_back(loop("layer norm by warps", "layer norm", 21, 45, random));
  kernels.push_back(loop("strided rows by blocks", "strided rows", 5, 1021, random));
  kernels.push_back(loop("element-wise", "element-wise", 17, 45, random));
  kernels.push_back(loop("squares turned", "sum across", 48, 60, random, 1));
  kernels.push_back(loop("embedding", "embedding", 17, 45, random));
  kernels.push_back(matmul("windows bf16 vectors", windows, random));
  kernels.push_back(matmul("windows bf16 from strips", strips, random));
  kernels.push_back(matmul("matmul of bytes", bytes, random));
  kernels.push_back(matmul("matmul of bytes by words", words, random));
  kernels.push_back(matmul("windows of bytes", byte_windows, random));
  kernels.push_back(attention("attention bf16, rows shared", decoding(), random));
  kernels.push_back(attention("attention bf16, heads as rows", shared_heads(), random));
  for (PlantedKernel& kernel : planted_functions(random)) kernels.push_back(std::move(kernel));
  return kernels;
}

PlantedOutcome run(const PlantedKernel& kernel, const llvm::Module& module) {
  const ptx::KernelShape shape = ptx::kernel_shape(module);
  std::vector<PlantedBuffer> after = kernel.buffers;
  std::vector<EmulatedBuffer> buffers;
  for (PlantedBuffer& buffer : after)
    buffers.push_back({buffer.bytes.data(), buffer.bytes.size(), buffer.written});
  PlantedOutcome outcome;
  const void* function = shared_emulator().emulator().load_module(module);
  outcome.reports = shared_emulator().launch(function, kernel.blocks, shape.threads,
                                             shape.shared_bytes, buffers, kernel.ints);
  outcome.right = outcome.reports.empty() && kernel.is_right(after);
  return outcome;
}

}  // namespace dyn::test
