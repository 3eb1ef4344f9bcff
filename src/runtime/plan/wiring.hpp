#pragma once
// Where the memory of every kernel operand comes from, on the host and on the device, and in which
// order a run goes. Does not depend on the shape.

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "graph/fusion/group.hpp"
#include "graph/ir/module.hpp"
#include "src/rkernel/problem/problem.hpp"
#include "src/rkernel/target/device.hpp"
#include "src/runtime/plan/arena_layout.hpp"
#include "src/runtime/plan/schedule.hpp"

namespace dyn::runtime {

struct OperandSource {
  enum class Kind : std::uint8_t {
    Arena,
    Input,
    Output,
    State,
    Fixed,  ///< memory of the host
    DeviceArena,
    DeviceState,
    DeviceFixed
  } kind = Kind::Arena;
  int index = 0;  ///< of the arena buffer, input, output, state, or entry of Wiring::device_fixed
  void* fixed = nullptr;  ///< weights and constants of the host
  bool written = false;
};

/// The memory of a weight or constant operand, in the operand's form.
struct FixedMemory {
  std::function<void*(std::size_t problem, std::size_t operand)> host;
  std::function<rkernel::OperandRange(std::size_t problem, std::size_t operand)> device;
};

/// A value's memory in an arena, with the element type that kernels see there (perhaps narrower
/// than the module's).
struct ArenaBuffer {
  graph::ValueId value = graph::no_value;
  DType dtype = DType::f32;
};

struct Wiring {
  Wiring() = default;
  /// `spaces`: where each group runs. Throws Error(internal) where an output does not have a buffer
  /// of its own, or operands disagree on the element type of a buffer.
  Wiring(const graph::Module& module, const graph::Fusion& fusion,
         const std::vector<rkernel::Problem>& problems, std::span<const rkernel::Space> spaces,
         const FixedMemory& fixed);

  std::vector<std::size_t> first_operand;  ///< by group, and one more: the end; into `operands`
  /// The operands of all groups, one group after another; then the host's end of each transfer.
  std::vector<OperandSource> operands;
  std::vector<ArenaBuffer> arena_buffers;
  ArenaLayout layout;                                 ///< of the arena buffers
  std::vector<StateUse> states;                       ///< by state of the module
  std::vector<bool> inputs_on_host, outputs_on_host;  ///< by port: groups of the host touch it

  // Only where a group runs on the device.
  bool on_device = false;
  std::vector<Step> steps;
  std::vector<Transfer> transfers;
  std::vector<OperandSource> device_ends;  ///< by transfer: DeviceArena or DeviceState
  std::vector<rkernel::Space> spaces;      ///< by group
  std::vector<std::string> group_names;
  std::vector<ArenaBuffer> device_buffers;
  ArenaLayout device_layout;
  std::vector<rkernel::OperandRange> device_fixed;

  std::size_t groups() const noexcept { return first_operand.size() - 1; }
};

}  // namespace dyn::runtime
