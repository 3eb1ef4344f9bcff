// barrier.sync.

#include <algorithm>

#include "targets/ptx/emulator/multiprocessor/multiprocessor.hpp"

namespace dyn::ptx::emulation {

void Multiprocessor::block_barrier(Thread& thread, std::uint32_t site) {
  if (here_->at_block_barrier > 0 && here_->block_barrier_site != site) {
    note(Fault::Divergence, thread, site,
         "comes to this barrier while {} threads wait at another place: {}",
         here_->at_block_barrier, kernel_->texts[kernel_->sites[here_->block_barrier_site].text]);
    stop();
  }
  here_->block_barrier_site = site;
  if (++here_->at_block_barrier < thread_count_) return wait(thread, Waiting::Block, site, 0);
  ++counts_.barriers;
  here_->at_block_barrier = 0;
  here_->clocks.block_barrier();
  for (int i = 0; i < thread_count_; ++i) {
    if (i != thread.thread) wake(here_->threads[static_cast<std::size_t>(i)]);
  }
}

void Multiprocessor::named_barrier(Thread& thread, std::uint32_t site, std::uint32_t number,
                                   std::uint32_t expected) {
  if (number == 0 || number >= here_->named.size() || expected == 0 || expected % warp_lanes != 0 ||
      static_cast<int>(expected) > thread_count_) {
    note(Fault::Barrier, thread, site,
         "barrier {} for {} threads: barriers are 1 to 15, threads a multiple of {} and at most "
         "the block's {}",
         number, expected, warp_lanes, thread_count_);
    stop();
  }
  NamedBarrier& barrier = here_->named[number];
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
    here_->clocks.block_barrier();
  else
    here_->clocks.join(barrier.arrived);
  for (const int other : barrier.arrived) {
    if (other != thread.thread) wake(here_->threads[static_cast<std::size_t>(other)]);
  }
  barrier.arrived.clear();
}

}  // namespace dyn::ptx::emulation
