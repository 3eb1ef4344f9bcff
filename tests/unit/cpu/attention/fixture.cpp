#include "tests/unit/cpu/attention/fixture.hpp"
#include "tests/support/held_code.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "tests/unit/cpu/contraction/fixture.hpp"
#include "tests/unit/cpu/contraction/guards.hpp"

namespace dyn::cpu::testing {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Strides {
  std::int64_t batch, head, row, column;
  std::int64_t at(std::int64_t b, std::int64_t h, std::int64_t r, std::int64_t c) const {
    return b * batch + h * head + r * row + c * column;
  }
};

/// The operand for a tensor [batch, heads, rows, columns] in the case's layout.
Strides strides_of(const AttentionCase& c, std::int64_t heads, std::int64_t rows,
                   std::int64_t columns, bool transposed) {
  Strides s{heads * rows * columns, rows * columns, columns, 1};
  if (transposed)
    s.row = 1, s.column = rows;
  else if (c.by_token)
    s.head = columns, s.row = heads * columns;
  return s;
}

Strides mask_strides(const AttentionCase& c) {
  switch (c.mask) {
    case MaskKind::None: return {0, 0, 0, 0};
    case MaskKind::ByKey: return {c.keys, 0, 0, 1};
    case MaskKind::ByRowAndKey: return {0, c.queries * c.keys, c.keys, 1};
    case MaskKind::ByRow: return {0, 0, 1, 0};
    case MaskKind::Reversed: return {0, 0, 1, c.queries};
  }
  return {};
}

struct Layout {
  Strides q, k, v, mask, out;
};

Layout layout_of(const AttentionCase& c) {
  const std::int64_t key_heads = c.keys_shared ? 1 : c.heads;
  Layout layout{strides_of(c, c.heads, c.queries, c.depth, false),
                strides_of(c, key_heads, c.keys, c.depth, c.k_transposed),
                strides_of(c, key_heads, c.keys, c.value_depth, c.v_transposed), mask_strides(c),
                strides_of(c, c.heads, c.queries, c.value_depth, false)};
  if (c.keys_shared) layout.k.head = layout.v.head = 0;
  return layout;
}

/// Sizes are symbols. Strides have their values at run time, except for 0 and 1, which are known at
/// load.
Built build(const AttentionCase& c, const Layout& layout) {
  Built built;
  built.dims = std::make_unique<graph::DimTable>();
  graph::DimTable& dims = *built.dims;
  const auto symbol = [&](const std::string& name, std::int64_t value) {
    built.symbols.push_back(value);
    return dims.symbol(
        {.name = name, .low = 0, .high = std::int64_t{1} << 40, .divisor = 1, .hint = {}});
  };
  rkernel::Problem& problem = built.problem;
  problem.name = "attention";
  const auto axis = [&](const char* name, std::int64_t extent, bool reduced = false) {
    problem.axes.push_back({name, symbol(name, extent),
                            reduced ? rkernel::AxisKind::Reduction : rkernel::AxisKind::Parallel});
  };
  axis("b0", c.batch), axis("b1", c.heads), axis("m", c.queries), axis("n", c.value_depth),
      axis("keys", c.keys, true), axis("d", c.depth, true);
  const auto operand = [&](const char* name, const Strides& s, int row, int column) {
    rkernel::Operand made;
    made.name = name;
    made.buffer = static_cast<graph::ValueId>(problem.operands.size());
    made.offset = dims.constant(0);
    made.strides.assign(problem.axes.size(), dims.constant(0));
    const auto set = [&](int at, std::int64_t stride, const char* suffix) {
      made.strides[static_cast<std::size_t>(at)] =
          stride == 0 || stride == 1 ? dims.constant(stride)
                                     : symbol(fmt::format("{}_{}", name, suffix), stride);
    };
    set(0, s.batch, "batch"), set(1, s.head, "head"), set(row, s.row, "row"),
        set(column, s.column, "column");
    problem.operands.push_back(std::move(made));
    return static_cast<int>(problem.operands.size()) - 1;
  };
  constexpr int m = 2, n = 3, keys = 4, d = 5;
  rkernel::Attention attention{
      .m = m, .n = n, .keys = keys, .d = d, .scale = c.scale, .causal = c.causal};
  attention.q = operand("q", layout.q, m, d);
  attention.k = operand("k", layout.k, keys, d);
  attention.v = operand("v", layout.v, keys, n);
  if (c.mask != MaskKind::None) attention.mask = operand("mask", layout.mask, m, keys);
  const int out = operand("out", layout.out, m, n);
  problem.operands.back().written = true;
  problem.attention = attention;
  problem.lane_axis = n;
  rkernel::Expr value;
  value.op = rkernel::ExprOp::Accumulator;
  problem.exprs.push_back(value);
  problem.stores.push_back({0, out});
  return built;
}

/// One row in double; `bound` gets the error that f32 may have: scores by their products, then
/// shares and sums.
std::vector<double> expected_row(const AttentionCase& c, const Layout& layout,
                                 const std::vector<std::vector<float>>& inputs, std::int64_t b,
                                 std::int64_t h, std::int64_t row, double& bound) {
  const auto read = [&](int i, const Strides& s, std::int64_t r, std::int64_t column) {
    return static_cast<double>(
        inputs[static_cast<std::size_t>(i)][static_cast<std::size_t>(s.at(b, h, r, column))]);
  };
  const double scale = c.scale != 0 ? c.scale : 1 / std::sqrt(static_cast<double>(c.depth));
  std::vector<double> scores;
  double peak = -infinity, products = 0, largest = 0;
  for (std::int64_t key = 0; key < c.keys; ++key) {
    double score = 0, magnitude = 0;
    for (std::int64_t d = 0; d < c.depth; ++d) {
      const double product = scale * read(0, layout.q, row, d) * read(1, layout.k, key, d);
      score += product;
      magnitude += std::fabs(product);
    }
    if (c.mask != MaskKind::None) score += read(3, layout.mask, row, key);
    if (std::isfinite(score)) magnitude += std::fabs(score);
    if (c.causal && key > row + c.keys - c.queries) score = -infinity;
    scores.push_back(score);
    peak = std::isnan(score) || std::isnan(peak) ? std::nan("") : std::max(peak, score);
    products = std::max(products, magnitude);
  }
  std::vector<double> result(static_cast<std::size_t>(c.value_depth), 0.0);
  if (peak == -infinity) return result;
  double total = 0;
  for (double& score : scores) total += score = std::exp(score - peak);
  for (std::int64_t key = 0; key < c.keys; ++key) {
    for (std::int64_t n = 0; n < c.value_depth; ++n) {
      const double value = read(2, layout.v, key, n);
      largest = std::max(largest, std::fabs(value));
      // Hidden keys do not count, whatever their values are.
      if (scores[static_cast<std::size_t>(key)] != 0)
        result[static_cast<std::size_t>(n)] +=
            scores[static_cast<std::size_t>(key)] / total * value;
    }
  }
  const double epsilon = std::numeric_limits<float>::epsilon();
  bound = epsilon * largest *
          (16 + 2 * (static_cast<double>(c.depth) + 4) * products + static_cast<double>(c.keys));
  return result;
}

void run_stage(rkernel::KernelFunction function, const rkernel::KernelArgs& args,
               std::int64_t tickets, std::int64_t grain, void* scratch) {
  for (std::int64_t ticket = 0; ticket < tickets; ticket += grain)
    function(&args, ticket, std::min(grain, tickets - ticket), scratch);
}

void run_launch(const rkernel::Launch& launch, std::vector<void*>& pointers) {
  std::atomic<std::int32_t> status{0};
  const auto memory = [](std::size_t bytes) {
    const std::size_t size = (bytes + 127) / 64 * 64;
    auto* block = static_cast<float*>(std::aligned_alloc(64, size));
    std::fill(block, block + size / 4, std::numeric_limits<float>::quiet_NaN());
    return std::unique_ptr<float, void (*)(void*)>(block, std::free);
  };
  const auto scratch = memory(launch.scratch_bytes), shared = memory(launch.shared_bytes);
  const rkernel::KernelArgs args{pointers.data(), launch.ints.data(), &status, shared.get()};
  run_stage(launch.function, args, launch.tickets, launch.grain, scratch.get());
  if (launch.merge != nullptr)
    run_stage(launch.merge, args, launch.merge_tickets, 1, scratch.get());
}

std::vector<std::vector<float>> random_inputs(const AttentionCase& c, std::mt19937_64& random) {
  std::uniform_real_distribution<float> uniform(-1, 1.5f), share(0, 1);
  const auto filled = [&](std::int64_t count, double factor) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values) value = uniform(random) * static_cast<float>(factor);
    return values;
  };
  const std::int64_t key_heads = c.keys_shared ? 1 : c.heads;
  std::vector<std::vector<float>> inputs{
      filled(c.batch * c.heads * c.queries * c.depth, c.magnitude),
      filled(c.batch * key_heads * c.keys * c.depth, 1),
      filled(c.batch * key_heads * c.keys * c.value_depth, 1),
      filled(std::max(c.batch, c.heads * c.queries) * c.keys + c.queries, 2)};
  for (float& value : inputs[3]) {
    if (share(random) < c.hidden) value = -std::numeric_limits<float>::infinity();
  }
  return inputs;
}

