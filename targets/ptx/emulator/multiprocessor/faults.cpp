// The texts of reports.

#include "targets/ptx/emulator/multiprocessor/multiprocessor.hpp"

namespace dyn::ptx::emulation {

void Multiprocessor::begin_report(Fault fault, const Thread& thread, std::uint32_t site) {
  report_.emplace();
  report_->fault = fault;
  report_->kernel = name_;
  report_->block = block_;
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
               : fmt::format("thread {} of another block", clocks_.thread_of(conflict.agent));
  if (conflict.agent < 0) return "another thread";
  const char* whose =
      clocks_.thread_of(conflict.agent) == conflict.agent ? "" : "an asynchronous copy of ";
  return fmt::format("{}thread {}", whose, clocks_.thread_of(conflict.agent));
}

void Multiprocessor::note_global(const Thread& thread, std::uint32_t site, const char* verb,
                                 const char* address, std::uint32_t bytes) {
  const Conflict& conflict = global_shadow_.conflict();
  const std::string place = global_shadow_.place_of(reinterpret_cast<std::uintptr_t>(address));
  if (conflict.fault == Fault::Race) {
    return note(Fault::Race, thread, site,
                "{} {} bytes at {}, which {}{} without a barrier in between", verb, bytes, place,
                other_of(conflict), conflict.what);
  }
  note(conflict.fault, thread, site, "{} {} bytes at {}: {}", verb, bytes, place, conflict.what);
}

void Multiprocessor::note_shared(const Thread& thread, std::uint32_t site, const char* verb,
                                 std::uint32_t offset, std::uint32_t bytes) {
  const Conflict& conflict = shared_shadow_.conflict();
  const std::string access = fmt::format("{} {} bytes at byte {} of shared memory; byte {}", verb,
                                         bytes, offset, shared_shadow_.offset_of(conflict.cell));
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
       verb, bytes, address - shared_, shared_bytes_);
  stop();
}

std::string Multiprocessor::who_waits() const {
  std::string text;
  for (int begin = 0; begin < thread_count_;) {
    const Thread& first = threads_[static_cast<std::size_t>(begin)];
    const auto alike = [&](const Thread& other) {
      return other.waiting == first.waiting &&
             (first.waiting == Waiting::Ended ||
              (other.site == first.site && other.awaited == first.awaited));
    };
    int end = begin + 1;
    while (end < thread_count_ && alike(threads_[static_cast<std::size_t>(end)])) ++end;
    text += text.empty() ? "" : "; ";
    text += end == begin + 1 ? fmt::format("thread {} ", begin)
                             : fmt::format("threads {} to {} ", begin, end - 1);
    if (first.waiting == Waiting::Ended)
      text += "ended";
    else
      text += "wait at: " + kernel_->texts[kernel_->sites[first.site].text];
    if (first.waiting == Waiting::Phase)
      text += fmt::format(" (the mbarrier at byte {})", first.awaited);
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
    const Thread& thread = threads_[static_cast<std::size_t>(i)];
    if (thread.waiting == Waiting::Ended) continue;
    if (who == nullptr || thread.waiting == Waiting::Warp || who->waiting != Waiting::Warp)
      who = &thread;
  }
  const bool divergence = who->waiting == Waiting::Warp;
  note(divergence ? Fault::Divergence : Fault::Deadlock, *who, who->site, "{}: {}",
       divergence ? "lanes of the mask do not come here" : "no thread can go on", who_waits());
}

}  // namespace dyn::ptx::emulation
