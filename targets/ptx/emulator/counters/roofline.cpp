#include "targets/ptx/emulator/counters/roofline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace dyn::ptx {
namespace {

using choice::GpuMachine;
using choice::warp_lanes;

constexpr double schedulers = 4, special_lanes_per_cycle = 16;
constexpr double long_division_instructions = 70;  ///< of the routine that divides 64-bit integers
constexpr double half_mma_fma = 16 * 8 * 16, tf32_mma_fma = 16 * 8 * 8, byte_mma_fma = 16 * 8 * 32;
constexpr double sector_bytes = 32;

double count(const KernelCounters& counters, InstructionClass kind) {
  return static_cast<double>(counters.all[kind]);
}

/// The part of a launch's work that the multiprocessor with most blocks does.
double largest_share(const GpuMachine& machine, const KernelCounters& counters) {
  const auto blocks = static_cast<double>(std::max<std::int64_t>(counters.blocks, 1));
  const double units = std::max(1, machine.multiprocessors);
  return std::ceil(blocks / units) / blocks;
}

std::string per_least(const Traffic& traffic) {
  return traffic.least == 0 ? "-" : fmt::format("{:.2f}", traffic.excess());
}

Traffic dense_traffic(const KernelCounters& counters) {
  Traffic all;
  for (const OperandCounters& operand : counters.operands) all.add(operand.traffic);
  return all;
}

std::string percent(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? "-"
                    : fmt::format("{:.0f} %",
                                  100 * static_cast<double>(part) / static_cast<double>(whole));
}

/// The part of the main loop's instructions that multiply; of all, where there is no such loop.
std::string useful(const KernelCounters& counters) {
  const InstructionCounts& counts =
      counters.main_loop.all() > 0 ? counters.main_loop : counters.all;
  return percent(counts[InstructionClass::Mma] + counts[InstructionClass::MmaTf32] +
                     counts[InstructionClass::MmaBytes] + counts[InstructionClass::Fma] +
                     counts[InstructionClass::Float],
                 counts.all());
}

}  // namespace

std::pair<double, const char*> CounterRoofline::bound() const {
  const std::pair<double, const char*> bounds[] = {
      {issue, "issue"},   {tensor, "mma"}, {fma, "f32"},      {special, "special"},
      {shared, "shared"}, {l2, "L2"},      {memory, "memory"}};
  return *std::ranges::max_element(bounds, {}, &std::pair<double, const char*>::first);
}

CounterRoofline counter_roofline(const GpuMachine& machine, const KernelCounters& counters) {
  using Class = InstructionClass;
  const double share = largest_share(machine, counters);
  const double seconds_per_cycle = share / machine.clock_hz;
  const double divisions = count(counters, Class::LongDivision);
  const double instructions =
      static_cast<double>(counters.all.all()) + divisions * (long_division_instructions - 1);
  const double sectors = static_cast<double>(counters.sectors() + counters.tables.units);
  CounterRoofline roofline;
  roofline.issue = instructions / schedulers * seconds_per_cycle;
  roofline.tensor = (count(counters, Class::Mma) * half_mma_fma / machine.f16_mma_fma +
                     count(counters, Class::MmaTf32) * tf32_mma_fma / machine.tf32_mma_fma +
                     count(counters, Class::MmaBytes) * byte_mma_fma / machine.i8_mma_fma) *
                    seconds_per_cycle;
  roofline.fma = (count(counters, Class::Fma) + count(counters, Class::Float)) * warp_lanes /
                 machine.f32_fma * seconds_per_cycle;
  roofline.special =
      count(counters, Class::Special) * warp_lanes / special_lanes_per_cycle * seconds_per_cycle;
  roofline.shared = static_cast<double>(counters.shared.units) * seconds_per_cycle;
  roofline.l2 = std::max(sectors * sector_bytes / machine.l2_bytes_per_cycle * seconds_per_cycle,
                         sectors * sector_bytes / machine.l2_bytes_per_second);
  roofline.memory = static_cast<double>(counters.touched_sectors()) * sector_bytes /
                    machine.memory_bytes_per_second;
  return roofline;
}

rkernel::LaunchReport launch_report(const GpuMachine& machine, const KernelCounters& counters) {
  const CounterRoofline roofline = counter_roofline(machine, counters);
  const auto [seconds, bound] = roofline.bound();
  const int registers = std::max(16, std::min(counters.live_words, machine.registers_per_thread));
  const choice::Occupancy occupancy =
      choice::occupancy(machine, counters.threads, registers, counters.shared_bytes);
  return {counters.kernel,
          {{"blocks", std::to_string(counters.blocks)},
           {"threads", std::to_string(counters.threads)},
           {"live words", std::to_string(counters.live_words)},
           {"resident", fmt::format("{} ({})", occupancy.blocks, occupancy.limit)},
           {"instructions", std::to_string(counters.all.all())},
           {"multiply", useful(counters)},
           {"long divisions", std::to_string(counters.all[InstructionClass::LongDivision])},
           {"syncs", std::to_string(counters.all[InstructionClass::Synchronisation])},
           {"wavefronts", std::to_string(counters.shared.units)},
           {"per least", per_least(counters.shared)},
           {"main loop", per_least(counters.main_loop_shared)},
           {"sectors", std::to_string(counters.sectors())},
           {"per least sectors", per_least(dense_traffic(counters))},
           {"touched", std::to_string(counters.touched_sectors())},
           {"table sectors", std::to_string(counters.tables.units)},
           {"bound", bound},
           {"least us", fmt::format("{:.2f}", seconds * 1e6)}}};
}

}  // namespace dyn::ptx
