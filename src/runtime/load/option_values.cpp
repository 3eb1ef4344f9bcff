#include "src/runtime/load/option_values.hpp"

#include <algorithm>

namespace dyn::runtime {
namespace {

constexpr DeviceInfo device_rows[] = {
    {"cpu", false, "the default"},
    {"cuda", true, "an NVIDIA GPU"},
    {"emulator", true, "GPU kernels executed and checked on the CPU, slow"},
    {reference_device, false, "plain loops, slow, for comparison"}};

constexpr PrecisionInfo precision_rows[] = {{"f32", DType::f32, false, true, true},
                                            {"tf32", DType::f32, true, false, true},
                                            {"f16", DType::f16, false, true, true},
                                            {"bf16", DType::bf16, false, true, true},
                                            {"i8", DType::i8, false, true, false}};

constexpr WeightsInfo weights_rows[] = {{"f32", DType::f32},
                                        {"bf16", DType::bf16},
                                        {"f16", DType::f16},
                                        {"i8", DType::i8},
                                        {"i4", DType::i4}};

template <class Row>
const Row* find(std::span<const Row> rows, std::string_view name) {
  const auto found = std::ranges::find(rows, name, &Row::name);
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace

std::span<const DeviceInfo> devices() { return device_rows; }
const DeviceInfo* find_device(std::string_view name) { return find(devices(), name); }
std::span<const PrecisionInfo> precisions() { return precision_rows; }
std::span<const WeightsInfo> weight_forms() { return weights_rows; }
const WeightsInfo* find_weights(std::string_view name) { return find(weight_forms(), name); }
const PrecisionInfo* find_precision(std::string_view name) { return find(precisions(), name); }

}  // namespace dyn::runtime
