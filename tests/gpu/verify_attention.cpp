// Checks every tile of attention that a GPU can choose, in random forms and sizes, against plain
// loops in double.

#include <algorithm>
#include <cstdio>
#include <random>

#include "targets/ptx/emulator/emulator.hpp"
#include "tests/gpu/check.hpp"
#include "tests/gpu/launch.hpp"
#include "tests/unit/ptx/attention/attention_case.hpp"

namespace dyn::gpu_check {
namespace {

using ptx::testing::AttentionCase;
using ptx::testing::BuiltAttention;
using ptx::testing::Contents;

std::vector<std::uint8_t> run_attention(ptx::PtxDevice& device, const BuiltAttention& built,
                                        const Contents& contents) {
  const AttentionCase& c = built.form;
  const CheckedLaunch launch{load_one(device, built.source()),
                             "attention",
                             c.blocks,
                             c.tile.threads(),
                             c.tile.shared_bytes(),
                             built.part_memory()};
  return run_kernel(device, launch, contents, built.ints());
}

/// `emulator` may be nullptr.
void verify_case(ptx::PtxDevice& device, ptx::PtxDevice* emulator, const AttentionCase& c,
                 std::mt19937_64& random, Tally& tally) {
  const BuiltAttention built(c);
  const Contents contents = random_operands(built, random);
  const std::vector<std::uint8_t> output = run_attention(device, built, contents);
  const double error = worst_attention_error(built, contents, output);
  ++tally.runs;
  tally.worst = std::max(tally.worst, error);
  if (emulator != nullptr && run_attention(*emulator, built, contents) == output) ++tally.same_bits;
  if (error <= 1) return;
  ++tally.failures;
  std::printf("FAILED %s: error %.3g of its bound\n", to_string(c).c_str(), error);
}

}  // namespace

int verify_attention(const Settings& settings) {
  const auto device = open(settings);
  const DType operands = settings.precision == "f16"    ? DType::f16
                         : settings.precision == "bf16" ? DType::bf16
                                                        : DType::f32;
  std::mt19937_64 random(settings.seed);
  const auto emulator = settings.emulate
                            ? ptx::make_emulator({.machine = device->machine(), .cache_dir = {}})
                            : nullptr;
  int failures = 0, tiles = 0;
  for (const int room : {32, 64, 96, 128, 192, 256}) {
    for (const choice::GpuAttentionTile& tile : choice::gpu_attention_tiles(
             device->machine(), operands, settings.precision == "tf32", room, room)) {
      Tally tally;
      for (int round = 0; round < settings.rounds; ++round) {
        const DType stored = random() % 3 == 0 ? DType::f32 : operands;
        verify_case(*device, emulator.get(),
                    ptx::testing::random_attention_case(tile, stored, random), random, tally);
      }
      std::printf("%s: %d runs, largest error %.2f of its bound", tile.to_string().c_str(),
                  tally.runs, tally.worst);
      std::printf(emulator ? ", %d with the emulator's bits\n" : "\n", tally.same_bits);
      std::fflush(stdout);
      failures += tally.failures;
      ++tiles;
    }
  }
  std::printf("%s on %s: %d tiles of attention, %d failures, seed %llu\n",
              settings.precision.c_str(), device->name().c_str(), tiles, failures,
              static_cast<unsigned long long>(settings.seed));
  return failures;
}

}  // namespace dyn::gpu_check
