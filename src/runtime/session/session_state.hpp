#pragma once
// What a dyn::Session holds: the states' memory and its length.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dyn/tensor.hpp"
#include "src/runtime/load/model.hpp"
#include "src/runtime/session/session_memory.hpp"

namespace dyn::runtime {

/// Invariant while a turn begins: a state that is appended to at the session's length is zero from
/// there on.
class SessionState {
 public:
  /// Throws Error(user) and Error(device) as dyn::Session does.
  SessionState(std::shared_ptr<const Model> model, const std::map<std::string, std::int64_t>& dims);

  /// The one run, truncation or reset at a time. Throws Error(user) where there is another.
  class Turn {
   public:
    /// Throws Error(device) where the device fails to zero what is not zero yet.
    explicit Turn(SessionState& session);
    /// Zeroes what a run that began and did not finish may have written; where the device fails to,
    /// the next turn does it.
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    /// A run at these values of the model's symbols is about to write.
    void begin(std::span<const std::int64_t> symbols);
    /// It has written: the length grows.
    void finish();

   private:
    SessionState& session_;
    std::int64_t growth_ = 0;
  };

  // Throw Error(user) where dyn::Session does, and Error(device) as Turn does: the length is the
  // new one even then.
  void truncate(std::int64_t length);
  void reset();
  /// For measurements: from now on every run finds this length, whatever the states hold there.
  /// Throws Error(user) beyond what there is room for.
  void hold_at(std::int64_t length);

  const std::shared_ptr<const Model>& model() const noexcept { return model_; }
  std::int64_t length() const noexcept { return length_.load(std::memory_order_relaxed); }
  std::size_t bytes() const noexcept { return memory_.bytes(); }
  /// As SessionMemory::bytes_below.
  std::size_t bytes_below(std::int64_t length) const { return memory_.bytes_below(length); }

  // For the run that has its turn.
  std::span<const std::int64_t> symbols() const noexcept { return symbols_; }
  /// By state, in the model's order.
  std::span<const StateMemory> states() const noexcept { return memory_.states(); }
  /// As SessionMemory::views.
  std::vector<Tensor> views() const { return memory_.views(); }

  // For measurements and tests, between runs.
  Tensor read(std::size_t state) const { return memory_.read(state); }
  void write(std::size_t state, const Tensor& tensor) { memory_.write(state, tensor); }

 private:
  void set_length(std::int64_t length);
  /// Brings the invariant about. Throws Error(device) where it cannot; a later call can.
  void zero_forgotten();

  std::shared_ptr<const Model> model_;
  const graph::Module& module_;
  std::vector<std::int64_t> symbols_;  ///< by symbol; the length's is in its place
  SessionMemory memory_;
  std::atomic<std::int64_t> length_{0};
  std::atomic<bool> busy_{false};
  bool held_ = false;
  std::int64_t written_to_ = 0;  ///< the first position that is certainly zero, and so all after it
  bool fixed_forgotten_ =
      false;  ///< states that are not appended to at the length are to be zeroed
};

}  // namespace dyn::runtime
