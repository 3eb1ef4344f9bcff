#pragma once
// dyn-gpu-check tests what can be known only on a real GPU. It also runs on the emulator, to test
// itself.

#include <cstdint>
#include <memory>
#include <string>

#include "targets/ptx/ir/ptx_device.hpp"

namespace dyn::gpu_check {

struct Settings {
  std::string device = "cuda";    ///< or "emulator"
  std::string gpu;                ///< index of the GPU, or what the emulator imitates
  std::string precision = "f32";  ///< f32, tf32, f16 or bf16; of tiles i8 too
  std::uint64_t seed = 1;
  int rounds = 4;        ///< random sizes of each kernel (tiles, attention)
  bool emulate = false;  ///< compare with the emulator, too (tiles, attention)
  std::string shapes;    ///< file of lines "M N K" (benchmark, candidates)
  std::string cublas = "libcublas.so";
  std::string output = "recorded.json";  ///< file to write (record)
};

std::shared_ptr<ptx::PtxDevice> open(const Settings& settings);

/// Each prints what it does, and returns the number of failures.
int verify_operators(const Settings& settings);
int verify_tiles(const Settings& settings);
int verify_attention(const Settings& settings);
int benchmark(const Settings& settings);
int candidates(const Settings& settings);
int record(const Settings& settings);
/// Compares the .npy files of two folders: |a - b| <= tolerance * the largest |a|.
int compare_outputs(const std::string& expected, const std::string& actual, double tolerance);

}  // namespace dyn::gpu_check
