#pragma once
// The data files of targets/ptx/gpus as the build embeds them.

#include <span>
#include <string_view>

namespace dyn::ptx {

struct GpuData {
  std::string_view name;  ///< the file's name without ".json"
  std::string_view text;
};
std::span<const GpuData> gpu_data();

}  // namespace dyn::ptx
