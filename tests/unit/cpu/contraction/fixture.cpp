#include "tests/unit/cpu/contraction/fixture.hpp"
#include "tests/support/held_code.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <span>
#include <stdexcept>

#include <fmt/format.h>

#include "src/rkernel/target/program_space.hpp"
#include "src/rkernel/tree/regions.hpp"
#include "targets/cpu/measure/measure.hpp"
#include "targets/cpu/move/narrow_weights.hpp"
#include "targets/cpu/move/pack.hpp"
#include "targets/cpu/tile/dot_loop.hpp"
#include "targets/cpu/vendor/provider.hpp"
#include "tests/support/half.hpp"
#include "tests/support/random_floats.hpp"
#include "tests/unit/cpu/contraction/guards.hpp"

namespace dyn::cpu::testing {
namespace {

using rkernel::Expr;
using rkernel::ExprOp;
using rkernel::Operand;

/// The operands of a case, and the result of plain loops in double.
struct Data {
  std::vector<float> a, b, bias, residual, packed;
  std::vector<double> expected, bound;
  std::vector<double> unrounded, wide_bound;  ///< of the weights before they were rounded
  const void* scales = nullptr;
};

/// A weight as its dtype keeps it, and the largest rounding error.
struct Rounded {
  double value, error;
};

Rounded rounded(DType dtype, float weight, float largest_of_column) {
  const double magnitude = std::fabs(double{weight});
  switch (dtype) {
    case DType::bf16:
      return {dyn::testing::half_value(dtype, dyn::testing::half_bits(dtype, weight)),
              magnitude * 0x1p-8};
    case DType::f16:
      return {dyn::testing::half_value(dtype, dyn::testing::half_bits(dtype, weight)),
              magnitude * 0x1p-11 + 0x1p-25};
    case DType::i8: {
      const float scale = largest_of_column / 127;
      return {scale == 0 ? 0 : std::nearbyint(weight / scale) * double{scale}, scale * 0.501};
    }
    default: return {weight, 0};
  }
}

Data make_data(const Case& c, const codegen::Isa& isa, std::mt19937_64& random) {
  const auto filled = [&](std::int64_t count) {
    return dyn::testing::random_floats(random, count);
  };
  const std::int64_t a_row = (c.transpose_a ? c.m : c.k) + c.a_slack,
                     a_rows = c.transpose_a ? c.k : c.m;
  Data data;
  data.a = filled(c.batch * a_rows * a_row + 1);
  data.b = filled((c.packed ? 1 : c.batch) * c.n * c.k);
  data.bias = filled(c.n + 1);
  data.residual = filled(c.batch * c.m * c.n + 1);
  if (c.packed) {
    const rkernel::PackedLayout layout{c.weights, isa.panel_f32, c.k, c.n,
                                       c.fixed_weights ? packed_rows(isa, c.weights, c.k, c.n) : 0};
    data.packed.resize(static_cast<std::size_t>(layout.bytes()) / sizeof(float) + 1);
    pack_panels(layout,
                {data.b.data(), DType::f32, c.transpose_b ? 1 : c.n, c.transpose_b ? c.k : 1}, 0,
                layout.panels(), data.packed.data());
    data.scales =
        reinterpret_cast<const std::byte*>(data.packed.data()) + layout.scales_offset_bytes();
  }
  const auto weight = [&](std::int64_t batch, std::int64_t k, std::int64_t n) {
    return data.b[static_cast<std::size_t>((c.packed ? 0 : batch * c.n * c.k) +
                                           (c.transpose_b ? n * c.k + k : k * c.n + n))];
  };
  std::vector<float> largest(static_cast<std::size_t>(c.n), 0);
  for (std::int64_t n = 0; c.packed && n < c.n; ++n) {
    for (std::int64_t k = 0; k < c.k; ++k)
      largest[static_cast<std::size_t>(n)] =
          std::max(largest[static_cast<std::size_t>(n)], std::fabs(weight(0, k, n)));
  }
  const double epsilon = std::numeric_limits<float>::epsilon();
  for (std::int64_t batch = 0; batch < c.batch; ++batch) {
    for (std::int64_t m = 0; m < c.m; ++m) {
      for (std::int64_t n = 0; n < c.n; ++n) {
        double sum = 0, unrounded = 0, magnitude = 0, rounding = 0;
        for (std::int64_t k = 0; k < c.k; ++k) {
          const double a = data.a[static_cast<std::size_t>(
              batch * a_rows * a_row + (c.transpose_a ? k * a_row + m : m * a_row + k))];
          const Rounded b =
              rounded(c.weights, weight(batch, k, n), largest[static_cast<std::size_t>(n)]);
          sum += a * b.value;
          unrounded += a * weight(batch, k, n);
          magnitude += std::fabs(a * b.value);
          rounding += std::fabs(a) * b.error;
        }
        const auto at = static_cast<std::size_t>((batch * c.m + m) * c.n + n);
        const auto finished = [&](double value) {
          if (c.bias) value += data.bias[static_cast<std::size_t>(n)];
          if (c.relu) value = std::max(value, 0.0);
          if (c.long_epilogue) value = -std::fabs(value);
          return c.residual ? value + data.residual[at] : value;
        };
        data.expected.push_back(finished(sum));
        data.unrounded.push_back(finished(unrounded));
        data.bound.push_back((static_cast<double>(c.k) + 4) * epsilon * (magnitude + 4));
        data.wide_bound.push_back(data.bound.back() + rounding);
      }
    }
  }
  return data;
}

/// The result of a launch; nothing where it wrote outside of the output.
std::vector<float> output_of(const Case& c, const Data& data, const rkernel::Launch& launch) {
  const auto outputs = static_cast<std::size_t>(c.batch * c.m * c.n);
  std::vector<float> output(outputs + 2 * guard_elements, guard);
  std::vector<const float*> pointers{data.a.data(), (c.packed ? data.packed : data.b).data()};
  if (c.bias) pointers.push_back(data.bias.data());
  if (c.residual) pointers.push_back(data.residual.data());
  pointers.push_back(output.data() + guard_elements);
  if (c.weights == DType::i8) pointers.push_back(static_cast<const float*>(data.scales));
  run_stages(launch, pointers);
  if (!guards_intact(output)) return {};
  return {output.begin() + guard_elements, output.end() - guard_elements};
}

/// Runs a launch; returns the largest error over its bound, infinity where it wrote outside of the
/// output.
double run_launch(const Case& c, const Data& data, const rkernel::Launch& launch) {
  const std::vector<float> output = output_of(c, data, launch);
  if (output.size() != data.expected.size()) return std::numeric_limits<double>::infinity();
  double worst = 0;
  for (std::size_t i = 0; i < data.expected.size(); ++i) {
    const double error = std::fabs(data.expected[i] - output[i]) / data.bound[i];
    const double from_unrounded = std::fabs(data.unrounded[i] - output[i]) / data.wide_bound[i];
    worst = std::isnan(error) ? std::numeric_limits<double>::infinity()
                              : std::max({worst, error, from_unrounded});
  }
  return worst;
}

}  // namespace

std::string words(const Case& c) {
  return fmt::format("batch {} M {} N {} K {}{}{} {} {}{}{}{}{} slack {}", c.batch, c.m, c.n, c.k,
                     c.transpose_a ? " A transposed" : "", c.transpose_b ? " B transposed" : "",
                     c.packed ? "packed" : "fresh", name_of(c.weights), c.bias ? " bias" : "",
                     c.relu ? " relu" : "", c.long_epilogue ? " long" : "",
                     c.residual ? " residual" : "", c.a_slack);
}

Built build(const Case& c) {
  Built built;
  built.dims = std::make_unique<graph::DimTable>();
  graph::DimTable& dims = *built.dims;
  const auto symbol = [&](const char* name, std::int64_t value) {
    built.symbols.push_back(value);
    return dims.symbol({.name = name, .low = 0, .high = 1 << 30, .divisor = 1, .hint = {}});
  };
  const graph::Dim batch = c.fixed_rows ? dims.constant(c.batch) : symbol("B", c.batch);
  const graph::Dim m = c.fixed_rows ? dims.constant(c.m) : symbol("M", c.m);
  const graph::Dim n = c.fixed_weights ? dims.constant(c.n) : symbol("N", c.n),
                   k = c.fixed_weights ? dims.constant(c.k) : symbol("K", c.k);
  const graph::Dim slack = dims.constant(c.a_slack), zero = dims.constant(0),
                   one = dims.constant(1);
  rkernel::Problem& problem = built.problem;
  problem.name = "matmul";
  problem.axes = {{"b", batch}, {"m", m}, {"n", n}, {"k", k, rkernel::AxisKind::Reduction}};
  problem.contraction = rkernel::Contraction{0, 1, 1, 2, 3};
  problem.lane_axis = 2;
  const graph::Dim a_row = (c.transpose_a ? m : k) + slack;
  const graph::Dim a_rows = c.transpose_a ? k : m;
  const auto operand = [&](const char* name, graph::ValueId buffer, std::vector<graph::Dim> strides,
                           bool written) {
    Operand made;
    made.name = name;
    made.buffer = buffer;
    made.offset = zero;
    made.strides = std::move(strides);
    made.written = written;
    problem.operands.push_back(made);
  };
  operand("a", 0, {a_rows * a_row, c.transpose_a ? one : a_row, zero, c.transpose_a ? a_row : one},
          false);
  const graph::Dim b_batch = c.packed ? zero : n * k;
  operand("b", 1, {b_batch, zero, c.transpose_b ? k : one, c.transpose_b ? one : n}, false);
  if (c.packed) problem.operands.back().form = rkernel::Form::Packed;
  const auto expr = [](ExprOp op, int a, int b, int operand) {
    Expr made;
    made.op = op;
    made.args[0] = a;
    made.args[1] = b;
    made.operand = operand;
    return made;
  };
  problem.exprs.push_back(expr(ExprOp::Accumulator, -1, -1, -1));
  int value = 0;
  const auto push = [&](const Expr& made) {
    problem.exprs.push_back(made);
    return static_cast<int>(problem.exprs.size()) - 1;
  };
  if (c.bias) {
    operand("bias", 2, {zero, zero, one, zero}, false);
    const int load =
        push(expr(ExprOp::Load, -1, -1, static_cast<int>(problem.operands.size()) - 1));
    value = push(expr(ExprOp::Add, value, load, -1));
  }
  if (c.relu) value = push(expr(ExprOp::Relu, value, -1, -1));
  for (int i = 0; c.long_epilogue && i < 4; ++i)
    value = push(expr(ExprOp::Neg, push(expr(ExprOp::Abs, value, -1, -1)), -1, -1));
  if (c.residual) {
    operand("residual", 3, {m * n, n, one, zero}, false);
    const int load =
        push(expr(ExprOp::Load, -1, -1, static_cast<int>(problem.operands.size()) - 1));
    value = push(expr(ExprOp::Add, value, load, -1));
  }
  operand("c", 4, {m * n, n, one, zero}, true);
  problem.stores.push_back({value, static_cast<int>(problem.operands.size()) - 1});
  std::vector<rkernel::Problem> problems{problem};
  narrow_weights(problems, c.weights, codegen::all_isas().front());
  problem = problems.front();
  return built;
}

MainLoopTable loops_for(const codegen::Isa& isa, codegen::CodeStore& store, DType weights) {
  rkernel::CompileReport report;
  return main_loop_table(main_loop_tiles(isa), dyn::testing::hold(store.resolve(
                                                   main_loop_sources(isa, weights), 2, report)));
}

ContractionLoops all_loops(const codegen::Isa& isa, codegen::CodeStore& store) {
  rkernel::CompileReport report;
  ContractionLoops loops{loops_for(isa, store, DType::f32),
                         main_loop_table(dot_tiles(isa), dyn::testing::hold(store.resolve(
                                                             dot_loop_sources(isa), 2, report)))};
  for (const DType dtype : weight_dtypes(isa)) loops.narrow[dtype] = loops_for(isa, store, dtype);
  return loops;
}

std::unique_ptr<ContractionKernel> compiled(ContractionKernel::Draft draft,
                                            codegen::CodeStore& store) {
  rkernel::CompileReport report;
  std::vector<void*> functions = dyn::testing::hold(store.resolve(draft.sources(), 2, report));
  return std::move(draft).with_code(std::move(functions));
}

std::vector<DType> weight_dtypes(const codegen::Isa& isa) {
  std::vector<DType> dtypes;
  for (const DType dtype : {DType::bf16, DType::f16, DType::i8}) {
    if (codegen::can_widen(isa, dtype)) dtypes.push_back(dtype);
  }
  return dtypes;
}

std::shared_ptr<const ContractionContext> context_for(const codegen::Isa& isa,
                                                      codegen::CodeStore& store, bool with_vendor) {
  static std::unordered_map<std::string, std::shared_ptr<const ContractionContext>> contexts;
  // The addresses that a context holds live as long as the process's store for the ISA.
  static std::vector<std::shared_ptr<codegen::CodeStore>> kept;
  auto& context = contexts[isa.name + (with_vendor ? " vendor" : "")];
  if (!context) {
    kept.push_back(codegen::CodeStore::open(isa, {}));
    const ContractionLoops loops = all_loops(isa, store);
    rkernel::CompileReport report;
    choice::Machine machine = machine_figures(isa, 2, [&] { return loops.f32; }, store, "", report);
    ContractionSettings settings;
    if (with_vendor) {
      Vendor vendor;
      vendor.library = vendor::OneDnn::of_process(vendor.why_not);
      vendor.figures = {
          {1e6, 1e-9},
          {1e6, 1e-9}};  // so slow that more threads pay wherever there are more blocks
      settings.library = std::make_shared<const OneDnnLibrary>(std::move(vendor));
    }
    context = std::make_shared<const ContractionContext>(isa, std::move(machine), loops,
                                                         std::move(settings));
  }
  return context;
}

void run_stages(const rkernel::Launch& launch, std::vector<const float*> operands) {
  std::vector<void*> pointers;
  for (const float* operand : operands) pointers.push_back(const_cast<float*>(operand));
  std::atomic<std::int32_t> status{0};
  std::vector<float> shared(launch.shared_bytes / sizeof(float),
                            std::numeric_limits<float>::quiet_NaN());
  const rkernel::KernelArgs args{pointers.data(), launch.ints.data(), &status, shared.data(),
                                 launch.kept.get()};
  const std::size_t scratch_floats = (launch.scratch_bytes + 63) / 64 * 16;
  const std::unique_ptr<void, decltype(&std::free)> memory(
      std::aligned_alloc(64, (scratch_floats + guard_elements) * sizeof(float)), &std::free);
  auto* scratch = static_cast<float*>(memory.get());
  const std::span<float> behind(scratch + scratch_floats, guard_elements);
  std::ranges::fill(behind, guard);
  for (std::int64_t ticket = 0; ticket < launch.tickets; ticket += launch.grain) {
    launch.function(&args, ticket, std::min(launch.grain, launch.tickets - ticket), scratch);
  }
  for (std::int64_t ticket = 0; launch.merge != nullptr && ticket < launch.merge_tickets; ++ticket)
    launch.merge(&args, ticket, 1, scratch);
  if (std::ranges::count(behind, guard) != static_cast<std::ptrdiff_t>(guard_elements))
    throw std::logic_error("a kernel wrote beyond its scratch");
}

namespace {

/// A case whose kernel is ready to be planned.
struct Bound {
  Bound(const Case& c, const std::shared_ptr<const ContractionContext>& context,
        codegen::CodeStore& store, std::mt19937_64& random, int threads)
      : built(build(c)),
        data(make_data(c, context->isa(), random)),
        kernel(compiled(ContractionKernel::draft(built.problem, context, 2), store)),
        request{built.symbols, threads} {}

