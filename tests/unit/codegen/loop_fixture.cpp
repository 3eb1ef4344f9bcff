#include "tests/unit/codegen/loop_fixture.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <optional>

#include "tests/support/round_machine.hpp"
#include "tests/support/problem_interpreter.hpp"

namespace dyn::testing {

using rkernel::Expr;
using rkernel::ExprOp;

graph::Dim ProblemBuilder::symbol(std::int64_t value) {
  values.push_back(value);
  return dims.symbol({.name = "", .low = std::numeric_limits<std::int64_t>::min() / 4, .hint = std::nullopt});
}

int ProblemBuilder::axis(std::int64_t extent, rkernel::AxisKind kind) {
  values.push_back(extent);
  const graph::Dim dim = dims.symbol({.name = "", .high = 1 << 20, .hint = std::nullopt});
  problem.axes.push_back({"axis" + std::to_string(extents.size()), dim, kind});
  extents.push_back(extent);
  return static_cast<int>(extents.size()) - 1;
}

int ProblemBuilder::operand(DType dtype, std::vector<graph::Dim> strides, std::int64_t count, bool written) {
  rkernel::Operand operand;
  const int index = static_cast<int>(problem.operands.size());
  operand.name = "operand" + std::to_string(index);
  operand.dtype = dtype;
  operand.buffer = index;
  operand.written = written;
  operand.offset = dims.constant(0);
  operand.strides = std::move(strides);
  problem.operands.push_back(std::move(operand));
  elements.push_back(count);
  return index;
}

int ProblemBuilder::dense(DType dtype, const std::vector<int>& axes, bool written) {
  std::vector<graph::Dim> strides(extents.size(), constant(0));
  graph::Dim stride = constant(1);
  std::int64_t count = 1;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    const auto position = static_cast<std::size_t>(*axis);
    strides[position] = stride;
    stride = stride * problem.axes[position].extent;
    count *= extents[position];
  }
  return operand(dtype, std::move(strides), count, written);
}

int ProblemBuilder::expr(ExprOp op, std::vector<int> args, DType dtype) {
  Expr expr;
  expr.op = op;
  expr.dtype = dtype;
  std::copy(args.begin(), args.end(), expr.args);
  problem.exprs.push_back(expr);
  return static_cast<int>(problem.exprs.size()) - 1;
}

int ProblemBuilder::load(int operand, int gather) {
  const int result = expr(ExprOp::Load, {gather}, problem.operands[static_cast<std::size_t>(operand)].dtype);
  problem.exprs.back().operand = operand;
  return result;
}

int ProblemBuilder::number(double value) {
  const int result = expr(ExprOp::Constant, {});
  problem.exprs.back().number = value;
  return result;
}

int ProblemBuilder::integer(std::int64_t value) {
  const int result = expr(ExprOp::Constant, {}, DType::i64);
  problem.exprs.back().integer = value;
  return result;
}

int ProblemBuilder::index(int axis) {
  const int result = expr(ExprOp::Index, {}, DType::i64);
  problem.exprs.back().axis = axis;
  return result;
}

int ProblemBuilder::dim(graph::Dim dim) {
  const int result = expr(ExprOp::DimValue, {}, DType::i64);
  problem.exprs.back().dim = dim;
  return result;
}

namespace {

template <class T>
void fill_with(void* memory, std::size_t count, const auto& next) {
  for (std::size_t i = 0; i < count; ++i) {
    const T value = static_cast<T>(next());
    std::memcpy(static_cast<char*>(memory) + i * sizeof(T), &value, sizeof(T));
  }
}

float random_float(std::mt19937& random, bool specials) {
  constexpr float list[] = {NAN, INFINITY, -INFINITY, 0.0f, -0.0f};
  if (specials && random() % 50 == 0) return list[random() % 5];
  return std::normal_distribution<float>()(random);
}

struct Memory {
  std::vector<GuardedBuffer> buffers;
  std::map<graph::ValueId, void*> by_value;
  std::vector<void*> pointers;

