// Operations of a warp: the lanes of the mask meet at one instruction; the last to come executes it
// for all.

#include <algorithm>
#include <bit>

#include "targets/ptx/emulator/multiprocessor/multiprocessor.hpp"

namespace dyn::ptx::emulation {

/// The meeting that the thread joins; begins it where the thread is the first.
Rendezvous& Multiprocessor::rendezvous(Thread& thread, std::uint32_t site, std::uint32_t mask) {
  Warp& warp = warp_of(thread);
  const int first = thread.thread - thread.lane,
            lanes = std::min(warp_lanes, thread_count_ - first);
  const std::uint32_t existing = lanes == warp_lanes ? ~0u : (1u << lanes) - 1;
  if ((mask & lane_bit(thread)) == 0) {
    note(Fault::Divergence, thread, site, "is not one of the lanes of the mask {:#010x}", mask);
    stop();
  }
  if ((mask & ~existing) != 0 || (mask & warp.ended) != 0) {
    note(Fault::Divergence, thread, site, "of the lanes of the mask {:#010x}, {:#010x} {}", mask,
         mask & ((mask & ~existing) != 0 ? ~existing : warp.ended),
         (mask & ~existing) != 0 ? "do not exist" : "have ended");
    stop();
  }
  for (Rendezvous& other : warp.pending) {
    if ((other.mask & mask) == 0) continue;
    if (other.site == site && other.mask == mask) return other;
    note(Fault::Divergence, thread, site,
         "comes here for the lanes {:#010x}, while lanes {:#010x} wait for the lanes {:#010x} at: "
         "{}",
         mask, other.arrived, other.mask, kernel_->texts[kernel_->sites[other.site].text]);
    stop();
  }
  return warp.pending.emplace_back(Rendezvous{site, mask, 0});
}

void Multiprocessor::together(Thread& thread, std::uint32_t site, Op op, std::uint32_t mask) {
  Rendezvous& meeting = rendezvous(thread, site, mask);
  meeting.arrived |= lane_bit(thread);
  if (meeting.arrived != mask) return wait(thread, Waiting::Warp, site, mask);
  std::vector<Rendezvous>& pending = warp_of(thread).pending;
  meeting = pending.back();
  pending.pop_back();
  thread.site = site;
  Thread* lanes = &thread - thread.lane;
  perform(op, lanes, mask);
  for (std::uint32_t left = mask & ~lane_bit(thread); left != 0; left &= left - 1)
    wake(lanes[std::countr_zero(left)]);
}

void Multiprocessor::perform(Op op, Thread* lanes, std::uint32_t mask) {
  switch (op) {
    case Op::WarpSync: {
      std::array<int, warp_lanes> threads;
      std::size_t count = 0;
      for (std::uint32_t left = mask; left != 0; left &= left - 1)
        threads[count++] = lanes[std::countr_zero(left)].thread;
      ++counts_.barriers;
      return here_->clocks.join(std::span(threads).first(count));
    }
    case Op::Ballot: {
      std::uint32_t ballot = 0;
      for (std::uint32_t left = mask; left != 0; left &= left - 1) {
        const int lane = std::countr_zero(left);
        ballot |= (lanes[lane].operands[0] & 1u) << lane;
      }
      for (std::uint32_t left = mask; left != 0; left &= left - 1)
        lanes[std::countr_zero(left)].results[0] = ballot;
      return;
    }
    case Op::MmaF16:
    case Op::MmaBf16:
    case Op::MmaTf32:
    case Op::MmaU8U8:
    case Op::MmaU8I8:
    case Op::MmaI8U8:
    case Op::MmaI8I8: return perform_multiply(op, lanes);
    case Op::ShuffleBfly:
    case Op::ShuffleDown:
    case Op::ShuffleIndex: return perform_shuffle(op, lanes, mask);
    default: return perform_load_matrix(op, lanes);
  }
}

void Multiprocessor::perform_shuffle(Op op, Thread* lanes, std::uint32_t mask) {
  for (std::uint32_t left = mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    Thread& thread = lanes[lane];
    const int source = shuffle_source(op, lane, thread.operands[1], thread.operands[2]);
    if ((mask >> source & 1u) == 0) {
      note(Fault::Divergence, thread, thread.site,
           "reads lane {}, which is not one of the mask {:#010x}", source, mask);
      stop();
    }
    thread.results[0] = lanes[source].operands[0];
  }
}

void Multiprocessor::perform_load_matrix(Op op, Thread* lanes) {
  constexpr std::uint32_t row_bytes = 16;
  const bool transposed = op == Op::LoadMatrix2Trans || op == Op::LoadMatrix4Trans;
  const int matrices = op == Op::LoadMatrix1                                 ? 1
                       : op == Op::LoadMatrix2 || op == Op::LoadMatrix2Trans ? 2
                                                                             : 4;
  std::array<const char*, warp_lanes> rows = {};
  for (int lane = 0; lane < 8 * matrices; ++lane) {
    Thread& thread = lanes[lane];
    const std::uint64_t offset =
        std::uint64_t{thread.operands[0]} | std::uint64_t{thread.operands[1]} << 32;
    const char* row = here_->shared + static_cast<std::int64_t>(offset);
    if (offset % row_bytes != 0) fail_alignment(thread, thread.site, "reads a row", row, row_bytes);
    if (!in_shared(row, row_bytes))
      fail_outside(thread, thread.site, "reads a row of", row, row_bytes);
    if (!here_->shared_shadow.read(here_->clocks, thread.thread, shared_offset(row), row_bytes))
      fail_shared(thread, thread.site, "reads a row of", shared_offset(row), row_bytes);
    rows[static_cast<std::size_t>(lane)] = row;
  }
  counts_.loads += 8 * matrices;
  if (meter_) {
    std::array<std::uint64_t, warp_lanes> offsets = {};
    for (std::size_t row = 0; row < rows.size(); ++row) offsets[row] = shared_offset(rows[row]);
    meter_->matrices(lanes[0].site,
                     std::span(offsets).first(static_cast<std::size_t>(8 * matrices)));
  }
  for (int lane = 0; lane < warp_lanes; ++lane) {
    for (int matrix = 0; matrix < matrices; ++matrix)
      lanes[lane].results[matrix] = matrix_fragment(transposed, lane, rows, matrix);
  }
}

void Multiprocessor::perform_multiply(Op op, Thread* lanes) {
  ++counts_.mmas;
  std::array<LaneOperands, warp_lanes> operands;
  std::array<std::array<std::uint32_t, 4>, warp_lanes> results;
  for (std::size_t lane = 0; lane < warp_lanes; ++lane) operands[lane] = lanes[lane].operands;
  multiply(op, operands, results);
  for (std::size_t lane = 0; lane < warp_lanes; ++lane)
    std::ranges::copy(results[lane], std::begin(lanes[lane].results));
}

}  // namespace dyn::ptx::emulation
