#pragma once
// dyn::Profile: what one run did, where, and from when to when.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dyn/export.hpp"

namespace dyn {

/// One run, as Call::run(Profile&) fills it in. Times are nanoseconds of std::chrono::steady_clock,
/// so that those of several runs, and the caller's own, lie on one axis. Plain data.
struct Profile {
  /// A kernel at one shape: what does not change from one of its executions to the next.
  struct Group {
    std::string name;       ///< as `dynrun inspect` has it
    std::string operators;  ///< of the model, in order, with blanks between: "matmul add gelu"
    std::string kernel;     ///< its tree of layers and its shape classes, as text
    std::string program;  ///< the one chosen at this shape, in words; empty where there is one way
    std::string device;   ///< "cpu/avx512"; "host" for what no kernel computes
    double flops = 0;     ///< of products, 2 for each multiply-add; 0 for the rest
    double bytes = 0;     ///< compulsory traffic: each operand once
    double predicted_seconds = 0;    ///< by the cost model
    int threads = 1;                 ///< the most that may work at once
    std::int64_t tickets = 0;        ///< independent units of work of the first stage
    std::int64_t merge_tickets = 0;  ///< of the stage that merges partial results; 0: there is none
  };
  enum class Kind : std::uint8_t {
    group,  ///< an execution of a kernel
    copy,   ///< between the host's memory and a device's, for the group
    wait,   ///< for the device, before the group
  };
  /// A stretch of the run's caller; they come one after the other.
  struct Event {
    Kind kind = Kind::group;
    std::size_t group = 0;  ///< index into `groups`
    std::int64_t start_ns = 0, end_ns = 0;
  };
  /// Tickets [first, first + count) of a group's stage, which one thread did one after the other.
  struct Slice {
    std::size_t event = 0;  ///< index into `events`
    int thread = 0;         ///< 0: the run's caller; others: the helper in this place
    int stage = 0;          ///< 0; 1: merging partial results
    std::int64_t first = 0, count = 0;
    std::int64_t start_ns = 0, end_ns = 0;
  };
  /// A place in the memory of intermediate tensors. Places whose events meet never overlap.
  struct Buffer {
    std::string tensor;
    bool on_device = false;
    std::size_t offset = 0, bytes = 0;
    std::size_t first_event = 0, last_event = 0;  ///< that touch it; indices into `events`
  };

  std::string label;                      ///< the caller's: names the run in a trace
  std::int64_t start_ns = 0, end_ns = 0;  ///< of the whole run: planning, and all events
  int threads = 0;                        ///< the most of all groups
  std::size_t arena_bytes = 0;            ///< of intermediate tensors on the host
  std::size_t device_arena_bytes = 0;     ///< and on the device
  std::size_t scratch_bytes = 0;          ///< of each thread: the most of all groups
  std::vector<Group> groups;
  std::vector<Event> events;    ///< in order; a group stands there once for each execution
  std::vector<Slice> slices;    ///< by event, then by thread, then by start; none of a device's
  std::vector<Buffer> buffers;  ///< of each plan at its first execution
};

/// The runs in the trace event format, which Perfetto (https://ui.perfetto.dev) and
/// chrome://tracing open: a process for each run, a track for each thread, and on it the run, its
/// events and the tickets, one inside the other. Times begin with the first run.
DYN_API std::string chrome_trace(std::span<const Profile> runs);

}  // namespace dyn