  Memory(const ProblemBuilder& builder, const std::vector<std::vector<std::uint8_t>>& initial) {
    buffers.reserve(initial.size());
    for (std::size_t i = 0; i < initial.size(); ++i) {
      buffers.emplace_back(initial[i].size());
      if (!initial[i].empty()) std::memcpy(buffers[i].data(), initial[i].data(), initial[i].size());
      by_value[builder.problem.operands[i].buffer] = buffers[i].data();
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

cpu::CodeStore& store_for(const cpu::Isa& isa) {
  static std::map<std::string, std::shared_ptr<cpu::CodeStore>> stores;
  auto& store = stores[isa.name];
  if (!store) store = cpu::CodeStore::open(isa, {});
  return *store;
}

/// Which of two NaN an addition keeps is not defined; all become one.
void unify_nans(std::vector<std::uint8_t>& bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(float)) {
    float value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    if (std::isnan(value)) value = NAN;
    std::memcpy(bytes.data() + at, &value, sizeof value);
  }
}

void compare_floats(const std::vector<std::uint8_t>& got, const std::vector<std::uint8_t>& wanted, double tolerance) {
  double largest = 1;
  const std::size_t count = got.size() / 4;
  std::vector<float> a(count), b(count);
  if (count > 0) std::memcpy(a.data(), got.data(), got.size()), std::memcpy(b.data(), wanted.data(), wanted.size());
  for (const float value : b)
    if (std::isfinite(value)) largest = std::max(largest, static_cast<double>(std::fabs(value)));
  for (std::size_t i = 0; i < count; ++i) {
    const bool same = std::isfinite(b[i]) ? std::fabs(a[i] - b[i]) <= tolerance * largest
                                          : (std::isnan(b[i]) ? std::isnan(a[i]) : a[i] == b[i]);
    CAPTURE(i);
    CAPTURE(a[i]);
    CAPTURE(b[i]);
    if (!same) REQUIRE(same);
  }
}

}  // namespace

void fill(const ProblemBuilder& builder, int operand, void* memory, std::mt19937& random, bool specials) {
  const auto count = static_cast<std::size_t>(builder.elements[static_cast<std::size_t>(operand)]);
  const auto small = [&] { return static_cast<int>(random() % 9) - 4; };
  switch (builder.problem.operands[static_cast<std::size_t>(operand)].dtype) {
    case DType::f32: return fill_with<float>(memory, count, [&] { return random_float(random, specials); });
    case DType::i64: return fill_with<std::int64_t>(memory, count, small);
    case DType::i32: return fill_with<std::int32_t>(memory, count, small);
    default: return fill_with<std::uint8_t>(memory, count, [&] { return random() % 2; });
  }
}

RunResult run_loop_kernel(const ProblemBuilder& builder, const cpu::Isa& isa, std::vector<std::vector<std::uint8_t>> initial,
                          std::int64_t tickets, bool plain) {
  const auto kernel = cpu::LoopKernel::create(builder.problem, isa, std::make_shared<rkernel::Machine>(round_machine()));
  const auto sources = kernel->sources();
  // Positions instead of addresses tell which class the plan takes; only that one is compiled.
  std::vector<char> positions(sources.size());
  std::vector<void*> addresses;
  for (char& position : positions) addresses.push_back(&position);
  kernel->bind(addresses);
  rkernel::Launch launch = kernel->plan({builder.values, 2});
  const auto chosen = reinterpret_cast<char*>(launch.function) - positions.data();
  const cpu::KernelSource* source = &sources[static_cast<std::size_t>(chosen)];
  const std::string with_scratch = "loop scratch";
  if (plain && source->key.starts_with(with_scratch)) {
    const std::string wanted = "loop plain" + source->key.substr(with_scratch.size());
    for (const cpu::KernelSource& other : sources)
      if (other.key == wanted) source = &other;
  }
  rkernel::CompileReport report;
  launch.function = reinterpret_cast<rkernel::KernelFunction>(store_for(isa).resolve({source, 1}, 1, report).front());
  Memory memory(builder, initial);
  const GuardedBuffer scratch((launch.scratch_bytes + 63) / 64 * 64);
  std::atomic<std::int32_t> status{0};
  const rkernel::KernelArgs args{memory.pointers.data(), launch.ints.data(), &status};
  const std::int64_t step = tickets > 0 ? tickets : std::max<std::int64_t>(launch.tickets, 1);
  for (std::int64_t first = 0; first < launch.tickets; first += step)
    launch.function(&args, first, std::min(step, launch.tickets - first), scratch.data());
  for (const GuardedBuffer& buffer : memory.buffers) CHECK(buffer.intact());
  CHECK(scratch.intact());
  RunResult result{status.load(), memory.contents()};
  for (std::size_t i = 0; i < result.outputs.size(); ++i)
    if (builder.problem.operands[i].dtype == DType::f32) unify_nans(result.outputs[i]);
  return result;
}

void check_problem(const ProblemBuilder& builder, unsigned seed, double tolerance, bool specials,
                   const std::map<int, std::vector<std::uint8_t>>& given) {
  CAPTURE(builder.problem.name);
  CAPTURE(seed);
  CAPTURE(builder.extents);
  std::mt19937 random(seed);
  std::vector<std::vector<std::uint8_t>> initial;
  for (std::size_t i = 0; i < builder.elements.size(); ++i) {
    const DType dtype = builder.problem.operands[i].dtype;
    initial.emplace_back(static_cast<std::size_t>(builder.elements[i]) * size_of(dtype));
    if (const auto found = given.find(static_cast<int>(i)); found != given.end()) initial.back() = found->second;
    else fill(builder, static_cast<int>(i), initial.back().data(), random, specials);
  }
  Memory expected(builder, initial);
  interpret(builder.problem, builder.values, expected.by_value);
  const auto wanted = expected.contents();
  std::optional<RunResult> with_fma;
  for (const cpu::Isa& isa : cpu::all_isas()) {
    if (!cpu::cpu_has(isa)) continue;
    CAPTURE(isa.name);
    const RunResult got = run_loop_kernel(builder, isa, initial);
    REQUIRE(got.status == 0);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      CAPTURE(i);
      if (builder.problem.operands[i].dtype == DType::f32) compare_floats(got.outputs[i], wanted[i], tolerance);
      else REQUIRE(got.outputs[i] == wanted[i]);
    }
    const RunResult divided = run_loop_kernel(builder, isa, initial, 1 + static_cast<std::int64_t>(seed % 3));
    REQUIRE(divided.outputs == got.outputs);
    REQUIRE(run_loop_kernel(builder, isa, initial, 0, true).outputs == got.outputs);
    if (!isa.fma) continue;
    if (with_fma) REQUIRE(with_fma->outputs == got.outputs);
    else with_fma = got;
  }
}

}  // namespace dyn::testing
