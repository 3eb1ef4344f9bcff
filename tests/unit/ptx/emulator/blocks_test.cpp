// Blocks of one launch that meet in global memory: what is ordered between them, and who waits for
// whom.

#include <doctest/doctest.h>

#include <numeric>

#include "tests/unit/ptx/emulator/fixture.hpp"

using namespace dyn;
using namespace dyn::test;
using ptx::BlockOrder;
using ptx::Fault;

namespace {

constexpr BlockOrder orders[] = {{BlockOrder::Kind::Ascending, 0},
                                 {BlockOrder::Kind::Descending, 0},
                                 {BlockOrder::Kind::Shuffled, 3}};

/// Sets the order of the emulator that all tests share while it lives.
class InOrder {
 public:
  explicit InOrder(const BlockOrder& order) { shared_emulator().emulator().set_block_order(order); }
  ~InOrder() { shared_emulator().emulator().set_block_order({}); }
  InOrder(const InOrder&) = delete;
  InOrder& operator=(const InOrder&) = delete;
};

const std::string fence = "call void @dyn.dev.fence.acq_rel.gpu()";

/// Each of 4 blocks of 64 threads writes its part of %p0; the last one to arrive at the counter %p1
/// adds all parts, in their order, to %p2. ("Split-K".)
const KernelText last_one_adds{64, 4, 3, R"(
  %base = mul i32 %b, 64
  %i = add i32 %base, %t
  %o = getelementptr i32, ptr addrspace(1) %p0, i32 %i
  %v = mul i32 %i, %i
  store i32 %v, ptr addrspace(1) %o, align 4
  call void @dyn.dev.barrier.sync() ; written
  %first = icmp eq i32 %t, 0
  br i1 %first, label %arrive, label %meet
arrive:
  call void @dyn.dev.fence.acq_rel.gpu() ; release
  %before = call i32 @dyn.dev.atom.add.global.u32(ptr addrspace(1) %p1, i32 1)
  call void @dyn.dev.fence.acq_rel.gpu() ; acquire
  store i32 %before, ptr addrspace(3) %shared, align 4
  br label %meet
meet:
  call void @dyn.dev.barrier.sync() ; met
  %arrived = load i32, ptr addrspace(3) %shared, align 4
  %last = icmp eq i32 %arrived, 3
  br i1 %last, label %sum, label %end
sum:
  %part = phi i32 [ 0, %meet ], [ %next, %sum ]
  %total = phi i32 [ 0, %meet ], [ %more, %sum ]
  %offset = mul i32 %part, 64
  %j = add i32 %offset, %t
  %q = getelementptr i32, ptr addrspace(1) %p0, i32 %j
  %x = load i32, ptr addrspace(1) %q, align 4
  %more = add i32 %total, %x
  %next = add i32 %part, 1
  %done = icmp eq i32 %next, 4
  br i1 %done, label %write, label %sum
write:
  %r = getelementptr i32, ptr addrspace(1) %p2, i32 %t
  store i32 %more, ptr addrspace(1) %r, align 4
  br label %end
end:
  ret void)"};

/// Block 1 writes %p0 and says so in %p1; block 0 asks until it has, and copies to %p2.
const KernelText consumer{1, 0, 3, R"(
  %producer = icmp eq i32 %b, 1
  br i1 %producer, label %produce, label %ask
produce:
  store i32 41, ptr addrspace(1) %p0, align 4
  call void @dyn.dev.fence.acq_rel.gpu() ; release
  %before = call i32 @dyn.dev.atom.add.global.u32(ptr addrspace(1) %p1, i32 1)
  ret void
ask:
  %flag = call i32 @dyn.dev.atom.add.global.u32(ptr addrspace(1) %p1, i32 0)
  %ready = icmp eq i32 %flag, 1
  br i1 %ready, label %take, label %ask
take:
  call void @dyn.dev.fence.acq_rel.gpu() ; acquire
  %x = load i32, ptr addrspace(1) %p0, align 4
  store i32 %x, ptr addrspace(1) %p2, align 4
  ret void)"};

}  // namespace

TEST_CASE("blocks that meet at a counter: the last one sees what all others wrote") {
  for (const BlockOrder& order : orders) {
    const InOrder in_order(order);
    std::vector<std::uint32_t> parts(256), counter(1), sums(64);
    check_clean(last_one_adds,
                {written_buffer(parts), written_buffer(counter), written_buffer(sums)}, 4);
    CHECK(counter[0] == 4);
    for (std::uint32_t t = 0; t < 64; ++t) {
      std::uint32_t expected = 0;
      for (std::uint32_t block = 0; block < 4; ++block)
        expected += (64 * block + t) * (64 * block + t);
      CHECK(sums[t] == expected);
    }
  }
}

