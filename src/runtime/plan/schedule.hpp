#pragma once
// The order of a run on two machines: launches, copies between host and device, and where the host
// must wait. Does not depend on the shape.

#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "graph/ir/module.hpp"
#include "src/rkernel/target/device.hpp"

namespace dyn::runtime {

/// What one group does with memory. Weights and constants are no concern of a schedule: each space
/// has its own copy.
struct GroupUse {
  struct Buffer {
    graph::ValueId value = graph::no_value;
    bool written = false;
  };
  rkernel::Space space = rkernel::Space::Host;
  std::vector<Buffer> buffers;
};

/// Whose groups touch a state.
struct StateUse {
  bool on_host = true, on_device = false;
};

inline constexpr int no_group = -1;

/// A buffer that goes from the other space to `to`: the whole of it, or what a run changes of a
/// state.
struct Transfer {
  graph::ValueId value = graph::no_value;
  rkernel::Space to = rkernel::Space::Device;
  int writer = no_group;  ///< the group that wrote it last; none: an input of the model
  int reader = no_group;  ///< the group that needs it; none: it is an output of the model, or a
                          ///< state, which the next run needs
};

struct Step {
  enum class Kind : unsigned char {
    Launch,  ///< of group `index`
    Copy,    ///< of transfer `index`
    Wait     ///< until the device has done all that was asked of it; `index`: the group on the host
             ///< that needs it
  } kind = Kind::Launch;
  std::size_t index = 0;
};

struct Schedule {
  std::vector<Step> steps;
  std::vector<Transfer> transfers;
};

/// A buffer crosses only when a group is about to touch it (reading it, or writing a part of what
/// others wrote) where its newest version is not, and, for an output of the model that was last
/// written on the device, to the host, once, after its last writer. A state that groups in both
/// spaces touch has its newest version in both when a run begins, and again when it ends. The end
/// of a run waits for the device anyway: that is no step.
Schedule make_schedule(std::span<const GroupUse> groups, const std::set<graph::ValueId>& inputs,
                       const std::set<graph::ValueId>& outputs,
                       const std::map<graph::ValueId, StateUse>& states = {});

}  // namespace dyn::runtime
