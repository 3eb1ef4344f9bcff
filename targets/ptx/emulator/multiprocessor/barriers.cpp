// barrier.sync.

#include <algorithm>

#include "targets/ptx/emulator/multiprocessor/multiprocessor.hpp"

namespace dyn::ptx::emulation {

void Multiprocessor::block_barrier(Thread& thread, std::uint32_t site) {
  if (at_block_barrier_ > 0 && block_barrier_site_ != site) {
    note(Fault::Divergence, thread, site,
         "comes to this barrier while {} threads wait at another place: {}", at_block_barrier_,
         kernel_->texts[kernel_->sites[block_barrier_site_].text]);
    stop();
  }
  block_barrier_site_ = site;
  if (++at_block_barrier_ < thread_count_) return wait(thread, Waiting::Block, site, 0);
  ++counts_.barriers;
  at_block_barrier_ = 0;
  clocks_.block_barrier();
  for (int i = 0; i < thread_count_; ++i) {
    if (i != thread.thread) wake(threads_[static_cast<std::size_t>(i)]);
  }
}

void Multiprocessor::named_barrier(Thread& thread, std::uint32_t site, std::uint32_t number,
                                   std::uint32_t expected) {
  if (number == 0 || number >= named_.size() || expected == 0 || expected % warp_lanes != 0 ||
      static_cast<int>(expected) > thread_count_) {
    note(Fault::Barrier, thread, site,
         "barrier {} for {} threads: barriers are 1 to 15, threads a multiple of {} and at most "
         "the block's {}",
         number, expected, warp_lanes, thread_count_);
    stop();
  }
  NamedBarrier& barrier = named_[number];
  if (!barrier.arrived.empty() && barrier.expected != static_cast<int>(expected)) {
    note(Fault::Barrier, thread, site,
         "expects {} threads at barrier {}, where thread {} expects {}", expected, number,
         barrier.arrived.front(), barrier.expected);
    stop();
  }
  barrier.expected = static_cast<int>(expected);
  barrier.arrived.push_back(thread.thread);
  if (static_cast<int>(barrier.arrived.size()) < barrier.expected)
    return wait(thread, Waiting::Named, site, number);
  ++counts_.barriers;
  if (barrier.expected == thread_count_)
    clocks_.block_barrier();
  else
    clocks_.join(barrier.arrived);
  for (const int other : barrier.arrived) {
    if (other != thread.thread) wake(threads_[static_cast<std::size_t>(other)]);
  }
  barrier.arrived.clear();
}

}  // namespace dyn::ptx::emulation
