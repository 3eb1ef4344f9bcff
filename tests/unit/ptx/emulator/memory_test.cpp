// Faults of memory: accesses outside, misaligned ones, and races of the grid's threads in global
// memory.

#include <doctest/doctest.h>

#include "tests/unit/ptx/emulator/fixture.hpp"

using namespace dyn;
using namespace dyn::test;
using ptx::Fault;

TEST_CASE("emulator faults: bounds and alignment") {
  const KernelText global{32, 0, 2, R"(
  %i = add i32 %t, FIRST
  %g = getelementptr float, ptr addrspace(1) %p0, i32 %i
  %x = load float, ptr addrspace(1) %g, align 4
  %o = getelementptr float, ptr addrspace(1) %p1, i32 %t
  store float %x, ptr addrspace(1) %o, align 4
  ret void)"};
  std::vector<float> in = ramp(33), out(32), short_out(31);
  check_clean(global.with("FIRST", "1"), {read_buffer(in), written_buffer(out)});
  check_fault(global.with("FIRST", "2"), Fault::OutOfBounds, "%x = load",
              {read_buffer(in), written_buffer(out)});
  check_fault(global.with("FIRST", "-1"), Fault::OutOfBounds, "%x = load",
              {read_buffer(in), written_buffer(out)});
  check_fault(global.with("FIRST", "1"), Fault::OutOfBounds, "store float %x",
              {read_buffer(in), written_buffer(short_out)});
  check_fault(global.with("FIRST", "1"), Fault::OutOfBounds, "store float %x",
              {read_buffer(in), read_buffer(out)});
  CHECK(run(global.with("FIRST", "2"), {read_buffer(in), written_buffer(out)})[0].thread == 31);

  const KernelText shared{32, 128, 1, R"(
  %i = add i32 %t, FIRST
  %s = getelementptr i32, ptr addrspace(3) %shared, i32 %i
  store i32 %t, ptr addrspace(3) %s, align 4
  %x = load i32, ptr addrspace(3) %s, align 4
  ret void)"};
  check_clean(shared.with("FIRST", "0"), {written_buffer(out)});
  check_fault(shared.with("FIRST", "1"), Fault::OutOfBounds, "store i32 %t", {written_buffer(out)});
  const KernelText end = shared.with("FIRST", "0")
                             .with("%x = load i32, ptr addrspace(3) %s",
                                   "%e = getelementptr i8, ptr addrspace(3) %shared, "
                                   "i32 128\n  %x = load i32, ptr addrspace(3) %e");
  check_fault(end, Fault::OutOfBounds, "%x = load", {written_buffer(out)});
  check_fault(end.with("%x = load i32, ptr addrspace(3) %e, align 4",
                       "%x = call i32 @dyn.dev.ldmatrix.x1(ptr addrspace(3) %e)"),
              Fault::OutOfBounds, "ldmatrix", {written_buffer(out)});
  check_fault(end.with("%x = load i32, ptr addrspace(3) %e, align 4",
                       "%x = call i32 @dyn.dev.ldmatrix.x1(ptr addrspace(3) %e)")
                  .with("i32 128", "i32 8"),
              Fault::Misaligned, "ldmatrix", {written_buffer(out)});
  check_fault(shared.with("FIRST", "-1"), Fault::OutOfBounds, "store i32 %t",
              {written_buffer(out)});
  check_fault(shared.with("FIRST", "0")
                  .with("%x = load i32, ptr addrspace(3) %s, align 4",
                        "%x = load <2 x i32>, ptr addrspace(3) %s, align 4"),
              Fault::Uninitialised, "%x = load", {written_buffer(out)});

  const KernelText vectors{32, 0, 2, R"(
  %i = mul i32 %t, 4
  %j = add i32 %i, FIRST
  %g = getelementptr float, ptr addrspace(1) %p0, i32 %j
  %x = load <4 x float>, ptr addrspace(1) %g, align 16
  %o = getelementptr float, ptr addrspace(1) %p1, i32 %i
  store <4 x float> %x, ptr addrspace(1) %o, align 4
  ret void)"};
  std::vector<float> wide = ramp(136), wide_out(128);
  check_clean(vectors.with("FIRST", "4"), {read_buffer(wide), written_buffer(wide_out)});
  for (std::size_t i = 0; i < 128; ++i) CHECK(wide_out[i] == wide[i + 4]);
  check_fault(vectors.with("FIRST", "2"), Fault::Misaligned, "%x = load",
              {read_buffer(wide), written_buffer(wide_out)});
  check_clean(vectors.with("FIRST", "2").with("align 16", "align 8"),
              {read_buffer(wide), written_buffer(wide_out)});
  check_fault(vectors.with("FIRST", "12"), Fault::OutOfBounds, "%x = load",
              {read_buffer(wide), written_buffer(wide_out)});
}

