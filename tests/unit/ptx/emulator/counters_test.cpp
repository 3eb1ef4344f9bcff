// The emulator's counters: accesses of a warp as the hardware splits them, instructions, live
// values.

#include <doctest/doctest.h>

#include <numeric>

#include "targets/ptx/emulator/counters/launch_meter.hpp"
#include "targets/ptx/emulator/counters/roofline.hpp"
#include "targets/ptx/gpus/gpu_descriptions.hpp"
#include "tests/unit/ptx/emulator/fixture.hpp"

using namespace dyn;
using namespace dyn::test;
using ptx::InstructionClass;
using ptx::KernelCounters;
using ptx::Traffic;
using ptx::emulation::sectors;
using ptx::emulation::wavefronts;

namespace {

/// Of 32 lanes, `step` bytes apart.
std::vector<std::uint64_t> apart(std::uint64_t step, std::size_t lanes = 32) {
  std::vector<std::uint64_t> addresses(lanes);
  for (std::size_t lane = 0; lane < lanes; ++lane) addresses[lane] = 4096 + lane * step;
  return addresses;
}

KernelCounters counted(const KernelText& kernel, std::initializer_list<EmulatedBuffer> buffers,
                       std::int64_t blocks = 1) {
  ptx::Emulator& emulator = shared_emulator().emulator();
  emulator.set_counting(true);
  const auto reports = run(kernel, buffers, blocks);
  emulator.set_counting(false);
  INFO(text_of(reports));
  REQUIRE(reports.empty());
  const std::vector<KernelCounters> all = emulator.take_counters();
  REQUIRE(all.size() == 1);
  return all.front();
}

}  // namespace

TEST_CASE("counters: passes over the banks of shared memory") {
  const auto passes = [](std::uint64_t step, std::uint32_t bytes) {
    return wavefronts(apart(step), bytes).units;
  };
  CHECK(passes(4, 4) == 1);
  CHECK(passes(0, 4) == 1);
  CHECK(passes(2, 2) == 1);
  CHECK(passes(8, 4) == 2);
  CHECK(passes(64, 4) == 16);
  CHECK(passes(128, 4) == 32);
  CHECK(passes(132, 4) == 1);
  // Half of a warp, and a quarter of one, at a time.
  CHECK(passes(8, 8) == 2);
  CHECK(passes(16, 16) == 4);
  CHECK(passes(0, 16) == 4);
  CHECK(passes(32, 16) == 8);
  CHECK(passes(128, 16) == 32);
  CHECK(wavefronts(apart(16), 16).least == 4);
  CHECK(wavefronts(apart(128), 4).least == 1);
  CHECK(wavefronts(apart(16, 8), 16).units == 1);
  CHECK(wavefronts(apart(128, 5), 4).units == 5);
}

TEST_CASE("counters: sectors of global memory") {
  const auto both = [](std::uint64_t step, std::uint32_t bytes) {
    const Traffic traffic = sectors(apart(step), bytes);
    return std::pair(traffic.units, traffic.least);
  };
  CHECK(both(4, 4) == std::pair<std::int64_t, std::int64_t>(4, 4));
  CHECK(both(2, 2) == std::pair<std::int64_t, std::int64_t>(2, 2));
  CHECK(both(0, 4) == std::pair<std::int64_t, std::int64_t>(1, 1));
  CHECK(both(16, 16) == std::pair<std::int64_t, std::int64_t>(16, 16));
  CHECK(both(8, 4) == std::pair<std::int64_t, std::int64_t>(8, 4));
  CHECK(both(64, 4) == std::pair<std::int64_t, std::int64_t>(32, 4));
  const std::uint64_t across = 4096 + 28;
  CHECK(sectors({&across, 1}, 8).units == 2);
  CHECK(sectors({&across, 1}, 8).least == 1);
}

