// Asynchronous copies and mbarriers: the accesses that they order, and those that they do not.

#include <doctest/doctest.h>

#include "tests/unit/ptx/emulator/fixture.hpp"

using namespace dyn;
using namespace dyn::test;
using ptx::Fault;

namespace {

std::vector<std::int32_t> numbers(std::size_t count) {
  std::vector<std::int32_t> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<std::int32_t>(7 * i + 3);
  return values;
}

const std::string wait_all = "call void @dyn.dev.cp.async.wait_group(i32 0)";
const std::string commit = "call void @dyn.dev.cp.async.commit_group()";

/// 64 threads copy a word each, and read that of their neighbour's neighbour.
const KernelText copying{64, 256, 2, R"(
  %g = getelementptr i32, ptr addrspace(1) %p0, i32 %t
  %s = getelementptr i32, ptr addrspace(3) %shared, i32 %t
  call void @dyn.dev.cp.async.ca.shared.global.4(ptr addrspace(3) %s, ptr addrspace(1) %g, i32 4)
  call void @dyn.dev.cp.async.commit_group()
  call void @dyn.dev.cp.async.wait_group(i32 0)
  call void @dyn.dev.barrier.sync()
  %n = xor i32 %t, 62
  %q = getelementptr i32, ptr addrspace(3) %shared, i32 %n
  %x = load i32, ptr addrspace(3) %q, align 4
  %o = getelementptr i32, ptr addrspace(1) %p1, i32 %t
  store i32 %x, ptr addrspace(1) %o, align 4
  ret void)"};

/// Thread 0 makes an mbarrier for all 64; each copies a word, arrives, waits for the phase, and
/// reads another one's word.
const KernelText tracked{64, 384, 2, R"(
  %first = icmp eq i32 %t, 0
  br i1 %first, label %init, label %ready
init:
  call void @dyn.dev.mbarrier.init(ptr addrspace(3) %shared, i32 64)
  br label %ready
ready:
  call void @dyn.dev.barrier.sync()
  %i = add i32 %t, 32
  %g = getelementptr i32, ptr addrspace(1) %p0, i32 %t
  %s = getelementptr i32, ptr addrspace(3) %shared, i32 %i
  call void @dyn.dev.cp.async.ca.shared.global.4(ptr addrspace(3) %s, ptr addrspace(1) %g, i32 4)
  call void @dyn.dev.cp.async.mbarrier.arrive.noinc(ptr addrspace(3) %shared)
  br label %ask
ask:
  %done = call i1 @dyn.dev.mbarrier.test_wait.parity(ptr addrspace(3) %shared, i32 0)
  br i1 %done, label %go, label %ask
go:
  %partner = xor i32 %t, 62
  %n = add i32 %partner, 32
  %q = getelementptr i32, ptr addrspace(3) %shared, i32 %n
  %x = load i32, ptr addrspace(3) %q, align 4
  %o = getelementptr i32, ptr addrspace(1) %p1, i32 %t
  store i32 %x, ptr addrspace(1) %o, align 4
  ret void)"};

/// The same with plain stores and arrivals, in two phases.
const KernelText phases{64, 384, 2, R"(
  %first = icmp eq i32 %t, 0
  br i1 %first, label %init, label %ready
init:
  call void @dyn.dev.mbarrier.init(ptr addrspace(3) %shared, i32 64)
  br label %ready
ready:
  call void @dyn.dev.barrier.sync()
  %i = add i32 %t, 32
  %s = getelementptr i32, ptr addrspace(3) %shared, i32 %i
  %partner = xor i32 %t, 62
  %n = add i32 %partner, 32
  %q = getelementptr i32, ptr addrspace(3) %shared, i32 %n
  store i32 %t, ptr addrspace(3) %s, align 4
  %state = call i64 @dyn.dev.mbarrier.arrive(ptr addrspace(3) %shared)
  br label %ask
ask:
  %done = call i1 @dyn.dev.mbarrier.test_wait.parity(ptr addrspace(3) %shared, i32 0)
  br i1 %done, label %go, label %ask
go:
  %x = load i32, ptr addrspace(3) %q, align 4
  %state2 = call i64 @dyn.dev.mbarrier.arrive(ptr addrspace(3) %shared)
  br label %again
again:
  %done2 = call i1 @dyn.dev.mbarrier.test_wait.parity(ptr addrspace(3) %shared, i32 1)
  br i1 %done2, label %last, label %again
last:
  store i32 %x, ptr addrspace(3) %s, align 4
  %o = getelementptr i32, ptr addrspace(1) %p1, i32 %t
  store i32 %x, ptr addrspace(1) %o, align 4
  ret void)"};

}  // namespace

