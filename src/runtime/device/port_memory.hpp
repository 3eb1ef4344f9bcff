#pragma once
// The memory of one input or output in one run.

#include "src/rkernel/target/device.hpp"

namespace dyn::runtime {

struct PortMemory {
  void* host = nullptr;
  rkernel::OperandRange device;  ///< address 0: the memory is the host's

  bool on_device() const noexcept { return device.begin != 0; }
};

}  // namespace dyn::runtime