TEST_CASE("counters: a kernel's requests, by operand and place") {
  const KernelText kernel{64, 8448, 2, R"(
  %g = getelementptr float, ptr addrspace(1) %p0, i32 %t
  %x = load float, ptr addrspace(1) %g, align 4
  %i = mul i32 %t, STEP
  %s = getelementptr float, ptr addrspace(3) %shared, i32 %i
  store float %x, ptr addrspace(3) %s, align 4
  %y = load float, ptr addrspace(3) %s, align 4
  %z = fadd float %y, %x
  %o = getelementptr float, ptr addrspace(1) %p1, i32 %i
  store float %z, ptr addrspace(1) %o, align 4
  ret void)"};
  std::vector<float> in = ramp(64), out(64 * 33);
  for (const auto& [step, passes, written] :
       {std::tuple{1, 1, 8}, {2, 2, 16}, {32, 32, 64}, {33, 1, 64}}) {
    CAPTURE(step);
    const KernelCounters counters =
        counted(kernel.with("STEP", std::to_string(step)), {read_buffer(in), written_buffer(out)});
    CHECK(counters.shared.requests == 4);
    CHECK(counters.shared.units == 4 * passes);
    CHECK(counters.shared.least == 4);
    CHECK(counters.main_loop_shared.requests == 0);
    REQUIRE(counters.operands.size() == 2);
    CHECK(counters.operands[0].traffic.requests == 2);
    CHECK(counters.operands[0].traffic.units == 8);
    CHECK(counters.operands[0].touched == 8);
    CHECK(counters.operands[1].traffic.units == written);
    CHECK(counters.operands[1].traffic.least == 8);
    CHECK(counters.operands[1].touched == written);
    CHECK(counters.all[InstructionClass::SharedLoad] == 2);
    CHECK(counters.all[InstructionClass::SharedStore] == 2);
    CHECK(counters.all[InstructionClass::GlobalStore] == 2);
    CHECK(counters.all[InstructionClass::Float] == 2);
  }
}

TEST_CASE("counters: ldmatrix and asynchronous copies, each at its own memory") {
  const KernelText kernel{32, 4096, 1, R"(
  %from = mul i32 %t, 16
  %to = mul i32 %t, STEP
  %g = getelementptr i8, ptr addrspace(1) %p0, i32 %from
  %s = getelementptr i8, ptr addrspace(3) %shared, i32 %to
  call void @dyn.dev.cp.async.cg.shared.global.16(ptr addrspace(3) %s, ptr addrspace(1) %g, i32 16)
  call void @dyn.dev.cp.async.commit_group()
  call void @dyn.dev.cp.async.wait_group(i32 0)
  call void @dyn.dev.barrier.sync()
  %m = call { i32, i32, i32, i32 } @dyn.dev.ldmatrix.x4(ptr addrspace(3) %s)
  ret void)"};
  std::vector<float> in = ramp(128);
  for (const auto& [step, passes] : {std::pair{16, 4}, {32, 8}, {64, 16}, {128, 32}}) {
    CAPTURE(step);
    const KernelCounters counters =
        counted(kernel.with("STEP", std::to_string(step)), {read_buffer(in)});
    CHECK(counters.shared.requests == 2);
    CHECK(counters.shared.units == 2 * passes);
    CHECK(counters.shared.least == 8);
    CHECK(counters.operands[0].traffic.units == 16);
    CHECK(counters.all[InstructionClass::AsyncCopy] == 1);
    CHECK(counters.all[InstructionClass::MatrixLoad] == 1);
    CHECK(counters.all[InstructionClass::Synchronisation] == 3);
  }
}

TEST_CASE("counters: a warp runs a loop as often as the lane that runs it most") {
  const KernelText kernel{64, 0, 1, R"(
  %most = add i32 %t, 1
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %x = phi float [ 0.0, %entry ], [ %y, %loop ]
  %y = call float @llvm.fma.f32(float %x, float 2.0, float 1.0)
  %next = add i32 %i, 1
  %more = icmp slt i32 %next, %most
  br i1 %more, label %loop, label %done
done:
  %o = getelementptr float, ptr addrspace(1) %p0, i32 %t
  store float %y, ptr addrspace(1) %o, align 4
  ret void)"};
  std::vector<float> out(64);
  const KernelCounters counters = counted(kernel, {written_buffer(out)}, 1);
  CHECK(counters.all[InstructionClass::Fma] == 32 + 64);
  CHECK(counters.innermost[InstructionClass::Fma] == 32 + 64);
  CHECK(counters.innermost[InstructionClass::GlobalStore] == 0);
  // It multiplies, but waits for nothing.
  CHECK(counters.main_loop.all() == 0);
}