TEST_CASE("emulator copies: wait, then barrier") {
  std::vector<std::int32_t> in = numbers(64), out(64);
  check_clean(copying, {read_buffer(in), written_buffer(out)});
  for (std::size_t i = 0; i < 64; ++i) CHECK(out[i] == in[i ^ 62]);
  const auto faults = [&](const KernelText& kernel, Fault fault, const char* where) {
    check_fault(kernel, fault, where, {read_buffer(in), written_buffer(out)});
  };
  faults(copying.with(wait_all, "").with("xor i32 %t, 62", "xor i32 %t, 0"), Fault::BeforeWait,
         "%x = load");
  faults(copying.with(wait_all, wait_all + " ; one group may be left").with("i32 0) ;", "i32 1) ;"),
         Fault::BeforeWait, "%x = load");
  faults(copying.with(commit, ""), Fault::BeforeWait, "%x = load");
  // Another thread's copy, whose wait no barrier orders.
  faults(copying.with(barrier, ""), Fault::Uninitialised, "%x = load");
  faults(copying.with(barrier, "").with("xor i32 %t, 62", "lshr i32 %t, 1"), Fault::Race,
         "%x = load");
  // The writer overwrites bytes whose copy is in flight.
  faults(copying.with(wait_all, "store i32 1, ptr addrspace(3) %s, align 4\n  " + wait_all),
         Fault::BeforeWait, "store i32 1");
  faults(copying.with(commit, "").with(wait_all, "ret void\nunreached:"), Fault::Unfinished,
         "cp.async.ca");
  // Half of the bytes are zeros; more than all cannot be.
  check_clean(copying.with("i32 4)", "i32 2)"), {read_buffer(in), written_buffer(out)});
  for (std::size_t i = 0; i < 64; ++i) CHECK(out[i] == (in[i ^ 62] & 0xFFFF));
  check_clean(copying.with("i32 4)", "i32 0)").with("%p0, i32 %t", "%p0, i32 -5"),
              {read_buffer(in), written_buffer(out)});
  for (std::size_t i = 0; i < 64; ++i) CHECK(out[i] == 0);
  faults(copying.with("i32 4)", "i32 5)"), Fault::OutOfBounds, "cp.async.ca");
  faults(copying.with("%p0, i32 %t", "%p0, i32 64"), Fault::OutOfBounds, "cp.async.ca");
  faults(copying.with("%shared, i32 %t", "%shared, i32 64"), Fault::OutOfBounds, "cp.async.ca");
  faults(copying.with("ca.shared.global.4(", "cg.shared.global.16("), Fault::Misaligned,
         "cp.async.cg");
  // Two threads copy to one place, one after the other's wait, or before it.
  faults(copying.with("%shared, i32 %t", "%shared, i32 0"), Fault::Race, "cp.async.ca");
  faults(
      copying.with("%shared, i32 %t", "%shared, i32 0").with(wait_all, barrier + "\n  " + wait_all),
      Fault::BeforeWait, "cp.async.ca");
}

