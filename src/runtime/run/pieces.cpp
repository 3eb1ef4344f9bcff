#include "src/runtime/run/pieces.hpp"

#include <algorithm>
#include <limits>

#include "src/runtime/run/tickets.hpp"

namespace dyn::runtime {
namespace {

/// Tickets that nobody knows the time of are worth this many.
std::int64_t tickets_in_time(double ticket_seconds) {
  constexpr double most = 1 << 20;
  if (!(ticket_seconds > 0)) return 1;
  return static_cast<std::int64_t>(std::clamp(Pieces::piece_seconds / ticket_seconds, 1.0, most));
}

}  // namespace

Pieces::Pieces(const RunControl& control, double ticket_seconds)
    : control_(&control), first_piece_(tickets_in_time(ticket_seconds)) {}

void Pieces::run(const Stage& stage, std::int64_t first, std::int64_t count,
                 std::byte* scratch) const {
  std::atomic<std::int32_t>& status = *stage.args->status;
  std::int64_t piece = first_piece_;
  Clock::time_point start = Clock::now();
  while (count > 0 && status.load(std::memory_order_relaxed) == 0) {
    if (control_->ends(start)) {
      std::int32_t ok = 0;
      status.compare_exchange_strong(ok, static_cast<std::int32_t>(status_ended));
      return;
    }
    const std::int64_t tickets = std::min(piece, count);
    stage.function(stage.args, first, tickets, scratch);
    first += tickets;
    count -= tickets;
    const Clock::time_point end = Clock::now();
    const double seconds = std::chrono::duration<double>(end - start).count();
    start = end;
    if (seconds < piece_seconds / 2)
      piece = std::min(2 * piece, std::numeric_limits<std::int64_t>::max() / 4);
    else if (seconds > 2 * piece_seconds)
      piece = std::max<std::int64_t>(piece / 2, 1);
  }
}

}  // namespace dyn::runtime
