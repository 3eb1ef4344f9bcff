#include "tests/unit/cpu/loop/fixture.hpp"
#include "tests/support/held_code.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "tests/support/half.hpp"
#include "tests/support/round_machine.hpp"
#include "tests/unit/cpu/loop/guarded_buffer.hpp"

namespace dyn::testing {

namespace {

struct Memory {
  std::vector<GuardedBuffer> buffers;
  std::vector<void*> pointers;

  explicit Memory(const std::vector<std::vector<std::uint8_t>>& initial) {
    buffers.reserve(initial.size());
    for (std::size_t i = 0; i < initial.size(); ++i) {
      buffers.emplace_back(initial[i].size());
      if (!initial[i].empty()) std::memcpy(buffers[i].data(), initial[i].data(), initial[i].size());
      pointers.push_back(buffers[i].data());
    }
  }

  std::vector<std::vector<std::uint8_t>> contents() const {
    std::vector<std::vector<std::uint8_t>> all;
    for (const GuardedBuffer& buffer : buffers) {
      const auto* first = static_cast<const std::uint8_t*>(buffer.data());
      all.emplace_back(first, first + buffer.bytes());
    }
    return all;
  }
};

codegen::CodeStore& store_for(const codegen::Isa& isa) {
  static std::map<std::string, std::shared_ptr<codegen::CodeStore>> stores;
  auto& store = stores[isa.name];
  if (!store) store = codegen::CodeStore::open(isa, {});
  return *store;
}

/// Which of two NaN an addition keeps is not defined; all become one.
void unify_nans(DType dtype, std::vector<std::uint8_t>& bytes) {
  if (!is_float(dtype)) return;
  for (std::size_t at = 0; at < bytes.size(); at += size_of(dtype)) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + at, size_of(dtype));
    const bool nan = dtype == DType::f64 ? std::isnan(std::bit_cast<double>(bits))
                     : dtype == DType::f32
                         ? std::isnan(std::bit_cast<float>(static_cast<std::uint32_t>(bits)))
                         : std::isnan(half_value(dtype, static_cast<std::uint16_t>(bits)));
    if (nan) std::memset(bytes.data() + at, 0xff, size_of(dtype));
  }
}

/// `step` tickets in one call; 0: all.
void run_stage(rkernel::KernelFunction function, const rkernel::KernelArgs& args,
               std::int64_t tickets, std::int64_t step, void* scratch) {
  if (step == 0) step = std::max<std::int64_t>(tickets, 1);
  for (std::int64_t first = 0; first < tickets; first += step)
    function(&args, first, std::min(step, tickets - first), scratch);
}

}  // namespace

RunResult run_loop_kernel(const ProblemBuilder& builder, const codegen::Isa& isa,
                          std::vector<std::vector<std::uint8_t>> initial, std::int64_t tickets,
                          bool plain, bool small_caches, int threads) {
  auto machine = std::make_shared<choice::Machine>(round_machine());
  for (choice::MemoryLevel& level : machine->levels)
    level.bytes = small_caches ? std::min<std::int64_t>(level.bytes, 64) : level.bytes;
  auto draft = cpu::LoopKernel::draft(builder.problem, isa, machine);
  const auto sources = draft.sources();
  // Positions instead of addresses tell which class the plan takes; only that class' code is
  // compiled.
  std::vector<char> positions(sources.size());
  std::vector<void*> addresses;
  for (char& position : positions) addresses.push_back(&position);
  const auto kernel = std::move(draft).with_code(addresses);
  rkernel::Launch launch = kernel->plan({builder.values, threads});
  const auto chosen = reinterpret_cast<char*>(launch.function) - positions.data();
  const codegen::KernelSource* source = &sources[static_cast<std::size_t>(chosen)];
  const std::string with_scratch = "loop scratch";
  if (plain && source->key.starts_with(with_scratch)) {
    const std::string wanted = "loop plain" + source->key.substr(with_scratch.size());
    for (const codegen::KernelSource& other : sources)
      if (other.key == wanted) source = &other;
  }
  const auto function_of = [&](const codegen::KernelSource* code) {
    rkernel::CompileReport report;
    return reinterpret_cast<rkernel::KernelFunction>(
        testing::hold(store_for(isa).resolve({code, 1}, 1, report)).front());
  };
  launch.function = function_of(source);
  if (launch.merge != nullptr)
    launch.merge = function_of(&sources[static_cast<std::size_t>(
        reinterpret_cast<char*>(launch.merge) - positions.data())]);
  Memory memory(initial);
  const GuardedBuffer scratch((launch.scratch_bytes + 63) / 64 * 64),
      shared((launch.shared_bytes + 63) / 64 * 64);
  std::atomic<std::int32_t> status{0};
  const rkernel::KernelArgs args{memory.pointers.data(), launch.ints.data(), &status,
                                 shared.data()};
  run_stage(launch.function, args, launch.tickets, tickets, scratch.data());
  if (launch.merge != nullptr)
    run_stage(launch.merge, args, launch.merge_tickets, tickets, scratch.data());
  for (const GuardedBuffer& buffer : memory.buffers) CHECK(buffer.intact());
  CHECK(scratch.intact());
  CHECK(shared.intact());
  RunResult result{status.load(), launch.merge != nullptr, memory.contents()};
  for (std::size_t i = 0; i < result.outputs.size(); ++i)
    unify_nans(builder.problem.operands[i].dtype, result.outputs[i]);
  return result;
}

void check_problem(const ProblemBuilder& builder, unsigned seed, double tolerance, bool specials,
                   const std::map<int, std::vector<std::uint8_t>>& given) {
  CAPTURE(builder.problem.name);
  CAPTURE(seed);
  CAPTURE(builder.extents);
  const auto initial = random_contents(builder, seed, specials, given);
  const auto wanted = interpreted(builder, initial);
  std::optional<RunResult> with_fma;
  for (const codegen::Isa& isa : codegen::all_isas()) {
    if (!codegen::cpu_has(isa)) continue;
    CAPTURE(isa.name);
    const RunResult got = run_loop_kernel(builder, isa, initial);
    REQUIRE(got.status == 0);
    for (std::size_t i = 0; i < wanted.size(); ++i)
      require_close(builder, static_cast<int>(i), got.outputs[i], wanted[i], tolerance);
    const RunResult divided =
        run_loop_kernel(builder, isa, initial, 1 + static_cast<std::int64_t>(seed % 3));
    REQUIRE(divided.outputs == got.outputs);
    REQUIRE(run_loop_kernel(builder, isa, initial, 0, true).outputs == got.outputs);
    REQUIRE(run_loop_kernel(builder, isa, initial, 0, false, true).outputs == got.outputs);
    for (const int threads : {1, 3})
      REQUIRE(run_loop_kernel(builder, isa, initial, 0, false, false, threads).outputs ==
              got.outputs);
    if (!isa.fma) continue;
    if (with_fma)
      REQUIRE(with_fma->outputs == got.outputs);
    else
      with_fma = got;
  }
}

}  // namespace dyn::testing
