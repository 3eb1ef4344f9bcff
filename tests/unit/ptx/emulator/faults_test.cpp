// Each fault: a kernel that has it, and its corrected twin that does not.

#include <doctest/doctest.h>

#include "dyn/error.hpp"
#include "tests/unit/ptx/emulator/fixture.hpp"

using namespace dyn;
using namespace dyn::test;
using ptx::Fault;

namespace {

/// 64 threads: each writes its element to shared memory, and reads that of its neighbour.
const KernelText neighbour{64, 256, 2, R"(
  %g = getelementptr float, ptr addrspace(1) %p0, i32 %t
  %s = getelementptr float, ptr addrspace(3) %shared, i32 %t
  %x = load float, ptr addrspace(1) %g, align 4
  store float %x, ptr addrspace(3) %s, align 4
  call void @dyn.dev.barrier.sync()
  %t1 = add i32 %t, 1
  %n = and i32 %t1, 63
  %q = getelementptr float, ptr addrspace(3) %shared, i32 %n
  %y = load float, ptr addrspace(3) %q, align 4
  %o = getelementptr float, ptr addrspace(1) %p1, i32 %t
  store float %y, ptr addrspace(1) %o, align 4
  ret void)"};

}  // namespace

TEST_CASE("emulator faults: a missing barrier") {
  std::vector<float> in = ramp(64), out(64);
  check_clean(neighbour, {read_buffer(in), written_buffer(out)});
  for (std::size_t i = 0; i < 64; ++i) CHECK(out[i] == in[(i + 1) % 64]);
  // The reader is first: nobody has written yet.
  check_fault(neighbour.with(barrier, ""), Fault::Uninitialised, "%y = load float",
              {read_buffer(in), written_buffer(out)});
  // The writer is first.
  const KernelText backwards = neighbour.with("add i32 %t, 1", "add i32 %t, 63");
  check_clean(backwards, {read_buffer(in), written_buffer(out)});
  check_fault(backwards.with(barrier, "")
                  .with("and i32 %t1, 63", "call i32 @llvm.smax.i32(i32 0, i32 0)")
                  .with("%t1 = add i32 %t, 63", ""),
              Fault::Race, "%y = load float", {read_buffer(in), written_buffer(out)});
}

TEST_CASE("emulator faults: a write after a read without a barrier") {
  // Everybody reads element 0, then thread 63 overwrites it.
  const KernelText kernel{64, 256, 1, R"(
  %s = getelementptr i32, ptr addrspace(3) %shared, i32 %t
  store i32 %t, ptr addrspace(3) %s, align 4
  call void @dyn.dev.barrier.sync()
  %x = load i32, ptr addrspace(3) %shared, align 4
  call void @dyn.dev.barrier.sync() ; second
  %late = icmp eq i32 %t, WRITER
  br i1 %late, label %write, label %end
write:
  store i32 5, ptr addrspace(3) %shared, align 4
  br label %end
end:
  ret void)"};
  std::vector<std::int32_t> out(1);
  // The last to come to a barrier goes on first: 63 writes before the others read, 62 when all have
  // read.
  for (const char* writer : {"63", "62"})
    check_clean(kernel.with("WRITER", writer), {written_buffer(out)});
  const KernelText without = kernel.with("call void @dyn.dev.barrier.sync() ; second", "");
  check_fault(without.with("WRITER", "63"), Fault::Race, "%x = load", {written_buffer(out)});
  check_fault(without.with("WRITER", "62"), Fault::Race, "store i32 5", {written_buffer(out)});
}

