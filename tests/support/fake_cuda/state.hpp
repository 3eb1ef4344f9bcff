#pragma once
// The state behind the entry points of the fake driver.

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tests/support/fake_cuda/fake_cuda.hpp"

namespace dyn::ptx::cuda {

struct ContextTag {
  int device = 0, retained = 0;
  Result sticky = Result::Success;
};

struct LinkTag {
  std::string cubin;
  char* error_log = nullptr;
  std::size_t error_log_bytes = 0;
};

struct ModuleTag {
  std::set<std::string> symbols;
  std::vector<FunctionHandle> functions;
};

struct FunctionTag {
  std::string name;
  int dynamic_shared_bytes = 48 << 10;
};

struct StreamTag {
  ContextHandle context = nullptr;
  std::deque<std::function<void()>> queue;
  std::int64_t done = 0;  ///< entries that left the queue
  std::int64_t end() const { return done + static_cast<std::int64_t>(queue.size()); }
};

/// A node, or a launch: what a kernel is given.
struct NodeTag {
  FunctionHandle function = nullptr;
  unsigned blocks = 0, threads = 0, shared_bytes = 0;
  DevicePointer arguments[3] = {};
};

struct GraphTag {
  std::deque<NodeTag> nodes;  ///< a chain; they stay where they are
};

struct ExecutableGraphTag {
  GraphHandle graph = nullptr;
  std::map<NodeHandle, NodeTag> nodes;
  std::vector<NodeHandle> order;
};

struct EventTag {
  StreamHandle stream = nullptr;
  std::int64_t place = 0;  ///< of the stream's work
};

}  // namespace dyn::ptx::cuda

namespace dyn::test::fake {

using namespace ptx::cuda;

struct State {
  std::recursive_mutex mutex;
  FakeCuda control;
  bool initialised = false;
  std::map<int, ContextTag> contexts;             ///< by device
  std::map<DevicePointer, std::size_t> memory;    ///< bytes that are allocated
  std::map<DevicePointer, std::size_t> released;  ///< in the order of a stream that goes on
  std::map<DevicePointer, int> devices;           ///< whose memory it is, or was
  std::map<const void*, std::size_t> host_memory;
  std::set<LinkHandle> links;
  std::set<ModuleHandle> modules;
  std::set<StreamHandle> streams;
  std::set<EventHandle> events;
  std::set<GraphHandle> graphs;
  std::set<ExecutableGraph> executables;
};
State& state();
/// Contexts current on this thread.
std::vector<ContextHandle>& context_stack();
FakeCuda control_from_environment();

/// The start of an entry point: takes the lock and decides whether the call fails before it does
/// anything.
class Call {
 public:
  enum class Needs { Nothing, Initialised, Context };
  Call(const char* function, Needs needs);
  Result result() const { return result_; }
  /// Counts a call against the rules.
  Result misuse(Result result) const;

 private:
  const char* function_;
  std::unique_lock<std::recursive_mutex> lock_;
  Result result_ = Result::Success;
};

/// True where [at, at + bytes) lies in one allocation.
bool inside(const std::map<DevicePointer, std::size_t>& blocks, DevicePointer at,
            std::size_t bytes);
bool page_locked(const void* at);
/// True where the driver takes a kernel with these numbers.
bool launchable(const KernelNodeParams& params);
NodeTag node_of(const KernelNodeParams& params);
/// Queues the kernel.
void queue_launch(const NodeTag& launch, StreamTag& stream);
/// Does the stream's work up to this place.
void run_until(StreamTag& stream, std::int64_t place);
void run_all_streams();
/// Frees what a lost context still holds.
void free_all();

/// Every entry point, with the very signature that dyn calls.
#define DYN_CUDA_FUNCTION(name, version, parameters) Result name parameters;
#include "targets/ptx/cuda/driver_functions.def"
#undef DYN_CUDA_FUNCTION

}  // namespace dyn::test::fake

/// Begins an entry point: returns from it where the call is to fail.
#define DYN_FAKE_CALL(needs)                     \
  const Call call(__func__, Call::Needs::needs); \
  if (call.result() != Result::Success) return call.result()
