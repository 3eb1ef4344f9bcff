// Tiles that a GPU can hold, and how many blocks fit a multiprocessor.

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "targets/ptx/gpus/gpu_descriptions.hpp"

using namespace dyn;
using namespace dyn::choice;
using namespace dyn::rkernel;

namespace {

struct Request {
  const char* gpu;
  DType dtype;
  bool tf32;
};
constexpr Request requests[] = {
    {"a100", DType::f32, false},  {"a100", DType::f32, true},  {"a100", DType::f16, false},
    {"a100", DType::bf16, false}, {"h200", DType::f32, false}, {"h200", DType::f32, true},
    {"h200", DType::bf16, false}, {"a100", DType::i8, false},  {"h200", DType::i8, false}};

bool one_of(int value, std::initializer_list<int> values) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

GpuTile tensor_tile() {
  return {.engine = Engine::TensorCores,
          .operands = DType::bf16,
          .thread_m = 16,
          .thread_n = 8,
          .warp_m = 64,
          .warp_n = 32,
          .block_m = 128,
          .block_n = 128,
          .block_k = 32,
          .stages = 3};
}

}  // namespace

TEST_CASE("candidates keep the rules that emitters rely on") {
  for (const Request& request : requests) {
    const GpuMachine& machine = ptx::described_gpu(request.gpu);
    const std::vector<GpuTile> tiles = gpu_tiles(machine, request.dtype, request.tf32);
    std::set<std::string> texts;
    for (const GpuTile& tile : tiles) {
      CAPTURE(request.gpu);
      CAPTURE(tile.to_string());
      CHECK(texts.insert(tile.to_string()).second);
      CHECK(tile.block_m % tile.warp_m == 0);
      CHECK(tile.block_n % tile.warp_n == 0);
      CHECK(tile.threads() >= 32);
      CHECK(tile.threads() <= 256);
      CHECK(tile.registers() <= 255);
      CHECK(occupancy(machine, tile.threads(), tile.registers(), tile.shared_bytes()).blocks > 0);
      if (tile.engine == Engine::CudaCores) {
        CHECK(tile.operands == DType::f32);
        CHECK(tile.warp_m / tile.thread_m * (tile.warp_n / tile.thread_n) == 32);
        CHECK(tile.thread_m * tile.thread_n <= 128);
        CHECK(one_of(tile.block_k, {8, 16, 32}));
        CHECK(one_of(tile.stages, {2, 3}));
      } else {
        CHECK(tile.operands == request.dtype);
        CHECK(one_of(tile.thread_m, {8, 16}));
        CHECK(tile.thread_m * tile.thread_n == 128);
        CHECK(tile.warp_m % tile.thread_m == 0);
        CHECK((tile.thread_m == 16 || tile.block_m == 8));
        CHECK(tile.warp_n % 16 == 0);
        CHECK(tile.warp_m * tile.warp_n / 32 <= 128);
        const int bytes = tile.block_k * static_cast<int>(size_of(request.dtype));
        CHECK(one_of(bytes, {64, 128}));
        CHECK(one_of(tile.stages, {2, 3, 4}));
      }
    }
  }
}

TEST_CASE("candidates are few, serve few rows and large blocks, and have a fixed order") {
  for (const Request& request : requests) {
    const GpuMachine& machine = ptx::described_gpu(request.gpu);
    const std::vector<GpuTile> tiles = gpu_tiles(machine, request.dtype, request.tf32);
    CAPTURE(request.gpu);
    const auto tensor = std::count_if(tiles.begin(), tiles.end(), [](const GpuTile& tile) {
      return tile.engine == Engine::TensorCores;
    });
    const bool wanted = request.dtype != DType::f32 || request.tf32;
    CHECK(tensor == (wanted ? 9 : 0));
    // Sums of integers are none of CUDA cores, which have f32.
    CHECK(static_cast<long>(tiles.size()) - tensor == (request.dtype == DType::i8 ? 0
                                                       : wanted                   ? 3
                                                                                  : 8));
    const auto any = [&](const auto& test) {
      return std::any_of(tiles.begin(), tiles.end(), test);
    };
    CHECK(any([](const GpuTile& tile) { return tile.block_m <= 32; }));
    CHECK(any([](const GpuTile& tile) { return tile.thread_n == 16; }) == wanted);
    CHECK(any([](const GpuTile& tile) { return tile.overlapped; }));
    for (const GpuTile& tile : tiles) CHECK(tile.output_bands() > 0);
    CHECK(any([](const GpuTile& tile) { return tile.block_m * tile.block_n >= 64 * 128; }));
    CHECK(gpu_tiles(machine, request.dtype, request.tf32) == tiles);
  }
}

