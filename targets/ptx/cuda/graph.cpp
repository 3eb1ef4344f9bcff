#include "targets/ptx/cuda/graph.hpp"

#include <utility>

#include "targets/ptx/cuda/stream.hpp"

namespace dyn::ptx::cuda {

Graph::Node Graph::node_of(const rkernel::DeviceLaunch& launch) {
  return {nullptr,
          static_cast<const LoadedKernel*>(launch.function)->function,
          static_cast<unsigned>(launch.blocks),
          static_cast<unsigned>(launch.threads),
          static_cast<unsigned>(launch.shared_bytes),
          {launch.pointers, launch.ints, launch.status}};
}

KernelNodeParams Graph::params_of(Node& node, std::array<void*, 3>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) arguments[i] = &node.arguments[i];
  return {node.function,     node.blocks,      1,      1, node.threads, 1, 1,
          node.shared_bytes, arguments.data(), nullptr};
}

Result Graph::build(std::span<const rkernel::DeviceLaunch> launches) {
  const Driver& driver = context_->driver();
  Result result = driver.cuGraphCreate(&graph_, 0);
  for (const rkernel::DeviceLaunch& launch : launches) {
    if (result != Result::Success) return result;
    Node node = node_of(launch);
    std::array<void*, 3> arguments{};
    const KernelNodeParams params = params_of(node, arguments);
    const NodeHandle* after = nodes_.empty() ? nullptr : &nodes_.back().handle;
    result =
        driver.cuGraphAddKernelNode(&node.handle, graph_, after, nodes_.empty() ? 0 : 1, &params);
    nodes_.push_back(node);
  }
  if (result != Result::Success) return result;
  return driver.cuGraphInstantiateWithFlags(&executable_, graph_, 0);
}

std::unique_ptr<Graph> Graph::make(std::shared_ptr<const Context> context,
                                   std::span<const rkernel::DeviceLaunch> launches) {
  const Context::Scope scope(*context);
  auto graph = std::make_unique<Graph>(context);
  const Result result = graph->build(launches);
  if (is_fatal(result)) context->fail(result, "making a graph of launches");
  if (result != Result::Success) return nullptr;
  return graph;
}

Graph::~Graph() {
  const Context::Scope scope(*context_, std::nothrow);
  if (!scope.active()) return;
  if (executable_ != nullptr) context_->driver().cuGraphExecDestroy(executable_);
  if (graph_ != nullptr) context_->driver().cuGraphDestroy(graph_);
}

Result Graph::update(Node& node, const rkernel::DeviceLaunch& launch) {
  Node wanted = node_of(launch);
  if (wanted.blocks == node.blocks && wanted.threads == node.threads &&
      wanted.shared_bytes == node.shared_bytes && wanted.arguments == node.arguments)
    return Result::Success;
  wanted.handle = node.handle;
  wanted.function = node.function;
  std::array<void*, 3> arguments{};
  const KernelNodeParams params = params_of(wanted, arguments);
  const Result result =
      context_->driver().cuGraphExecKernelNodeSetParams(executable_, node.handle, &params);
  if (result == Result::Success) node = wanted;
  return result;
}

Result Graph::launch(std::span<const rkernel::DeviceLaunch> launches, StreamHandle stream) {
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const Result result = update(nodes_[i], launches[i]);
    if (result != Result::Success) return result;
  }
  return context_->driver().cuGraphLaunch(executable_, stream);
}

}  // namespace dyn::ptx::cuda