  Built built;
  Data data;
  std::unique_ptr<const ContractionKernel> kernel;
  rkernel::PlanRequest request;
};

}  // namespace

double run_choices(const Case& c, const codegen::Isa& isa, codegen::CodeStore& store,
                   std::mt19937_64& random, int threads,
                   const std::function<bool(const choice::Choice&)>& wanted) {
  const Bound bound(c, context_for(isa, store), store, random, threads);
  double worst = 0;
  bound.kernel->for_each_choice(bound.request, [&](const choice::Choice& choice) {
    if (wanted(choice))
      worst = std::max(worst,
                       run_launch(c, bound.data, bound.kernel->launch_with(bound.request, choice)));
  });
  return worst;
}

double run_case(const Case& c, const codegen::Isa& isa, codegen::CodeStore& store,
                std::mt19937_64& random, int threads, int random_strategies) {
  const Bound bound(c, context_for(isa, store), store, random, threads);
  double worst = run_launch(c, bound.data, bound.kernel->plan(bound.request));
  std::vector<choice::Choice> choices;
  bound.kernel->for_each_choice(bound.request,
                                [&](const choice::Choice& choice) { choices.push_back(choice); });
  for (int i = 0; i < random_strategies; ++i) {
    worst = std::max(worst, run_launch(c, bound.data,
                                       bound.kernel->launch_with(
                                           bound.request, choices.at(random() % choices.size()))));
  }
  return worst;
}

double run_vendor(const Case& c, const codegen::Isa& isa, codegen::CodeStore& store,
                  std::mt19937_64& random, int threads, std::string& words) {
  const Bound bound(c, context_for(isa, store, true), store, random, threads);
  const rkernel::Choices choices = bound.kernel->choices(bound.request, rkernel::Policy::Vendor);
  words = choices.candidates.empty() ? choices.none_reason : choices.candidates.front().program;
  return run_launch(c, bound.data,
                    choices.candidates.empty() ? bound.kernel->plan(bound.request)
                                               : choices.candidates.front().launch);
}

Planned plan_case(const Case& c, const std::shared_ptr<const ContractionContext>& context,
                  codegen::CodeStore& store, std::mt19937_64& random, int threads) {
  const Bound bound(c, context, store, random, threads);
  Planned planned{bound.kernel->plan(bound.request),
                  bound.kernel->choices(bound.request, context->policy()),
                  bound.kernel->explain(bound.request)};
  planned.error = run_launch(c, bound.data, planned.launch);
  return planned;
}

double run_programs(const Case& c, const codegen::Isa& isa, codegen::CodeStore& store,
                    std::mt19937_64& random, int threads, int count) {
  const Bound bound(c, context_for(isa, store), store, random, threads);
  std::map<rkernel::LaneAxis, std::vector<choice::Choice>> choices;
  bound.kernel->for_each_choice(bound.request, [&](const choice::Choice& choice) {
    const rkernel::Strategy& strategy = choice.program.regions.front().strategy;
    if (strategy.split_k == 1 && strategy.lanes != rkernel::LaneAxis::K)
      choices[strategy.lanes].push_back(choice);
  });
  double worst = 0;
  for (const auto& [lanes, of_lanes] : choices) {
    const std::int64_t m = lanes == rkernel::LaneAxis::M ? c.n : c.m,
                       n = lanes == rkernel::LaneAxis::M ? c.m : c.n;
    const auto below = [&](std::int64_t limit) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(limit + 1));
    };
    for (const rkernel::Pattern pattern : rkernel::all_patterns) {
      for (int i = 0; i < count; ++i) {
        rkernel::Cuts cuts{
            below(m), std::min(n, below((n + isa.panel_f32 - 1) / isa.panel_f32) * isa.panel_f32),
            0};
        cuts.second_m = cuts.m + below(m - cuts.m);
        choice::Choice choice = of_lanes.at(random() % of_lanes.size());
        choice.program.regions = rkernel::cover(pattern, m, n, cuts);
        for (rkernel::Region& region : choice.program.regions)
          region.strategy =
              of_lanes.at(random() % of_lanes.size()).program.regions.front().strategy;
        worst = std::max(
            worst, run_launch(c, bound.data, bound.kernel->launch_with(bound.request, choice)));
      }
    }
  }
  return worst;
}

