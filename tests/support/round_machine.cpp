#include "tests/support/round_machine.hpp"

#include <algorithm>

namespace dyn::testing {

rkernel::Machine round_machine() {
  rkernel::Machine machine;
  machine.name = "round";
  machine.threads = 2;
  machine.vector_width = 16;
  machine.panel = 32;
  machine.seconds_per_vector_operation = 1e-9;
  machine.seconds_per_call = 20e-9;
  machine.seconds_per_ticket = 100e-9;
  machine.seconds_per_wakeup = 1e-6;
  machine.levels = {{"L1", 48 << 10, {128e9, 256e9}}, {"L2", 1 << 20, {64e9, 128e9}}, {"L3", 32 << 20, {20e9, 40e9}}, {"DRAM", 0, {10e9, 15e9}}};
  for (int rows = 1; rows <= 14; ++rows) machine.tiles.push_back({rows, 32, std::max(rows, 4) * 1e-9});
  for (int rows = 1; rows <= 5; ++rows) machine.tiles.push_back({rows, 64, std::max(2 * rows, 4) * 1e-9});
  return machine;
}

}  // namespace dyn::testing
