#pragma once
// dyn::Session: the state of one sequence (or batch of them) between the runs of a model with
// state, such as a KV cache.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "dyn/graph.hpp"

namespace dyn {

/// The memory behind a model's states, zeroed, and how many positions of it runs have appended: its
/// length. Any number of sessions of one graph may run at the same time, each one run at a time:
/// functions called while a run goes on throw Error(user), but for length() and bytes(). Keeps the
/// model; may be moved, not copied: one that was moved from throws Error(user).
class DYN_API Session {
 public:
  /// `dims`: the sizes of the states by the names of their dims, such as {{"B", 1}, {"C", 1024}},
  /// where C is how many positions there is room for. A dim left out has the model's hint. The
  /// host's memory becomes resident as positions are filled; a device's is taken at once. Throws
  /// Error(user) for a name that is no dim of a state, a dim without value and hint, or one out of
  /// bounds; Error(device) where there is no memory: the graph and its other sessions go on.
  explicit Session(const Graph& graph, const std::map<std::string, std::int64_t>& dims = {});
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  /// Runs once and appends; allocates the outputs. Throws what Graph::run does, and Error(user)
  /// where there is no room left for what would be appended. A run that fails leaves length() and
  /// all positions below it as they were.
  Outputs run(const NamedTensors& inputs, const RunOptions& options = {});

  /// Positions appended so far: 0 for a new session.
  std::int64_t length() const;

  /// Forgets all positions from `length` on, as if they had never been appended. Throws Error(user)
  /// for a negative length or one beyond length(); Error(device) where a GPU fails, and then the
  /// length is the new one all the same.
  void truncate(std::int64_t length);

  /// Forgets everything: the session is as new. Throws Error(device) as truncate() does.
  void reset();

  /// Bytes of memory behind the states, on the host and on the device.
  std::size_t bytes() const;

  /// For dynrun, Call and tests inside dyn; not part of the stable API.
  const std::shared_ptr<runtime::SessionState>& state() const;

 private:
  std::shared_ptr<runtime::SessionState> state_;
};

}  // namespace dyn