TEST_CASE("blocks that meet at a counter: each way of leaving out an order is a race") {
  const auto check_race = [](const KernelText& kernel, const std::string& instruction) {
    for (const BlockOrder& order : orders) {
      const InOrder in_order(order);
      std::vector<std::uint32_t> parts(256), counter(1), sums(64);
      check_fault(kernel, Fault::Race, instruction,
                  {written_buffer(parts), written_buffer(counter), written_buffer(sums)}, 4);
    }
  };
  check_race(last_one_adds.with(fence + " ; release", ""), "%x = load");
  check_race(last_one_adds.with(fence + " ; acquire", ""), "%x = load");
  // A fence of one thread releases what others wrote before a barrier, not after it.
  check_race(last_one_adds.with(barrier + " ; written", ""), "%x = load");
  // A fence behind the arrival is too late.
  check_race(
      last_one_adds.with(fence + " ; release", "").with("i32 1)\n", "i32 1)\n  " + fence + "\n"),
      "%x = load");
  // One of several parts is written by all.
  check_race(last_one_adds.with("%base = mul i32 %b, 64", "%base = mul i32 %b, 63"),
             "store i32 %v");
  // The second to arrive reads what others have not written yet.
  check_race(last_one_adds.with("%arrived, 3", "%arrived, 1"), "");
  // Plain arithmetic on the counter.
  check_race(last_one_adds.with("%before = call i32 @dyn.dev.atom.add.global.u32(ptr addrspace(1) "
                                "%p1, i32 1)",
                                "%before = load i32, ptr addrspace(1) %p1, align 4\n"
                                "  %sum1 = add i32 %before, 1\n"
                                "  store i32 %sum1, ptr addrspace(1) %p1, align 4"),
             "%before = load");
}

TEST_CASE("a race between blocks names both") {
  std::vector<std::uint32_t> parts(256), counter(1), sums(64);
  const auto reports =
      run(last_one_adds.with(fence + " ; acquire", ""),
          {written_buffer(parts), written_buffer(counter), written_buffer(sums)}, 4);
  INFO(text_of(reports));
  REQUIRE(reports.size() == 1);
  CHECK(reports[0].block == 3);
  CHECK(reports[0].text.find("of block 0 has written without a fence, an atomic "
                             "operation and a fence in between") != std::string::npos);
}

TEST_CASE("order goes on from block to block") {
  // Block b waits for b arrivals, then adds to %p0 what stands there; three blocks in a row.
  const KernelText chain{1, 0, 2, R"(
  br label %ask
ask:
  %flag = call i32 @dyn.dev.atom.add.global.u32(ptr addrspace(1) %p1, i32 0)
  %ready = icmp eq i32 %flag, %b
  br i1 %ready, label %take, label %ask
take:
  call void @dyn.dev.fence.acq_rel.gpu()
  %x = load i32, ptr addrspace(1) %p0, align 4
  %twice = mul i32 %x, 2
  %y = add i32 %twice, %b
  store i32 %y, ptr addrspace(1) %p0, align 4
  call void @dyn.dev.fence.acq_rel.gpu()
  %before = call i32 @dyn.dev.atom.add.global.u32(ptr addrspace(1) %p1, i32 1)
  ret void)"};
  for (const BlockOrder& order : orders) {
    const InOrder in_order(order);
    std::vector<std::uint32_t> value{1}, flag(1);
    check_clean(chain, {written_buffer(value), written_buffer(flag)}, 5);
    CHECK(value[0] == ((((1 * 2 + 0) * 2 + 1) * 2 + 2) * 2 + 3) * 2 + 4);
  }
}

TEST_CASE("a block that waits for another one goes on when it has come") {
  for (const BlockOrder& order : orders) {
    const InOrder in_order(order);
    std::vector<std::uint32_t> data(1), flag(1), out(1);
    check_clean(consumer, {written_buffer(data), written_buffer(flag), written_buffer(out)}, 2);
    CHECK(out[0] == 41);
    for (const char* dropped : {" ; acquire", " ; release"}) {
      flag[0] = 0;
      check_fault(consumer.with(fence + dropped, ""), Fault::Race, "%x = load",
                  {written_buffer(data), written_buffer(flag), written_buffer(out)}, 2);
    }
  }
}

