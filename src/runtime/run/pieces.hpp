#pragma once
// A stage of a run that may end early: its tickets in pieces, between which its threads look.

#include <cstddef>
#include <cstdint>

#include "src/rkernel/target/target.hpp"
#include "src/runtime/run/run_control.hpp"

namespace dyn::runtime {

struct Stage;

/// KernelArgs::status of a run that was ended early: not a kernel's code.
inline constexpr auto status_ended = static_cast<rkernel::Status>(-1);

/// The threads of a stage share it, and only read. A ticket that is left out must not be one that
/// another thread's ticket waits for.
class Pieces {
 public:
  /// The time of a piece, as long as tickets are short enough for it.
  static constexpr double piece_seconds = 100e-6;

  Pieces() = default;
  /// `ticket_seconds`: of one thread, as predicted; 0: unknown. It says how large the first piece
  /// is; the others follow what pieces take.
  Pieces(const RunControl& control, double ticket_seconds);

  /// Carries out tickets [first, first + count), or those of the first pieces alone where the run
  /// ends: then the stage's status is status_ended, if it was Ok.
  void run(const Stage& stage, std::int64_t first, std::int64_t count, std::byte* scratch) const;

 private:
  const RunControl* control_ = nullptr;
  std::int64_t first_piece_ = 1;
};

}  // namespace dyn::runtime