TEST_CASE(
    "candidates follow from the machine: less shared memory gives smaller stages, no tensor cores "
    "give none") {
  GpuMachine machine = ptx::described_gpu("a100");
  machine.shared_bytes_per_block = 24 * 1024;
  machine.shared_bytes_per_multiprocessor = 32 * 1024;
  const std::vector<GpuTile> small = gpu_tiles(machine, DType::bf16, false);
  CHECK(!small.empty());
  for (const GpuTile& tile : small) CHECK(tile.shared_bytes() <= 24 * 1024);
  machine.f16_mma_fma = 0;
  for (const GpuTile& tile : gpu_tiles(machine, DType::bf16, false))
    CHECK(tile.engine == Engine::CudaCores);
  machine.i8_mma_fma = 0;
  CHECK(gpu_tiles(machine, DType::i8, false).empty());
}

TEST_CASE("bytes and registers of tiles") {
  const GpuTile tensor = tensor_tile();
  CHECK(tensor.threads() == 256);
  CHECK(tensor.a_stage_bytes() == 128 * 32 * 2);
  CHECK(tensor.b_stage_bytes() == 32 * 128 * 2);
  // Three stages are 49152 bytes, the epilogue's 128 rows of 136 floats are 69632.
  CHECK(tensor.shared_bytes() == 128 + 69632);
  CHECK(tensor.registers() >= 64 + 2 * (16 + 8));
  GpuTile cuda{.thread_m = 8,
               .thread_n = 8,
               .warp_m = 32,
               .warp_n = 64,
               .block_m = 64,
               .block_n = 64,
               .block_k = 8,
               .stages = 3};
  CHECK(cuda.threads() == 64);
  CHECK(cuda.a_stage_bytes() == 64 * 12 * 4);
  CHECK(cuda.b_stage_bytes() == 2176);  // 8 rows of 68 floats
  CHECK(cuda.shared_bytes() == 128 + 64 * 68 * 4);
  cuda.block_m = 16, cuda.warp_m = 16, cuda.thread_m = 4, cuda.block_k = 32;
  CHECK(cuda.shared_bytes() == 128 + 3 * (16 * 36 * 4 + 32 * 68 * 4));
  CHECK(tensor.to_string() == "bf16 tensor cores 128x128x32, warps 64x32, 3 stages");
}

TEST_CASE("occupancy names what limits it") {
  const GpuMachine& machine = ptx::described_gpu("a100");
  const auto check = [&](int threads, int registers, int shared, int blocks, const char* limit) {
    const Occupancy found = occupancy(machine, threads, registers, shared);
    CHECK(found.blocks == blocks);
    CHECK(std::string(found.limit) == limit);
  };
  check(256, 128, 0, 2, "registers");
  check(128, 41, 0, 10, "registers");  // given in eights: 48
  check(256, 32, 0, 8, "threads");
  check(32, 32, 0, 32, "blocks");
  check(128, 32, 48 * 1024, 3, "shared memory");  // 49 KB each, of 164
  check(128, 32, 163 * 1024, 1, "shared memory");
  check(128, 32, 163 * 1024 + 1, 0, "shared memory");
  check(2048, 32, 0, 0, "threads");
  check(32, 256, 0, 0, "registers");
}
