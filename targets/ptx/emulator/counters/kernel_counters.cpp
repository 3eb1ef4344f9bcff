#include "targets/ptx/emulator/counters/kernel_counters.hpp"

#include <numeric>

namespace dyn::ptx {

std::int64_t InstructionCounts::all() const {
  return std::accumulate(by_class.begin(), by_class.end(), std::int64_t{0});
}

void InstructionCounts::add(const InstructionCounts& other, std::int64_t times) {
  for (std::size_t i = 0; i < instruction_classes; ++i) by_class[i] += other.by_class[i] * times;
}

void Traffic::add(const Traffic& other) {
  requests += other.requests;
  units += other.units;
  least += other.least;
}

double Traffic::excess() const {
  return least == 0 ? 1 : static_cast<double>(units) / static_cast<double>(least);
}

std::int64_t KernelCounters::sectors() const {
  std::int64_t sum = 0;
  for (const OperandCounters& operand : operands) sum += operand.traffic.units;
  return sum;
}

std::int64_t KernelCounters::touched_sectors() const {
  std::int64_t sum = 0;
  for (const OperandCounters& operand : operands) sum += operand.touched;
  return sum;
}

}  // namespace dyn::ptx