TEST_CASE("emulator faults: warps are no barrier, bar.warp.sync is") {
  const KernelText kernel{32, 128, 1, R"(
  %s = getelementptr i32, ptr addrspace(3) %shared, i32 %t
  store i32 %t, ptr addrspace(3) %s, align 4
  call void @dyn.dev.bar.warp.sync(i32 -1)
  %n = xor i32 %t, 1
  %q = getelementptr i32, ptr addrspace(3) %shared, i32 %n
  %x = load i32, ptr addrspace(3) %q, align 4
  call void @dyn.dev.bar.warp.sync(i32 -1) ; second
  store i32 %x, ptr addrspace(3) %s, align 4
  ret void)"};
  std::vector<std::int32_t> out(1);
  check_clean(kernel, {written_buffer(out)});
  const std::string sync = "call void @dyn.dev.bar.warp.sync(i32 -1)",
                    shuffle =
                        "%u = call i32 @dyn.dev.shfl.sync.bfly.b32(i32 1, i32 1, i32 31, i32 -1)";
  check_fault(kernel.with(sync + " ; second", shuffle), Fault::Race, "store i32 %x",
              {written_buffer(out)});
  check_fault(kernel.with(sync + "\n  %n", shuffle + "\n  %n").with(sync + " ; second", ""),
              Fault::Race, "%x = load", {written_buffer(out)});
  // Lanes of half a warp are ordered among themselves only.
  const KernelText halves = kernel.with("i32 -1)", "i32 %mask)")
                                .with("%n = xor i32 %t, 1\n", "%n = xor i32 %t, STEP\n")
                                .with("  %s = ",
                                      "  %high = icmp ugt i32 %t, 15\n  %mask = select i1 %high, "
                                      "i32 -65536, i32 65535\n  %s = ");
  check_clean(halves.with("STEP", "8"), {written_buffer(out)});
  check_fault(halves.with("STEP", "16")
                  .with("align 4\n  call",
                        "align 4\n  call void @dyn.dev.bar.warp.sync(i32 %mask)\n  call"),
              Fault::Race, "%x = load", {written_buffer(out)});
}

TEST_CASE("emulator faults: order goes on from thread to thread") {
  // Lane 0 meets lane 1, which then meets lane 2.
  const KernelText kernel{3, 64, 1, R"(
  %low = icmp ult i32 %t, 2
  %high = icmp ugt i32 %t, 0
  %first = icmp eq i32 %t, 0
  %last = icmp eq i32 %t, 2
  br i1 %first, label %write, label %meet
write:
  store i32 7, ptr addrspace(3) %shared, align 4
  br label %meet
meet:
  br i1 %low, label %one, label %next
one:
  call void @dyn.dev.bar.warp.sync(i32 3)
  br label %next
next:
  br i1 %high, label %two, label %end
two:
  call void @dyn.dev.bar.warp.sync(i32 6)
  br i1 %last, label %read, label %end
read:
  %x = load i32, ptr addrspace(3) %shared, align 4
  store i32 %x, ptr addrspace(1) %p0, align 4
  br label %end
end:
  ret void)"};
  std::vector<std::int32_t> out(1);
  check_clean(kernel, {written_buffer(out)});
  CHECK(out[0] == 7);
  check_fault(kernel.with("call void @dyn.dev.bar.warp.sync(i32 3)", ""), Fault::Race, "%x = load",
              {written_buffer(out)});
}

TEST_CASE("emulator faults: named barriers") {
  // Warps 0 and 1 exchange through barrier 3; warp 2 has no part in it.
  const KernelText kernel{96, 384, 1, R"(
  %s = getelementptr i32, ptr addrspace(3) %shared, i32 %t
  store i32 %t, ptr addrspace(3) %s, align 4
  %two = icmp ult i32 %t, 64
  br i1 %two, label %exchange, label %end
exchange:
  call void @dyn.dev.barrier.sync.named(i32 3, i32 64)
  %n = xor i32 %t, 32
  %q = getelementptr i32, ptr addrspace(3) %shared, i32 %n
  %x = load i32, ptr addrspace(3) %q, align 4
  br label %end
end:
  ret void)"};
  std::vector<std::int32_t> out(1);
  check_clean(kernel, {written_buffer(out)});
  check_fault(kernel.with("xor i32 %t, 32", "add i32 %t, 32"), Fault::Uninitialised, "%x = load",
              {written_buffer(out)});
  check_fault(kernel.with("i32 3, i32 64", "i32 3, i32 96"), Fault::Deadlock, "barrier.sync.named",
              {written_buffer(out)});
  check_fault(kernel.with("i32 3, i32 64", "i32 3, i32 48"), Fault::Barrier, "barrier.sync.named",
              {written_buffer(out)});
  check_fault(kernel.with("i32 3, i32 64", "i32 0, i32 64"), Fault::Barrier, "barrier.sync.named",
              {written_buffer(out)});
  // Another barrier orders other threads: warp 2 has written before, but warp 0 does not know.
  const KernelText third =
      kernel.with("ult i32 %t, 64", "uge i32 %t, 32").with("xor i32 %t, 32", "add i32 0, 0");
  check_fault(third, Fault::Race, "%x = load", {written_buffer(out)});
}