/// The result between its guards.
std::vector<float> kernel_output(const AttentionCase& c, const codegen::Isa& isa,
                                 codegen::CodeStore& store, const Layout& layout,
                                 std::vector<std::vector<float>>& inputs,
                                 const ChooseStrategy& choose) {
  const Built built = build(c, layout);
  std::vector<float> output(
      static_cast<std::size_t>(c.batch * c.heads * c.queries * c.value_depth) + 2 * guard_elements,
      guard);
  AttentionKernel::Draft draft = AttentionKernel::draft(built.problem, context_for(isa, store),
                                                        std::make_shared<const AttentionChoices>());
  rkernel::CompileReport report;
  std::vector<void*> functions = dyn::testing::hold(store.resolve(draft.sources(), 2, report));
  const auto kernel = std::move(draft).with_code(std::move(functions));
  rkernel::Launch launch =
      choose ? kernel->plan_with(built.symbols, choose(kernel->shape(built.symbols)))
             : kernel->plan({built.symbols, 2});
  std::vector<void*> pointers{inputs[0].data(), inputs[1].data(), inputs[2].data()};
  if (c.mask != MaskKind::None) pointers.push_back(inputs[3].data());
  pointers.push_back(output.data() + guard_elements);
  run_launch(launch, pointers);
  return output;
}

}  // namespace