double run_candidates(const Case& c, const std::shared_ptr<const ContractionContext>& context,
                      codegen::CodeStore& store, std::mt19937_64& random, int threads,
                      rkernel::Policy policy, std::size_t most, std::size_t* ran) {
  const Bound bound(c, context, store, random, threads);
  const rkernel::Choices choices = bound.kernel->choices(bound.request, policy);
  const std::size_t count = choices.candidates.size();
  double worst = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const bool always = i == 0 || i + 1 == count || i == choices.chosen;
    if (!always && random() % count >= most) continue;
    worst = std::max(worst, run_launch(c, bound.data, choices.candidates[i].launch));
    if (ran != nullptr) ++*ran;
  }
  return worst;
}

double run_space(const Case& c, const codegen::Isa& isa, codegen::CodeStore& store,
                 std::mt19937_64& random, int threads, int count, std::size_t* distinct) {
  const Bound bound(c, context_for(isa, store), store, random, threads);
  const auto space = bound.kernel->program_space(bound.request);
  std::set<std::string> words;
  double worst = 0;
  const std::vector<rkernel::ProgramSpace::Point> seeds = space->seeds();
  for (int i = 0; i < count;) {
    // A random point is rarely allowed: some values of a seed are changed.
    rkernel::ProgramSpace::Point point = seeds[random() % seeds.size()];
    for (std::uint64_t changes = random() % 6; changes > 0; --changes) {
      const std::size_t axis = random() % point.size();
      const std::vector<std::int64_t>& values = space->axes()[axis].values;
      point[axis] = values[random() % values.size()];
    }
    if (!space->allows(point)) continue;
    ++i;
    const rkernel::Candidate program = space->program(point);
    words.insert(program.program);
    worst = std::max(worst, run_launch(c, bound.data, program.launch));
  }
  if (distinct != nullptr) *distinct += words.size();
  return worst;
}