TEST_CASE("emulator faults: divergence and deadlock") {
  const KernelText half{64, 256, 1, R"(
  %some = icmp ult i32 %t, LIMIT
  br i1 %some, label %in, label %end
in:
  CALL
  br label %end
end:
  ret void)"};
  std::vector<std::int32_t> out(1);
  check_clean(half.with("CALL", barrier).with("LIMIT", "64"), {written_buffer(out)});
  check_fault(half.with("CALL", barrier).with("LIMIT", "32"), Fault::Deadlock, "barrier.sync",
              {written_buffer(out)});
  const KernelText shuffle =
      half.with("CALL", "%u = call i32 @dyn.dev.shfl.sync.bfly.b32(i32 1, i32 1, i32 31, i32 -1)");
  check_clean(shuffle.with("LIMIT", "32"), {written_buffer(out)});
  check_fault(shuffle.with("LIMIT", "40"), Fault::Divergence, "shfl.sync", {written_buffer(out)});
  check_fault(shuffle.with("LIMIT", "64").with("i32 -1)", "i32 65535)"), Fault::Divergence,
              "shfl.sync", {written_buffer(out)});
  check_fault(
      half.with("LIMIT", "16")
          .with("CALL",
                "%u = call i32 @dyn.dev.shfl.sync.bfly.b32(i32 1, i32 16, i32 31, i32 65535)"),
      Fault::Divergence, "shfl.sync", {written_buffer(out)});

  const KernelText two_places{32, 0, 1, R"(
  %odd = trunc i32 %t to i1
  br i1 %odd, label %one, label %other
one:
  call void @dyn.dev.bar.warp.sync(i32 -1)
  br label %end
other:
  call void @dyn.dev.bar.warp.sync(i32 -1)
  br label %end
end:
  ret void)"};
  check_fault(two_places, Fault::Divergence, "bar.warp.sync", {written_buffer(out)});
  check_fault(two_places.with("call void @dyn.dev.bar.warp.sync(i32 -1)", barrier),
              Fault::Divergence, "barrier.sync", {written_buffer(out)});
}

TEST_CASE("emulator faults: a launch that is refused") {
  const KernelText kernel{64, 256, 1, "  ret void"};
  const void* function = load(kernel);
  Emulated& device = shared_emulator();
  std::vector<float> out(1);
  const EmulatedBuffer buffers[] = {written_buffer(out)};
  CHECK(device.launch(function, 1, 64, 256, buffers).empty());
  CHECK(device.launch(function, 0, 64, 512, buffers).empty());
  struct Refused {
    std::int64_t blocks;
    int threads, shared_bytes;
  };
  for (const Refused& refused :
       {Refused{-1, 64, 256}, Refused{1, 32, 256}, Refused{1, 64, 255}, Refused{1, 64, 1 << 20}}) {
    const auto reports =
        device.launch(function, refused.blocks, refused.threads, refused.shared_bytes, buffers);
    REQUIRE(reports.size() == 1);
    CHECK(reports[0].fault == Fault::BadLaunch);
  }
  for (int i = 0; i < 110; ++i) {
    CHECK_THROWS_AS(device.emulator().make_stream()->launch({function, "x", 1, 1, 0, 0, 0, 0, {}}),
                    Error);
  }
  CHECK(device.emulator().take_reports().size() == 100);
  const KernelText large{2048, 0, 1, "  ret void"};
  CHECK(device.launch(load(large), 1, 2048, 0, buffers).at(0).fault == Fault::BadLaunch);
}

TEST_CASE("emulator faults: the stream goes on after a fault") {
  std::vector<float> in = ramp(64), out(64);
  for (int i = 0; i < 3; ++i) {
    check_fault(neighbour.with(barrier, ""), Fault::Uninitialised, "%y = load",
                {read_buffer(in), written_buffer(out)});
    check_clean(neighbour, {read_buffer(in), written_buffer(out)});
  }
}