TEST_CASE("emulator copies: groups") {
  const KernelText kernel{1, 64, 2, R"(
  %g1 = getelementptr i32, ptr addrspace(1) %p0, i32 4
  %s1 = getelementptr i32, ptr addrspace(3) %shared, i32 4
  call void @dyn.dev.cp.async.cg.shared.global.16(ptr addrspace(3) %shared, ptr addrspace(1) %p0, i32 16)
  call void @dyn.dev.cp.async.commit_group()
  call void @dyn.dev.cp.async.ca.shared.global.8(ptr addrspace(3) %s1, ptr addrspace(1) %g1, i32 8)
  call void @dyn.dev.cp.async.commit_group()
  call void @dyn.dev.cp.async.wait_group(i32 1)
  %q = getelementptr i32, ptr addrspace(3) %shared, i32 3
  %x = load i32, ptr addrspace(3) %q, align 4
  call void @dyn.dev.cp.async.wait_group(i32 0)
  %r = getelementptr i32, ptr addrspace(3) %shared, i32 5
  %y = load i32, ptr addrspace(3) %r, align 4
  store i32 %x, ptr addrspace(1) %p1, align 4
  %o = getelementptr i32, ptr addrspace(1) %p1, i32 1
  store i32 %y, ptr addrspace(1) %o, align 4
  ret void)"};
  std::vector<std::int32_t> in = numbers(6), out(2);
  check_clean(kernel, {read_buffer(in), written_buffer(out)});
  CHECK(out[0] == in[3]);
  CHECK(out[1] == in[5]);
  check_fault(kernel.with("i32 3\n", "i32 4\n"), Fault::BeforeWait, "%x = load",
              {read_buffer(in), written_buffer(out)});
  check_fault(kernel.with("wait_group(i32 1)", "wait_group(i32 2)"), Fault::BeforeWait, "%x = load",
              {read_buffer(in), written_buffer(out)});
}

TEST_CASE("emulator mbarriers: phases") {
  std::vector<std::int32_t> in = numbers(64), out(64);
  check_clean(phases, {read_buffer(in), written_buffer(out)});
  for (std::size_t i = 0; i < 64; ++i) CHECK(out[i] == static_cast<std::int32_t>(i ^ 62));
  const auto faults = [&](const KernelText& kernel, Fault fault, const char* where) {
    check_fault(kernel, fault, where, {read_buffer(in), written_buffer(out)});
  };
  // The parity of the phase before is complete at once: nothing is ordered.
  faults(phases.with("%shared, i32 0)", "%shared, i32 1)"), Fault::Uninitialised, "%x = load");
  faults(phases.with("%shared, i32 1)", "%shared, i32 0)"), Fault::Race, "");
  // The answer "not yet" is not heeded.
  faults(phases.with("br i1 %done2, label %last, label %again", "br label %last"), Fault::Race, "");
  // The phase that is awaited never ends.
  faults(phases.with("shared, i32 64)", "shared, i32 65)"), Fault::Deadlock, "test_wait");
  faults(phases.with("shared, i32 64)", "shared, i32 63)"), Fault::Race, "%x = load");
  faults(phases.with("shared, i32 64)", "shared, i32 0)"), Fault::Barrier, "mbarrier.init");
  faults(phases.with("call void @dyn.dev.mbarrier.init(ptr addrspace(3) %shared, i32 64)", ""),
         Fault::Barrier, "mbarrier.arrive");
  faults(phases.with(barrier, ""), Fault::Race, "mbarrier.arrive");
  faults(phases.with("store i32 %t, ptr addrspace(3) %s", "store i32 %t, ptr addrspace(3) %shared"),
         Fault::Barrier, "store i32 %t");
  faults(phases.with("ready:", "ready:\n  %peek = load i32, ptr addrspace(3) %shared, align 4"),
         Fault::Barrier, "%peek = load");
  faults(phases.with("%state = ",
                     "%z = getelementptr i8, ptr addrspace(3) %shared, i32 4\n  %early = call i64 "
                     "@dyn.dev.mbarrier.arrive(ptr "
                     "addrspace(3) %z)\n  %state = "),
         Fault::Misaligned, "%early");
}

