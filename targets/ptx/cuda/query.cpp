#include "targets/ptx/cuda/query.hpp"

#include <array>

#include "targets/ptx/gpus/gpu_descriptions.hpp"

namespace dyn::ptx::cuda {
namespace {

constexpr double hz_of_khz = 1e3;

class Query {
 public:
  Query(const Driver& driver, DeviceId device) : driver_(driver), device_(device) {}

  int operator()(Attribute attribute) const {
    int value = 0;
    driver_.check(driver_.cuDeviceGetAttribute(&value, attribute, device_),
                  "asking for an attribute of the GPU");
    return value;
  }
  std::string name() const {
    std::array<char, 256> text{};
    driver_.check(driver_.cuDeviceGetName(text.data(), static_cast<int>(text.size()) - 1, device_),
                  "asking for the GPU's name");
    return text.data();
  }
  std::size_t memory_bytes() const {
    std::size_t bytes = 0;
    driver_.check(driver_.cuDeviceTotalMem(&bytes, device_), "asking for the GPU's memory");
    return bytes;
  }

 private:
  const Driver& driver_;
  DeviceId device_;
};

// A driver that does not know a number returns 0.
template <typename Number, typename Value>
void replace(Number& number, Value value) {
  if (value > 0) number = static_cast<Number>(value);
}

struct Field {
  Attribute attribute;
  int choice::GpuMachine::* field;
};
constexpr Field fields[] = {
    {Attribute::MultiprocessorCount, &choice::GpuMachine::multiprocessors},
    {Attribute::MaxRegistersPerMultiprocessor, &choice::GpuMachine::registers_per_multiprocessor},
    {Attribute::MaxSharedMemoryPerMultiprocessor,
     &choice::GpuMachine::shared_bytes_per_multiprocessor},
    {Attribute::MaxSharedMemoryPerBlockOptin, &choice::GpuMachine::shared_bytes_per_block},
    {Attribute::MaxThreadsPerMultiprocessor, &choice::GpuMachine::threads_per_multiprocessor},
    {Attribute::MaxThreadsPerBlock, &choice::GpuMachine::threads_per_block},
    {Attribute::MaxBlocksPerMultiprocessor, &choice::GpuMachine::blocks_per_multiprocessor},
};

}  // namespace

int device_count(const Driver& driver) {
  int count = 0;
  driver.check(driver.cuDeviceGetCount(&count), "counting GPUs");
  return count;
}

DeviceId device_at(const Driver& driver, int index) {
  DeviceId device = 0;
  driver.check(driver.cuDeviceGet(&device, index), "finding the GPU");
  return device;
}

bool has_pools(const Driver& driver, DeviceId device) {
  return Query(driver, device)(Attribute::MemoryPoolsSupported) != 0;
}

std::size_t bytes_from(const Context& context, DevicePointer address) {
  const Context::Scope scope(context);
  const auto ask = [&](void* value, PointerAttribute attribute) {
    return context.driver().cuPointerGetAttribute(value, attribute, address) == Result::Success;
  };
  unsigned type = 0;
  int device = 0;
  DevicePointer begin = 0;
  std::size_t bytes = 0;
  if (!ask(&type, PointerAttribute::MemoryType) || type != memory_of_device ||
      !ask(&device, PointerAttribute::DeviceOrdinal) || device != context.device() ||
      !ask(&begin, PointerAttribute::RangeStart) || !ask(&bytes, PointerAttribute::RangeSize))
    return 0;
  return begin + bytes - address;
}

choice::GpuMachine query_machine(const Driver& driver, DeviceId device) {
  const Query query(driver, device);
  const int capability =
      10 * query(Attribute::ComputeCapabilityMajor) + query(Attribute::ComputeCapabilityMinor);
  const std::string product = query.name();
  choice::GpuMachine machine = nearest_description(product, capability);
  machine.product = product;
  machine.compute_capability = capability;
  for (const Field& field : fields) replace(machine.*field.field, query(field.attribute));
  replace(machine.clock_hz, query(Attribute::ClockRate) * hz_of_khz);
  replace(machine.l2_bytes, query(Attribute::L2CacheSize));
  replace(machine.memory_bytes, query.memory_bytes());
  // DDR, GDDR and HBM alike transfer at both edges of the clock.
  const double transfers_per_second = 2 * hz_of_khz * query(Attribute::MemoryClockRate);
  replace(machine.memory_bytes_per_second,
          transfers_per_second * query(Attribute::GlobalMemoryBusWidth) / 8);
  return machine;
}

}  // namespace dyn::ptx::cuda
