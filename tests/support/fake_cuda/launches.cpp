// The fake driver's launches, and graphs of them.

#include <utility>

#include "tests/support/fake_cuda/state.hpp"

namespace dyn::test::fake {

bool launchable(const KernelNodeParams& params) {
  const bool one_dimension =
      params.grid_y == 1 && params.grid_z == 1 && params.block_y == 1 && params.block_z == 1;
  return one_dimension && params.grid_x > 0 && params.block_x > 0 && params.block_x <= 1024 &&
         params.extra == nullptr &&
         static_cast<int>(params.shared_bytes) <= params.function->dynamic_shared_bytes;
}

NodeTag node_of(const KernelNodeParams& params) {
  NodeTag node{params.function, params.grid_x, params.block_x, params.shared_bytes, {}};
  for (int i = 0; i < 3; ++i)
    node.arguments[i] = *static_cast<const DevicePointer*>(params.parameters[i]);
  return node;
}

// Its tables must not have been freed when it runs.
void queue_launch(const NodeTag& node, StreamTag& stream) {
  const FakeLaunch launch{
      node.function->name.c_str(), node.blocks,       node.threads,     node.shared_bytes,
      node.arguments[0],           node.arguments[1], node.arguments[2]};
  const Result fate = std::exchange(state().control.asynchronous_failure, Result::Success);
  stream.queue.push_back([launch, fate, context = stream.context] {
    FakeCuda& now = state().control;
    for (const DevicePointer table : {launch.pointers, launch.ints, launch.status}) {
      if (table == 0 || inside(state().memory, table, 0) || inside(state().released, table, 0))
        continue;
      ++now.counts.misuses;
      now.counts.last_misuse = "a launch with tables in freed memory";
      return;
    }
    context->sticky = fate;
    if (fate == Result::Success && now.on_launch != nullptr) now.on_launch(launch, now.user);
  });
}

Result cuLaunchKernel(FunctionHandle function, unsigned int grid_x, unsigned int grid_y,
                      unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                      unsigned int block_z, unsigned int shared_bytes, StreamHandle stream,
                      void** parameters, void** extra) {
  DYN_FAKE_CALL(Context);
  if (!state().streams.contains(stream)) return call.misuse(Result::InvalidHandle);
  const KernelNodeParams params{function, grid_x,  grid_y,       grid_z,     block_x,
                                block_y,  block_z, shared_bytes, parameters, extra};
  if (!launchable(params)) return Result::InvalidValue;
  ++state().control.counts.launches;
  queue_launch(node_of(params), *stream);
  return Result::Success;
}

Result cuGraphCreate(GraphHandle* graph, unsigned int flags) {
  DYN_FAKE_CALL(Context);
  if (flags != 0) return call.misuse(Result::InvalidValue);
  *graph = new GraphTag;
  state().graphs.insert(*graph);
  ++state().control.counts.graphs.made;
  return Result::Success;
}

Result cuGraphDestroy(GraphHandle graph) {
  DYN_FAKE_CALL(Context);
  if (state().graphs.erase(graph) == 0) return call.misuse(Result::InvalidHandle);
  delete graph;
  ++state().control.counts.graphs.ended;
  return Result::Success;
}

// Only chains: a node comes after the last one.
Result cuGraphAddKernelNode(NodeHandle* node, GraphHandle graph, const NodeHandle* after,
                            std::size_t count, const KernelNodeParams* params) {
  DYN_FAKE_CALL(Context);
  if (!state().graphs.contains(graph)) return call.misuse(Result::InvalidHandle);
  const bool follows =
      graph->nodes.empty() ? count == 0 : count == 1 && *after == &graph->nodes.back();
  if (!follows) return call.misuse(Result::InvalidValue);
  if (!launchable(*params)) return Result::InvalidValue;
  graph->nodes.push_back(node_of(*params));
  *node = &graph->nodes.back();
  return Result::Success;
}

Result cuGraphInstantiateWithFlags(ExecutableGraph* executable, GraphHandle graph,
                                   unsigned long long flags) {
  DYN_FAKE_CALL(Context);
  if (!state().graphs.contains(graph) || flags != 0) return call.misuse(Result::InvalidHandle);
  *executable = new ExecutableGraphTag{graph, {}, {}};
  for (NodeTag& node : graph->nodes) {
    (*executable)->order.push_back(&node);
    (*executable)->nodes.emplace(&node, node);
  }
  state().executables.insert(*executable);
  ++state().control.counts.executables.made;
  return Result::Success;
}

// The function of a node stays.
Result cuGraphExecKernelNodeSetParams(ExecutableGraph executable, NodeHandle node,
                                      const KernelNodeParams* params) {
  DYN_FAKE_CALL(Context);
  if (!state().executables.contains(executable) || !executable->nodes.contains(node))
    return call.misuse(Result::InvalidHandle);
  NodeTag& held = executable->nodes.at(node);
  if (held.function != params->function || !launchable(*params)) return Result::InvalidValue;
  held = node_of(*params);
  ++state().control.counts.node_updates;
  return Result::Success;
}

Result cuGraphLaunch(ExecutableGraph executable, StreamHandle stream) {
  DYN_FAKE_CALL(Context);
  if (!state().executables.contains(executable) || !state().streams.contains(stream))
    return call.misuse(Result::InvalidHandle);
  FakeCounts& counts = state().control.counts;
  ++counts.graph_launches;
  for (const NodeHandle node : executable->order) {
    ++counts.graph_nodes;
    queue_launch(executable->nodes.at(node), *stream);
  }
  return Result::Success;
}

Result cuGraphExecDestroy(ExecutableGraph executable) {
  DYN_FAKE_CALL(Context);
  if (state().executables.erase(executable) == 0) return call.misuse(Result::InvalidHandle);
  delete executable;
  ++state().control.counts.executables.ended;
  return Result::Success;
}

}  // namespace dyn::test::fake