std::string describe(const AttentionCase& c) {
  return fmt::format(
      "batch {} heads {} queries {} keys {} depth {} values {}{}{}{}{}{} mask {} hidden {} scale "
      "{} magnitude {}",
      c.batch, c.heads, c.queries, c.keys, c.depth, c.value_depth, c.causal ? " causal" : "",
      c.by_token ? " by token" : "", c.keys_shared ? " shared keys" : "",
      c.k_transposed ? " k transposed" : "", c.v_transposed ? " v transposed" : "",
      static_cast<int>(c.mask), c.hidden, c.scale, c.magnitude);
}

double run_attention(const AttentionCase& c, const codegen::Isa& isa, codegen::CodeStore& store,
                     std::mt19937_64& random, const ChooseStrategy& choose,
                     const std::function<void(std::vector<float>*)>& spoil) {
  const Layout layout = layout_of(c);
  std::vector<std::vector<float>> inputs = random_inputs(c, random);
  if (spoil) spoil(inputs.data());
  const std::vector<float> output = kernel_output(c, isa, store, layout, inputs, choose);
  if (!guards_intact(output)) return infinity;
  double worst = 0;
  for (std::int64_t b = 0; b < c.batch; ++b) {
    for (std::int64_t h = 0; h < c.heads; ++h) {
      for (std::int64_t row = 0; row < c.queries; ++row) {
        double bound = 0;
        const std::vector<double> expected = expected_row(c, layout, inputs, b, h, row, bound);
        for (std::int64_t n = 0; n < c.value_depth; ++n) {
          const double
              e = expected[static_cast<std::size_t>(n)],
              a = output[guard_elements + static_cast<std::size_t>(layout.out.at(b, h, row, n))];
          if (std::isnan(e) && std::isnan(a)) continue;
          const double error = e == a ? 0 : std::fabs(e - a) / bound;
          worst = std::isnan(error) ? infinity : std::max(worst, error);
        }
      }
    }
  }
  return worst;
}

std::vector<float> attention_output(const AttentionCase& c, const codegen::Isa& isa,
                                    codegen::CodeStore& store, std::uint64_t seed,
                                    const ChooseStrategy& choose) {
  std::mt19937_64 random(seed);
  std::vector<std::vector<float>> inputs = random_inputs(c, random);
  return kernel_output(c, isa, store, layout_of(c), inputs, choose);
}

}  // namespace dyn::cpu::testing