bool same_bits(const Case& c, const codegen::Isa& isa, codegen::CodeStore& store,
               std::mt19937_64& random, int threads, std::size_t most, std::size_t& ran) {
  const Bound whole(c, context_for(isa, store), store, random, threads);
  std::vector<choice::Choice> choices;
  whole.kernel->for_each_choice(whole.request, [&](const choice::Choice& choice) {
    if (choice.program.regions.front().strategy.split_k == 1) choices.push_back(choice);
  });
  std::ranges::shuffle(choices, random);
  choices.resize(std::min(most, choices.size()));
  const std::vector<float> expected =
      output_of(c, whole.data, whole.kernel->plan({whole.built.symbols, 1}));
  const auto has_bits = [&](const std::vector<float>& output, std::int64_t first_row) {
    ++ran;
    return !output.empty() && std::memcmp(output.data(), expected.data() + first_row * c.n,
                                          output.size() * sizeof(float)) == 0;
  };
  for (const choice::Choice& choice : choices) {
    if (!has_bits(output_of(c, whole.data, whole.kernel->launch_with(whole.request, choice)), 0))
      return false;
  }
  Case one = c;
  one.m = 1;
  Bound alone(one, context_for(isa, store), store, random, threads);
  for (std::int64_t row = 0; row < c.m; row += 1 + static_cast<std::int64_t>(random() % 9)) {
    const Data& all = whole.data;
    alone.data.b = all.b;
    alone.data.packed = all.packed;
    alone.data.bias = all.bias;
    alone.data.a.assign(all.a.begin() + row * (c.k + c.a_slack),
                        all.a.begin() + (row + 1) * (c.k + c.a_slack));
    alone.data.residual.assign(all.residual.begin() + row * c.n,
                               all.residual.begin() + (row + 1) * c.n);
    if (!has_bits(output_of(one, alone.data, alone.kernel->plan({alone.built.symbols, 1})), row))
      return false;
  }
  return true;
}

}  // namespace dyn::cpu::testing
