#pragma once
// Launches as a CUDA graph.

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "src/rkernel/target/device.hpp"
#include "targets/ptx/cuda/context.hpp"

namespace dyn::ptx::cuda {

/// A chain of kernel nodes. It is built node by node, not captured: so each node can be given other
/// blocks and addresses, and no other thread's calls are forbidden meanwhile. To be used by one
/// thread at a time.
class Graph final : public rkernel::LaunchGraph {
 public:
  /// Nothing where the driver refuses it. Throws Error(device) where the device is lost.
  static std::unique_ptr<Graph> make(std::shared_ptr<const Context> context,
                                     std::span<const rkernel::DeviceLaunch> launches);
  explicit Graph(std::shared_ptr<const Context> context) : context_(std::move(context)) {}
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() override;

  /// Launches all with these numbers, which later launches keep. The context must be current.
  Result launch(std::span<const rkernel::DeviceLaunch> launches, StreamHandle stream);

 private:
  /// A node, and what its kernel is given.
  struct Node {
    NodeHandle handle = nullptr;
    FunctionHandle function = nullptr;
    unsigned int blocks = 0, threads = 0, shared_bytes = 0;
    std::array<DevicePointer, 3> arguments{};  ///< pointers, ints, status
  };
  static Node node_of(const rkernel::DeviceLaunch& launch);
  static KernelNodeParams params_of(Node& node, std::array<void*, 3>& arguments);
  Result build(std::span<const rkernel::DeviceLaunch> launches);
  Result update(Node& node, const rkernel::DeviceLaunch& launch);

  std::shared_ptr<const Context> context_;
  GraphHandle graph_ = nullptr;
  ExecutableGraph executable_ = nullptr;
  std::vector<Node> nodes_;
};

}  // namespace dyn::ptx::cuda