TEST_CASE("emulator faults: threads of the whole grid") {
  // Block b writes element b of each pair; the bug: all write the same ones.
  const KernelText blocks{32, 0, 1, R"(
  %n = mul i32 %b, 32
  %i = add i32 %n, %t
  %o = getelementptr i32, ptr addrspace(1) %p0, i32 %i
  store i32 %t, ptr addrspace(1) %o, align 4
  ret void)"};
  std::vector<std::int32_t> out(64);
  check_clean(blocks, {written_buffer(out)}, 2);
  check_fault(blocks.with("mul i32 %b, 32", "mul i32 %b, 31"), Fault::Race, "store i32 %t",
              {written_buffer(out)}, 2);
  check_fault(blocks.with("mul i32 %b, 32", "mul i32 %b, 0")
                  .with("store i32 %t, ptr addrspace(1) %o, align 4",
                        "%x = load i32, ptr addrspace(1) %p0, align 4\n  store i32 %x, ptr "
                        "addrspace(1) %o, align 4"),
              Fault::Race, "%x = load", {written_buffer(out)}, 2);
  // The block that comes second has the fault.
  const KernelText same = blocks.with("mul i32 %b, 32", "mul i32 %b, 0");
  for (const auto& [kind, second] : {std::pair(ptx::BlockOrder::Kind::Ascending, 1),
                                     std::pair(ptx::BlockOrder::Kind::Descending, 0)}) {
    shared_emulator().emulator().set_block_order({kind, 0});
    CHECK(run(same, {written_buffer(out)}, 2).at(0).block == second);
  }
  shared_emulator().emulator().set_block_order({});
  // Elements of less than a word count as elements of their own.
  const KernelText narrow = blocks.with("getelementptr i32", "getelementptr i8")
                                .with("store i32 %t, ptr addrspace(1) %o, align 4",
                                      "store i8 7, ptr addrspace(1) %o, align 1");
  check_clean(narrow, {written_buffer(out)}, 2);
  check_fault(narrow.with("mul i32 %b, 32", "mul i32 %b, 31"), Fault::Race, "store i8 7",
              {written_buffer(out)}, 2);

  // Block 0 reads what block 1 reads and writes.
  const KernelText reading{1, 0, 1, R"(
  %x = load i32, ptr addrspace(1) %p0, align 4
  %second = icmp eq i32 %b, 1
  br i1 %second, label %write, label %end
write:
  store i32 %x, ptr addrspace(1) %p0, align 4
  br label %end
end:
  ret void)"};
  check_fault(reading, Fault::Race, "store i32 %x", {written_buffer(out)}, 2);
  check_clean(reading.with("%second = icmp eq i32 %b, 1", "%second = icmp eq i32 %b, 2"),
              {written_buffer(out)}, 2);

  // Through global memory within a block: a barrier orders it.
  const KernelText within{64, 0, 1, R"(
  %o = getelementptr i32, ptr addrspace(1) %p0, i32 %t
  store i32 %t, ptr addrspace(1) %o, align 4
  call void @dyn.dev.barrier.sync()
  %n = xor i32 %t, 63
  %q = getelementptr i32, ptr addrspace(1) %p0, i32 %n
  %x = load i32, ptr addrspace(1) %q, align 4
  ret void)"};
  check_clean(within, {written_buffer(out)});
  check_fault(within.with("call void @dyn.dev.barrier.sync()", ""), Fault::Race, "",
              {written_buffer(out)});
}