TEST_CASE("counters: divisions of 64 bits are calls, but not by constants") {
  const KernelText kernel{32, 0, 1, R"(
  %w = sext i32 %t to i64
  %d = add i64 %w, 3
  %q = udiv i64 77, DIVISOR
  %o = getelementptr i64, ptr addrspace(1) %p0, i32 %t
  store i64 %q, ptr addrspace(1) %o, align 8
  ret void)"};
  std::vector<std::int64_t> out(32);
  CHECK(counted(kernel.with("DIVISOR", "%d"), {written_buffer(out)})
            .all[InstructionClass::LongDivision] == 1);
  CHECK(counted(kernel.with("DIVISOR", "5"), {written_buffer(out)})
            .all[InstructionClass::LongDivision] == 0);
}

TEST_CASE("counters: a vector's arithmetic is counted by element, its access once") {
  const KernelText kernel{32, 0, 2, R"(
  %g = getelementptr <4 x float>, ptr addrspace(1) %p0, i32 %t
  %x = load <4 x float>, ptr addrspace(1) %g, align 16
  %y = fadd <4 x float> %x, %x
  %o = getelementptr <4 x float>, ptr addrspace(1) %p1, i32 %t
  store <4 x float> %y, ptr addrspace(1) %o, align 16
  ret void)"};
  std::vector<float> in = ramp(128), out(128);
  const KernelCounters counters = counted(kernel, {read_buffer(in), written_buffer(out)});
  CHECK(counters.all[InstructionClass::Float] == 4);
  CHECK(counters.all[InstructionClass::GlobalStore] == 1);
  CHECK(counters.operands[0].traffic.requests == 1);
  CHECK(counters.operands[0].traffic.units == 16);
}

TEST_CASE("counters: a product of two words is one instruction, and its upper word none") {
  const KernelText kernel{32, 0, 1, R"(
  %w = zext i32 %t to i64
  %d = add i64 %w, 3
  %p = mul i64 %w, FACTOR
  %h = lshr i64 %p, SHIFT
  %o = getelementptr i64, ptr addrspace(1) %p0, i32 %t
  store i64 %h, ptr addrspace(1) %o, align 8
  ret void)"};
  std::vector<std::int64_t> out(32);
  const auto integers = [&](const std::string& factor, const std::string& shift) {
    return counted(kernel.with("FACTOR", factor).with("SHIFT", shift), {written_buffer(out)})
        .all[InstructionClass::Integer];
  };
  CHECK(integers("%d", "32") - integers("%w", "32") == 3);
  CHECK(integers("%w", "31") - integers("%w", "32") == 2);
  CHECK(integers("77", "32") == integers("%w", "32"));
}

TEST_CASE("counters: live words are those of the values that are needed later") {
  // Eight loads, all of which are live before the first sum.
  std::string loads, sums;
  for (int i = 0; i < 8; ++i) {
    const std::string n = std::to_string(i);
    loads += "  %g" + n + " = getelementptr float, ptr addrspace(1) %p0, i32 " + n + "\n  %x" + n +
             " = load float, ptr addrspace(1) %g" + n + ", align 4\n";
    sums += "  %s" + n + " = fadd float " + (i == 0 ? "0.0" : "%s" + std::to_string(i - 1)) +
            ", %x" + n + "\n";
  }
  const KernelText kernel{32, 0, 2,
                          loads + sums + R"(  %o = getelementptr float, ptr addrspace(1) %p1, i32 %t
  store float %s7, ptr addrspace(1) %o, align 4
  ret void)"};
  std::vector<float> in = ramp(8), out(32);
  const int all = counted(kernel, {read_buffer(in), written_buffer(out)}).live_words;
  // The eight, the thread's index, the output's address, and one of what follows.
  CHECK(all >= 8 + 1 + 2);
  CHECK(all <= 8 + 1 + 2 + 4);
}

TEST_CASE("counters: the time that they imply is that of the busiest unit") {
  choice::GpuMachine machine = ptx::described_gpu("a100");
  machine.multiprocessors = 10;
  KernelCounters counters;
  counters.blocks = 15;  // two on five of the multiprocessors
  counters.all[InstructionClass::Mma] = 1500;
  const double cycles = 1500.0 * 2 / 15 * 2048 / machine.f16_mma_fma;
  const auto [seconds, what] = ptx::counter_roofline(machine, counters).bound();
  CHECK(what == std::string("mma"));
  CHECK(seconds == doctest::Approx(cycles / machine.clock_hz));
  counters.shared.units = 100000;
  CHECK(ptx::counter_roofline(machine, counters).bound().second == std::string("shared"));
  counters.all[InstructionClass::LongDivision] = 1000000;
  CHECK(ptx::counter_roofline(machine, counters).bound().second == std::string("issue"));
}
