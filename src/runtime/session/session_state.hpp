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
#include "src/runtime/system/memory_block.hpp"

namespace dyn::runtime {

/// Invariant between runs: a state that is appended to at the session's length is zero from there
/// on.
class SessionState {
 public:
  /// Throws Error(user) and Error(device) as dyn::Session does.
  SessionState(std::shared_ptr<const Model> model, const std::map<std::string, std::int64_t>& dims);

  /// The one run, truncation or reset at a time. Throws Error(user) where there is another.
  class Turn {
   public:
    explicit Turn(SessionState& session);
    /// Zeroes what a run that began and did not finish may have written.
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
    bool writing_ = false;
  };

  void truncate(std::int64_t length);
  void reset();
  /// For measurements: from now on every run finds this length, whatever the states hold there.
  /// Throws Error(user) beyond what there is room for.
  void hold_at(std::int64_t length);

  const std::shared_ptr<const Model>& model() const noexcept { return model_; }
  std::int64_t length() const noexcept { return length_.load(std::memory_order_relaxed); }
  std::size_t bytes() const noexcept { return memory_.size(); }
  /// Bytes of the first `length` positions, and of all positions of states that are not appended
  /// to at the length.
  std::size_t bytes_below(std::int64_t length) const;

  // For the run that has its turn.
  std::span<const std::int64_t> symbols() const noexcept { return symbols_; }
  std::span<void* const> pointers() const noexcept { return pointers_; }
  /// Views of the states, in the model's order.
  std::vector<Tensor> tensors() const;

 private:
  /// A state as rows of bytes: `blocks` times `positions` times `position_bytes`.
  struct Layout {
    Shape shape;
    std::int64_t blocks = 1, positions = 1;
    std::size_t position_bytes = 0, bytes = 0;
    bool at_length = false;
  };
  void lay_out();
  void set_length(std::int64_t length);
  /// Zeroes positions [first, last) of the states that are appended to at the length.
  void clear(std::int64_t first, std::int64_t last);

  std::shared_ptr<const Model> model_;
  const graph::Module& module_;
  std::vector<std::int64_t> symbols_;  ///< by symbol; the length's is in its place
  std::vector<Layout> layouts_;
  MemoryBlock memory_;
  std::vector<void*> pointers_;
  std::atomic<std::int64_t> length_{0};
  std::atomic<bool> busy_{false};
  bool held_ = false;
};

}  // namespace dyn::runtime