TEST_CASE("emulator mbarriers: arrivals that follow copies") {
  std::vector<std::int32_t> in = numbers(64), out(64);
  check_clean(tracked, {read_buffer(in), written_buffer(out)});
  for (std::size_t i = 0; i < 64; ++i) CHECK(out[i] == in[i ^ 62]);
  const auto faults = [&](const KernelText& kernel, Fault fault, const char* where) {
    check_fault(kernel, fault, where, {read_buffer(in), written_buffer(out)});
  };
  const std::string follow =
      "call void @dyn.dev.cp.async.mbarrier.arrive.noinc(ptr addrspace(3) %shared)";
  faults(tracked.with("%shared, i32 0)\n  br", "%shared, i32 1)\n  br"), Fault::Uninitialised,
         "%x = load");
  faults(tracked.with("%shared, i32 0)\n  br", "%shared, i32 1)\n  br")
             .with("xor i32 %t, 62", "xor i32 %t, 0"),
         Fault::BeforeWait, "%x = load");
  // A plain arrival says nothing about the copy.
  faults(
      tracked.with(follow, "%state = call i64 @dyn.dev.mbarrier.arrive(ptr addrspace(3) %shared)"),
      Fault::BeforeWait, "%x = load");
  // Both: twice as many arrivals as the barrier expects.
  const std::string both =
      follow + "\n  %state = call i64 @dyn.dev.mbarrier.arrive(ptr addrspace(3) %shared)";
  faults(tracked.with(follow, both), Fault::Barrier, "");
  check_clean(tracked.with(follow, both).with("i32 64)", "i32 128)"),
              {read_buffer(in), written_buffer(out)});
  // The copy's arrival does not cover what the thread wrote itself.
  const std::string own =
      "%s2 = getelementptr i32, ptr addrspace(3) %s, i32 0\n  store i32 9, ptr addrspace(3) %s2, "
      "align 4\n  " +
      follow;
  const KernelText mixed = tracked.with(
      "call void @dyn.dev.cp.async.ca.shared.global.4(ptr addrspace(3) %s, ptr addrspace(1) %g, "
      "i32 4)",
      "%far = getelementptr i32, ptr addrspace(3) %s, i32 64\n"
      "  call void @dyn.dev.cp.async.ca.shared.global.4(ptr addrspace(3) %far, ptr addrspace(1) "
      "%g, i32 4)");
  KernelText larger = mixed.with(follow, own);
  larger.shared_bytes = 640;
  faults(larger, Fault::Race, "%x = load");
  // Nobody waits.
  faults(
      tracked.with("br i1 %done, label %go, label %ask", "br label %go")
          .with("go:\n", "go:\n  ret void\nunreached:\n")
          .with(
              "%done = call i1 @dyn.dev.mbarrier.test_wait.parity(ptr addrspace(3) %shared, i32 0)",
              ""),
      Fault::Unfinished, "cp.async.ca");
}

TEST_CASE("emulator mbarriers: invalidation") {
  const KernelText kernel{1, 16, 1, R"(
  call void @dyn.dev.mbarrier.init(ptr addrspace(3) %shared, i32 1)
  %state = call i64 @dyn.dev.mbarrier.arrive(ptr addrspace(3) %shared)
  call void @dyn.dev.mbarrier.inval(ptr addrspace(3) %shared)
  store i32 4, ptr addrspace(3) %shared, align 4
  ret void)"};
  std::vector<std::int32_t> out(1);
  check_clean(kernel, {written_buffer(out)});
  const std::string inval = "call void @dyn.dev.mbarrier.inval(ptr addrspace(3) %shared)";
  check_fault(kernel.with(inval, ""), Fault::Barrier, "store i32 4", {written_buffer(out)});
  check_fault(
      kernel.with(
          inval, inval + "\n  %late = call i64 @dyn.dev.mbarrier.arrive(ptr addrspace(3) %shared)"),
      Fault::Barrier, "%late", {written_buffer(out)});
  check_fault(
      kernel.with(inval, "call void @dyn.dev.mbarrier.init(ptr addrspace(3) %shared, i32 1)"),
      Fault::Barrier, "mbarrier.init", {written_buffer(out)});
}
