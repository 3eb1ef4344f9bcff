#include "targets/ptx/gpus/gpu_descriptions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <tuple>
#include <variant>

#include "targets/ptx/gpus/gpu_data.hpp"

namespace dyn::ptx {
namespace {

using choice::GpuMachine;

// Every number of a description: its key, and the field that takes it. All are required, and
// positive.
struct Field {
  const char* key;
  std::variant<int GpuMachine::*, std::int64_t GpuMachine::*, double GpuMachine::*> member;
};
constexpr Field fields[] = {
    {"compute_capability", &GpuMachine::compute_capability},
    {"multiprocessors", &GpuMachine::multiprocessors},
    {"clock_hz", &GpuMachine::clock_hz},
    {"registers_per_multiprocessor", &GpuMachine::registers_per_multiprocessor},
    {"registers_per_thread", &GpuMachine::registers_per_thread},
    {"shared_bytes_per_multiprocessor", &GpuMachine::shared_bytes_per_multiprocessor},
    {"shared_bytes_per_block", &GpuMachine::shared_bytes_per_block},
    {"threads_per_multiprocessor", &GpuMachine::threads_per_multiprocessor},
    {"threads_per_block", &GpuMachine::threads_per_block},
    {"blocks_per_multiprocessor", &GpuMachine::blocks_per_multiprocessor},
    {"f32_fma", &GpuMachine::f32_fma},
    {"f16_mma_fma", &GpuMachine::f16_mma_fma},
    {"tf32_mma_fma", &GpuMachine::tf32_mma_fma},
    {"i8_mma_fma", &GpuMachine::i8_mma_fma},
    {"shared_bytes", &GpuMachine::shared_bytes},
    {"l2_bytes_per_cycle", &GpuMachine::l2_bytes_per_cycle},
    {"l2_bytes", &GpuMachine::l2_bytes},
    {"memory_bytes", &GpuMachine::memory_bytes},
    {"l2_bytes_per_second", &GpuMachine::l2_bytes_per_second},
    {"memory_bytes_per_second", &GpuMachine::memory_bytes_per_second},
    {"launch_seconds", &GpuMachine::launch_seconds},
    {"memory_latency_seconds", &GpuMachine::memory_latency_seconds},
};

/// A description's file, and the kind of errors about it.
struct Source {
  std::string file;
  ErrorKind kind;

  [[noreturn]] void refuse(std::string_view what) const {
    throw Error(kind, fmt::format("{}{}", file, what), {"reading the description of a GPU"});
  }
  [[noreturn]] void refuse(std::string_view key, std::string_view what) const {
    refuse(fmt::format(": \"{}\" {}", key, what));
  }
};

void set_field(GpuMachine& machine, const Field& field, const nlohmann::json& json,
               const Source& source) {
  const auto found = json.find(field.key);
  if (found == json.end()) source.refuse(field.key, "is missing");
  if (!found->is_number()) source.refuse(field.key, "must be a number");
  const double value = found->get<double>();
  if (!(value > 0)) source.refuse(field.key, "must be greater than 0");
  std::visit(
      [&](auto member) {
        using Number = std::remove_reference_t<decltype(machine.*member)>;
        if constexpr (std::is_integral_v<Number>) {
          if (value != std::floor(value) ||
              value > static_cast<double>(std::numeric_limits<Number>::max() / 2)) {
            source.refuse(field.key, "must be a whole number in range");
          }
        }
        machine.*member = static_cast<Number>(value);
      },
      field.member);
}

}  // namespace

GpuMachine parse_gpu_description(const std::filesystem::path& file, std::string_view text,
                                 ErrorKind kind) {
  const Source source{file.string(), kind};
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) source.refuse(" is not a JSON object");
  GpuMachine machine;
  machine.name = file.stem().string();
  for (const auto& [key, value] : json.items()) {
    const bool number = std::any_of(std::begin(fields), std::end(fields),
                                    [&](const Field& field) { return key == field.key; });
    if (!number && key != "source" && key != "product")
      source.refuse(key, "is not a key of a description");
  }
  if (!json.contains("source")) source.refuse("source", "is missing: where the numbers come from");
  if (!json.contains("product") || !json["product"].is_string())
    source.refuse("product", "must be a string");
  machine.product = json["product"].get<std::string>();
  for (const Field& field : fields) set_field(machine, field, json, source);
  return machine;
}

std::span<const GpuMachine> described_gpus() {
  static const std::vector<GpuMachine> machines = [] {
    std::vector<GpuMachine> parsed;
    for (const GpuData& data : gpu_data())
      parsed.push_back(parse_gpu_description(std::string(data.name) + ".json", data.text));
    return parsed;
  }();
  return machines;
}

const GpuMachine& described_gpu(const std::string& name) {
  std::string names;
  for (const GpuMachine& machine : described_gpus()) {
    if (machine.name == name) return machine;
    names += (names.empty() ? "" : ", ") + machine.name;
  }
  throw Error(
      ErrorKind::user,
      fmt::format("no GPU named \"{}\" is described; there are: {}; or give a file NAME.json", name,
                  names));
}

GpuMachine gpu_by_name_or_file(const std::string& name_or_file) {
  if (!name_or_file.ends_with(".json")) return described_gpu(name_or_file);
  std::ifstream file(name_or_file);
  std::stringstream text;
  text << file.rdbuf();
  if (!file || text.str().empty())
    throw Error(ErrorKind::user,
                fmt::format("{} cannot be read; a GPU is described by a file with the keys of "
                            "targets/ptx/gpus/a100.json",
                            name_or_file),
                {"reading the description of a GPU"});
  return parse_gpu_description(name_or_file, text.str(), ErrorKind::user);
}

GpuMachine nearest_description(const std::string& product, int compute_capability) {
  // A name that is part of the product counts most; then the newest description that is no newer
  // than the GPU.
  const auto distance = [&](const GpuMachine& machine) {
    std::string lower = product;
    std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) {
      return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    });
    const bool named = lower.find(machine.name) != std::string::npos;
    const bool newer = machine.compute_capability > compute_capability;
    return std::tuple{named ? 0 : 1, newer ? 1 : 0,
                      std::abs(machine.compute_capability - compute_capability)};
  };
  const auto machines = described_gpus();
  return *std::min_element(
      machines.begin(), machines.end(),
      [&](const GpuMachine& a, const GpuMachine& b) { return distance(a) < distance(b); });
}

}  // namespace dyn::ptx
