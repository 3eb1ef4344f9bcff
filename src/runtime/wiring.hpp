#pragma once
// Where the memory of every kernel operand comes from. Does not depend on the shape.

#include <functional>
#include <vector>

#include "graph/group.hpp"
#include "graph/module.hpp"
#include "src/rkernel/problem.hpp"
#include "src/runtime/arena_layout.hpp"

namespace dyn::runtime {

struct OperandSource {
  enum class Kind : std::uint8_t { Arena, Input, Output, Fixed } kind = Kind::Arena;
  int index = 0;          ///< of the arena buffer, input or output
  void* fixed = nullptr;  ///< weights and constants
};

/// The memory of a weight or constant operand, in the operand's form.
using FixedMemory = std::function<void*(std::size_t problem, std::size_t operand)>;

struct Wiring {
  Wiring() = default;
  /// Throws Error(internal) where an output does not have a buffer of its own.
  Wiring(const graph::Module& module, const graph::Fusion& fusion, const std::vector<rkernel::Problem>& problems,
         const FixedMemory& fixed);

  std::vector<std::size_t> first_operand;    ///< by group, and one more: the end; into `operands`
  std::vector<OperandSource> operands;       ///< of all groups, one after another
  std::vector<graph::ValueId> arena_values;  ///< by arena buffer
  ArenaLayout layout;                        ///< of the arena buffers
};

}  // namespace dyn::runtime
