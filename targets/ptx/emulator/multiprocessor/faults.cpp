// The texts of reports.

#include <algorithm>

#include "targets/ptx/emulator/multiprocessor/multiprocessor.hpp"

namespace dyn::ptx::emulation {

void Multiprocessor::begin_report(Fault fault, const Thread& thread, std::uint32_t site) {
  report_.emplace();
  report_->fault = fault;
  report_->kernel = name_;
  report_->block = here_->index;
  report_->thread = thread.thread;
  report_->instruction = kernel_->texts[kernel_->sites[site].text];
}

void Multiprocessor::stop() {
  transfer(host_);
  __builtin_unreachable();  // abandon_fibers() begins this stack anew
}

std::string Multiprocessor::other_of(const Conflict& conflict) const {
  if (conflict.other_block)
    return conflict.agent < 0
               ? "a thread of another block"
               : fmt::format("thread {} of block {}", here_->clocks.thread_of(conflict.agent),
                             conflict.block);
  if (conflict.agent < 0) return "another thread";
  const char* whose =
      here_->clocks.thread_of(conflict.agent) == conflict.agent ? "" : "an asynchronous copy of ";
  return fmt::format("{}thread {}", whose, here_->clocks.thread_of(conflict.agent));
}

void Multiprocessor::note_global(const Thread& thread, std::uint32_t site, const char* verb,
                                 const char* address, std::uint32_t bytes) {
  const Conflict& conflict = global_shadow_.conflict();
  const std::string place = global_shadow_.place_of(reinterpret_cast<std::uintptr_t>(address));
  if (conflict.fault == Fault::Race) {
    return note(Fault::Race, thread, site, "{} {} bytes at {}, which {}{} without {} in between",
                verb, bytes, place, other_of(conflict), conflict.what,
                conflict.other_block ? "a fence, an atomic operation and a fence" : "a barrier");
  }
  note(conflict.fault, thread, site, "{} {} bytes at {}: {}", verb, bytes, place, conflict.what);
}

void Multiprocessor::note_shared(const Thread& thread, std::uint32_t site, const char* verb,
                                 std::uint32_t offset, std::uint32_t bytes) {
  const Conflict& conflict = here_->shared_shadow.conflict();
  const std::string access =
      fmt::format("{} {} bytes at byte {} of shared memory; byte {}", verb, bytes, offset,
                  here_->shared_shadow.offset_of(conflict.cell));
  switch (conflict.fault) {
    case Fault::Race:
      return note(Fault::Race, thread, site, "{}: {}{} it without a barrier in between", access,
                  other_of(conflict), conflict.what);
    case Fault::BeforeWait:
      return note(Fault::BeforeWait, thread, site, "{}: {}{}", access, other_of(conflict),
                  conflict.what);
    case Fault::Uninitialised:
      return note(Fault::Uninitialised, thread, site, "{}: {}", access, conflict.what);
    default: return note(conflict.fault, thread, site, "{} {}", access, conflict.what);
  }
}

void Multiprocessor::fail_global(const Thread& thread, std::uint32_t site, const char* verb,
                                 const char* address, std::uint32_t bytes) {
  note_global(thread, site, verb, address, bytes);
  stop();
}

void Multiprocessor::fail_shared(const Thread& thread, std::uint32_t site, const char* verb,
                                 std::uint32_t offset, std::uint32_t bytes) {
  note_shared(thread, site, verb, offset, bytes);
  stop();
}

void Multiprocessor::fail_alignment(const Thread& thread, std::uint32_t site, const char* verb,
                                    const char* address, std::uint32_t alignment) {
  if (in_shared(address, 1))
    note(Fault::Misaligned, thread, site, "{} at byte {} of shared memory, not a multiple of {}",
         verb, shared_offset(address), alignment);
  else
    note(Fault::Misaligned, thread, site, "{} at {}, not a multiple of {}", verb,
         static_cast<const void*>(address), alignment);
  stop();
}

void Multiprocessor::fail_outside(const Thread& thread, std::uint32_t site, const char* verb,
                                  const char* address, std::uint32_t bytes) {
  note(Fault::OutOfBounds, thread, site, "{} {} bytes at byte {} of the {} bytes of shared memory",
       verb, bytes, address - here_->shared, shared_bytes_);
  stop();
}

std::string Multiprocessor::who_waits(const ResidentBlock& block) const {
  std::string text;
  for (int begin = 0; begin < thread_count_;) {
    const Thread& first = block.threads[static_cast<std::size_t>(begin)];
    const auto alike = [&](const Thread& other) {
      return other.waiting == first.waiting &&
             (first.waiting == Waiting::Ended ||
              (other.site == first.site && other.awaited == first.awaited &&
               other.asked == first.asked));
    };
    int end = begin + 1;
    while (end < thread_count_ && alike(block.threads[static_cast<std::size_t>(end)])) ++end;
    text += text.empty() ? "" : "; ";
    text += end == begin + 1 ? fmt::format("thread {} ", begin)
                             : fmt::format("threads {} to {} ", begin, end - 1);
    if (first.waiting == Waiting::Ended)
      text += "ended";
    else
      text += "wait at: " + kernel_->texts[kernel_->sites[first.site].text];
    if (first.waiting == Waiting::Phase)
      text += fmt::format(" (the mbarrier at byte {})", first.awaited);
    if (first.waiting == Waiting::Global) {
      text += fmt::format(" (for {} to change)",
                          global_shadow_.place_of(reinterpret_cast<std::uintptr_t>(first.asked)));
    }
    if (first.waiting == Waiting::Warp) text += fmt::format(" (lanes {:#010x})", first.awaited);
    begin = end;
    constexpr std::size_t long_enough = 1000;
    if (text.size() > long_enough && end < thread_count_) return text + "; ...";
  }
  return text;
}

/// All threads wait. Lanes that wait for others of their warp are named first: the others have
/// taken another branch.
void Multiprocessor::note_stuck() {
  const Thread* who = nullptr;
  for (int i = thread_count_ - 1; i >= 0; --i) {
    const Thread& thread = here_->threads[static_cast<std::size_t>(i)];
    if (thread.waiting == Waiting::Ended) continue;
    if (who == nullptr || thread.waiting == Waiting::Warp || who->waiting != Waiting::Warp)
      who = &thread;
  }
  const bool divergence = who->waiting == Waiting::Warp;
  note(divergence ? Fault::Divergence : Fault::Deadlock, *who, who->site, "{}: {}",
       divergence ? "lanes of the mask do not come here" : "no thread can go on",
       who_waits(*here_));
}

/// All blocks that have begun wait for others.
void Multiprocessor::note_blocks_stuck(std::size_t not_begun, std::size_t most_resident) {
  constexpr std::size_t most_named = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(waiting_.size(), most_named); ++i)
    text += fmt::format("; block {}: {}", waiting_[i]->index, who_waits(*waiting_[i]));
  if (waiting_.size() > most_named)
    text += fmt::format("; {} more blocks", waiting_.size() - most_named);
  if (not_begun > 0)
    text +=
        fmt::format("; {} blocks cannot begin before others end: the GPU has room for {} at once",
                    not_begun, most_resident);
  here_ = waiting_.front();
  const Thread& who = *std::ranges::find(here_->threads, Waiting::Global, &Thread::waiting);
  note(Fault::Deadlock, who, who.site, "no block can go on{}", text);
}

}  // namespace dyn::ptx::emulation
