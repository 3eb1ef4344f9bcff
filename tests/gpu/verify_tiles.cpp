// Checks every tile that a GPU can choose, in every form, at sizes around it, against plain loops
// in double.

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <random>

#include "targets/ptx/emulator/emulator.hpp"
#include "tests/gpu/check.hpp"
#include "tests/gpu/launch.hpp"
#include "tests/unit/ptx/contraction/matmul_data.hpp"

namespace dyn::gpu_check {
namespace {

using namespace ptx;
using ptx::testing::Bytes;
using ptx::testing::MatmulCase;

Bytes run(PtxDevice& device, const void* function, const MatmulCase& c,
          const std::vector<Bytes>& buffers) {
  return run_kernel(device, {function, "matmul", c.blocks, c.tile.threads(), c.tile.shared_bytes()},
                    buffers, ints_of(c, build(c)));
}

/// The forms of one tile: both ways of copying each operand, both orders of B, transposes, all
/// dtypes of memory, epilogues.
std::vector<MatmulCase> forms_of(const choice::GpuTile& tile, std::mt19937_64& random) {
  std::vector<MatmulCase> forms;
  for (const Copy a : {Copy::Vectors, Copy::Elements}) {
    for (const Copy b : {Copy::Vectors, Copy::Elements}) {
      for (const BOrder order : {BOrder::RowsAlongN, BOrder::RowsAlongK}) {
        if (order == BOrder::RowsAlongK && tile.engine == choice::Engine::CudaCores) continue;
        MatmulCase c;
        c.tile = tile;
        c.a_copy = a;
        c.b_copy = b;
        c.b_order = order;
        c.transpose_a = a == Copy::Elements && random() % 2 == 0;
        c.transpose_b = b == Copy::Elements ? random() % 2 == 0 : order == BOrder::RowsAlongK;
        c.bias = random() % 2 == 0;
        c.gelu = random() % 2 == 0;
        c.residual = random() % 2 == 0;
        draw_dtypes(c, random);
        forms.push_back(c);
      }
    }
  }
  return forms;
}

// Rows that are copied as vectors begin on 16 bytes.
std::int64_t slack_for(Copy copy, std::int64_t inner, DType dtype, std::mt19937_64& random) {
  const auto elements = static_cast<std::int64_t>(16 / size_of(dtype));
  return copy == Copy::Vectors ? (elements - inner % elements) % elements
                               : static_cast<std::int64_t>(random() % 4);
}

void draw_sizes(MatmulCase& c, int multiprocessors, std::mt19937_64& random) {
  const auto around = [&](int tile) {
    const std::int64_t choices[] = {1, tile - 1, tile, tile + 1, 2 * tile + 3, 37};
    return choices[random() % std::size(choices)];
  };
  c.m = around(c.tile.block_m);
  c.n = around(c.tile.block_n);
  c.k = random() % 8 == 0 ? 0 : around(c.tile.block_k * static_cast<int>(1 + random() % 5));
  c.batch = 1 + static_cast<std::int64_t>(random() % 3);
  c.blocks = 1 + static_cast<int>(random() % static_cast<unsigned>(multiprocessors));
  c.a_slack = slack_for(c.a_copy, c.k, c.a, random);
  c.b_slack = slack_for(c.b_copy, c.b_order == BOrder::RowsAlongK ? c.k : c.n, c.b, random);
  c.offset = 16 * static_cast<std::int64_t>(random() % 3);
}

/// Runs one form at random sizes; `emulator` may be nullptr.
void verify_form(PtxDevice& device, PtxDevice* emulator, MatmulCase c, int rounds,
                 std::mt19937_64& random, Tally& tally) {
  const auto built = build(c);
  const codegen::KernelSource source = source_of(built);
  const void* function = load_one(device, source);
  const void* emulated = emulator == nullptr ? nullptr : load_one(*emulator, source);
  for (int round = 0; round < rounds; ++round) {
    draw_sizes(c, device.machine().multiprocessors, random);
    const auto buffers = random_buffers(c, random);
    const Bytes output = run(device, function, c, buffers);
    const double error = worst_error(c, buffers, output);
    ++tally.runs;
    tally.worst = std::max(tally.worst, error);
    if (emulator != nullptr && run(*emulator, emulated, c, buffers) == output) ++tally.same_bits;
    if (error <= 1) continue;
    ++tally.failures;
    std::printf("FAILED %s: error %.3g of its bound\n", to_string(c).c_str(), error);
  }
}

}  // namespace

int verify_tiles(const Settings& settings) {
  const auto device = open(settings);
  const DType operands = settings.precision == "f16"    ? DType::f16
                         : settings.precision == "bf16" ? DType::bf16
                         : settings.precision == "i8"   ? DType::i8
                                                        : DType::f32;
  std::mt19937_64 random(settings.seed);
  const auto emulator =
      settings.emulate ? make_emulator({.machine = device->machine(), .cache_dir = {}}) : nullptr;
  int failures = 0;
  const auto tiles = choice::gpu_tiles(device->machine(), operands, settings.precision == "tf32");
  for (const choice::GpuTile& tile : tiles) {
    Tally tally;
    for (const MatmulCase& form : forms_of(tile, random))
      verify_form(*device, emulator.get(), form, settings.rounds, random, tally);
    std::printf("%s: %d runs, largest error %.2f of its bound", tile.to_string().c_str(),
                tally.runs, tally.worst);
    std::printf(emulator ? ", %d with the emulator's bits\n" : "\n", tally.same_bits);
    std::fflush(stdout);
    failures += tally.failures;
  }
  std::printf("%s on %s: %zu tiles, %d failures, seed %llu\n", settings.precision.c_str(),
              device->name().c_str(), tiles.size(), failures,
              static_cast<unsigned long long>(settings.seed));
  return failures;
}

}  // namespace dyn::gpu_check