TEST_CASE("threads of a waiting block wait at its barriers meanwhile, and shared memory stays") {
  // Thread 0 of blocks 0 to 2 waits for block 3; the others are at a barrier.
  const KernelText kernel{64, 256, 2, R"(
  %s = getelementptr i32, ptr addrspace(3) %shared, i32 %t
  %k = mul i32 %b, 1000
  %v = add i32 %k, %t
  store i32 %v, ptr addrspace(3) %s, align 4
  %first = icmp eq i32 %t, 0
  br i1 %first, label %role, label %meet
role:
  %third = icmp eq i32 %b, 3
  br i1 %third, label %say, label %ask
say:
  %before = call i32 @dyn.dev.atom.add.global.u32(ptr addrspace(1) %p1, i32 7)
  br label %meet
ask:
  %flag = call i32 @dyn.dev.atom.add.global.u32(ptr addrspace(1) %p1, i32 0)
  %ready = icmp eq i32 %flag, 7
  br i1 %ready, label %meet, label %ask
meet:
  call void @dyn.dev.barrier.sync()
  %n = xor i32 %t, 63
  %q = getelementptr i32, ptr addrspace(3) %shared, i32 %n
  %x = load i32, ptr addrspace(3) %q, align 4
  %row = mul i32 %b, 64
  %j = add i32 %row, %t
  %o = getelementptr i32, ptr addrspace(1) %p0, i32 %j
  store i32 %x, ptr addrspace(1) %o, align 4
  ret void)"};
  for (const BlockOrder& order : orders) {
    const InOrder in_order(order);
    std::vector<std::uint32_t> out(256), flag(1);
    check_clean(kernel, {written_buffer(out), written_buffer(flag)}, 4);
    for (std::uint32_t i = 0; i < 256; ++i) CHECK(out[i] == i / 64 * 1000 + (i % 64 ^ 63));
  }
}

TEST_CASE("a value that is read twice need not change") {
  const KernelText kernel{32, 0, 2, R"(
  %x = call i32 @dyn.dev.atom.add.global.u32(ptr addrspace(1) %p0, i32 0)
  %y = call i32 @dyn.dev.atom.add.global.u32(ptr addrspace(1) %p0, i32 0)
  %z = call i32 @dyn.dev.atom.add.global.u32(ptr addrspace(1) %p0, i32 0)
  %xy = add i32 %x, %y
  %xyz = add i32 %xy, %z
  %n = mul i32 %b, 32
  %i = add i32 %n, %t
  %o = getelementptr i32, ptr addrspace(1) %p1, i32 %i
  store i32 %xyz, ptr addrspace(1) %o, align 4
  ret void)"};
  std::vector<std::uint32_t> value{5}, out(96);
  check_clean(kernel, {written_buffer(value), written_buffer(out)}, 3);
  CHECK(std::accumulate(out.begin(), out.end(), 0u) == 96 * 15);
}

TEST_CASE("emulator faults: blocks that wait for each other") {
  // Nobody says so: the producer asks as well.
  const KernelText both =
      consumer.with("%producer = icmp eq i32 %b, 1", "%producer = icmp eq i32 %b, 2");
  std::vector<std::uint32_t> data(1), flag(1), out(1);
  const auto reports =
      run(both, {written_buffer(data), written_buffer(flag), written_buffer(out)}, 2);
  INFO(text_of(reports));
  REQUIRE(reports.size() == 1);
  CHECK(reports[0].fault == Fault::Deadlock);
  CHECK(reports[0].kernel == "test");
  CHECK(reports[0].instruction.find("%flag = call") != std::string::npos);
  for (const char* part : {"no block can go on; block 0: thread 0 wait", "block 1: thread 0 wait",
                           "(for byte 0 of operand 1 (4 bytes) to change)"})
    CHECK(reports[0].text.find(part) != std::string::npos);
}

TEST_CASE("emulator faults: a block that can begin only when those that wait for it have ended") {
  // The last of the blocks is the producer: it never begins where the GPU has room for fewer.
  const KernelText last =
      consumer.with("%producer = icmp eq i32 %b, 1", "%producer = icmp eq i32 %b, 8")
          .with("store i32 %x, ptr addrspace(1) %p2, align 4", "");
  choice::GpuMachine machine = emulated_machine();
  machine.multiprocessors = 2;
  for (const auto& [per_multiprocessor, fits] : {std::pair(5, true), std::pair(4, false)}) {
    machine.blocks_per_multiprocessor = per_multiprocessor;
    Emulated emulated({machine, std::size_t{1} << 20, ""});
    rkernel::CompileReport report;
    const void* function = emulated.emulator().load(std::vector{last.source()}, 1, report).front();
    std::vector<std::uint32_t> data(1), flag(1), out(1);
    const std::vector<EmulatedBuffer> buffers{written_buffer(data), written_buffer(flag),
                                              written_buffer(out)};
    const auto reports = emulated.launch(function, 9, last.threads, last.shared_bytes, buffers);
    INFO(text_of(reports));
    CHECK(reports.empty() == fits);
    if (reports.empty()) continue;
    CHECK(reports[0].fault == Fault::Deadlock);
    CHECK(reports[0].text.find("1 blocks cannot begin before others end: the GPU has room for 8 at "
                               "once") != std::string::npos);
  }
}
