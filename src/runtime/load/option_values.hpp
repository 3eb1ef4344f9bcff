#pragma once
// What Options::device, Options::precision and Options::weights can be: help texts, checks and
// errors are made from these tables.

#include <span>
#include <string>
#include <string_view>

#include "dyn/dtype.hpp"

namespace dyn::runtime {

inline constexpr const char* reference_device = "reference";

struct DeviceInfo {
  std::string_view name;
  bool is_gpu;
  std::string_view help;
};
/// The default first.
std::span<const DeviceInfo> devices();
/// nullptr: there is none with that name.
const DeviceInfo* find_device(std::string_view name);

struct PrecisionInfo {
  std::string_view name;
  DType dtype;      ///< what is multiplied
  bool allow_tf32;  ///< f32 in memory, multiplied with 10 bits of mantissa
  bool on_cpu, on_gpu;
};
/// The default first.
std::span<const PrecisionInfo> precisions();
/// nullptr: there is none with that name.
const PrecisionInfo* find_precision(std::string_view name);

struct WeightsInfo {
  std::string_view name;
  DType dtype;
};
std::span<const WeightsInfo> weight_forms();
/// nullptr: there is none with that name.
const WeightsInfo* find_weights(std::string_view name);

}  // namespace dyn::runtime
