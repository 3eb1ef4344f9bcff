#pragma once
// dyn.Graph and dyn.Session.

#include <map>
#include <memory>
#include <string>

#include "src/python/bindings/run.hpp"

namespace dyn::python {

class GraphObject {
 public:
  explicit GraphObject(std::shared_ptr<GraphState> state) : state_(std::move(state)) {}
  /// The caller's share: close() may come while it is used. Throws Error(user) after close().
  std::shared_ptr<GraphState> state() const;
  /// Runs that go on keep the model until they end.
  void close() { state_ = nullptr; }
  bool is_closed() const { return state_ == nullptr; }

 private:
  std::shared_ptr<GraphState> state_;
};

class SessionObject {
 public:
  SessionObject(const GraphObject& graph, const std::map<std::string, std::int64_t>& dims);
  const std::shared_ptr<GraphState>& graph() const { return graph_; }
  /// The caller's share: close() may come while it is used. Throws Error(user) after close().
  std::shared_ptr<Session> session() const;
  void close() { session_ = nullptr; }
  bool is_closed() const { return session_ == nullptr; }

 private:
  std::shared_ptr<GraphState> graph_;
  std::shared_ptr<Session> session_;
};

void register_graph(nb::module_& module);
void register_session(nb::module_& module);
void register_call(nb::module_& module);

}  // namespace dyn::python
