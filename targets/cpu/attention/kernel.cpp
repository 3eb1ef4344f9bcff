#include "targets/cpu/attention/kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "dyn/error.hpp"
#include "graph/ir/scalars.hpp"
#include "src/base/bytes.hpp"
#include "src/base/rounding.hpp"
#include "src/rkernel/target/same_program.hpp"
#include "targets/cpu/attention/pairs.hpp"
#include "targets/cpu/tile/main_loop.hpp"
#include "targets/llvm/jit/listing.hpp"
#include "targets/llvm/problem/structure_key.hpp"

namespace dyn::cpu {
namespace {

using choice::AttentionChoice;
using choice::AttentionShape;
using choice::AttentionStrategy;
using choice::ScoreForm;
using codegen::StrideClass;

constexpr std::int64_t row_slack =
    16;  ///< floats between rows in scratch, so that rows do not share cache sets

/// The values that "the stride along this axis is 1" may have: true, false, or both.
std::vector<bool> unit_options(const rkernel::Problem& problem, int operand, int axis) {
  const auto classes = codegen::possible_classes(
      problem.operands[static_cast<std::size_t>(operand)].strides[static_cast<std::size_t>(axis)]);
  const bool may = std::find(classes.begin(), classes.end(), StrideClass::Unit) != classes.end();
  if (!may) return {false};
  return classes.size() == 1 ? std::vector{true} : std::vector{true, false};
}

std::vector<StrideClass> options_along(const rkernel::Problem& problem, int operand, int axis) {
  return codegen::possible_classes(
      problem.operands[static_cast<std::size_t>(operand)].strides[static_cast<std::size_t>(axis)]);
}

/// Queries and results are touched once, so code for unit strides pays only where these are proven:
/// where a stride is not known, only the general class is made.
AttentionClass common_class(const rkernel::Problem& problem) {
  const rkernel::Attention& attention = *problem.attention;
  AttentionClass made;
  made.q_unit = unit_options(problem, attention.q, attention.d) == std::vector{true};
  for (std::size_t i = 0; i < problem.operands.size(); ++i) {
    const auto options = options_along(problem, static_cast<int>(i), attention.n);
    made.lanes.push_back(options.size() == 1 ? options[0] : StrideClass::Any);
  }
  return made;
}

std::vector<AttentionClass> enumerate_attention_classes(const rkernel::Problem& problem,
                                                        const codegen::Isa& isa) {
  const rkernel::Attention& attention = *problem.attention;
  const AttentionClass common = common_class(problem);
  const auto masks = attention.mask < 0 ? std::vector{StrideClass::Zero}
                                        : options_along(problem, attention.mask, attention.keys);
  std::vector<AttentionClass> classes;
  for (const bool k_unit : unit_options(problem, attention.k, attention.d)) {
    for (const bool v_unit : unit_options(problem, attention.v, attention.n)) {
      for (const StrideClass mask : masks) {
        for (const ScoreForm form : {ScoreForm::Panels, ScoreForm::Dots}) {
          if (form == ScoreForm::Dots && !k_unit) continue;
          AttentionClass made = common;
          made.form = form;
          made.k_unit = k_unit;
          made.v_unit = v_unit;
          made.mask = mask;
          made.pairs =
              isa.rounds_bfloats && form == ScoreForm::Panels && made.q_unit && k_unit && v_unit;
          classes.push_back(std::move(made));
        }
      }
    }
  }
  return classes;
}

std::string text_of(const AttentionChoice& choice) {
  return fmt::format("{}, {} thread{}", choice::to_string(choice.strategy), choice.threads,
                     choice.threads == 1 ? "" : "s");
}

std::string key_of(const AttentionClass& made) {
  return fmt::format("{}{}{}{}{}{} {}", made.pairs ? "bf16 " : "",
                     made.form == ScoreForm::Panels ? "panels" : "dots", int{made.q_unit},
                     int{made.k_unit}, int{made.v_unit}, codegen::letter_of(made.mask),
                     codegen::class_letters(made.lanes));
}

}  // namespace

AttentionKernel::AttentionKernel(const rkernel::Problem& problem,
                                 std::shared_ptr<const ContractionContext> context,
                                 std::shared_ptr<const AttentionChoices> choices)
    : problem_(std::make_shared<rkernel::Problem>(problem)),
      context_(std::move(context)),
      choices_(std::move(choices)),
      slots_(*problem_),
      strategy_(add_attention_slots(slots_)),
      classes_(enumerate_attention_classes(*problem_, context_->isa())) {
  for (int i = 0; i < static_cast<int>(problem_->operands.size()); ++i) check_dtype(i);
}

/// Rows of keys and values that are contiguous may be narrow, their scales lie one after the other.
void AttentionKernel::check_dtype(int index) const {
  const rkernel::Attention& attention = *problem_->attention;
  const rkernel::Operand& operand = problem_->operands[static_cast<std::size_t>(index)];
  const auto is_run_along = [&](int axis) {
    return operand.strides[static_cast<std::size_t>(axis)].constant() == 1;
  };
  const bool is_scale = index == attention.k_scales || index == attention.v_scales;
  if (is_scale && operand.dtype == DType::f32 && is_run_along(attention.keys)) return;
  if (!is_scale && operand.dtype == DType::f32) return;
  if (operand.written && graph::is_half(operand.dtype)) return;
  if (index == attention.q && codegen::can_widen(context_->isa(), operand.dtype)) return;
  const bool is_key = index == attention.k && is_run_along(attention.d),
             is_value = index == attention.v && is_run_along(attention.n);
  if ((is_key || is_value) && codegen::can_widen(context_->isa(), operand.dtype)) return;
  throw Error(ErrorKind::unsupported,
              fmt::format("attention reads {} as {}, or not in one run; on this CPU it takes f32",
                          operand.name, name_of(operand.dtype)));
}

AttentionKernel::Draft AttentionKernel::draft(const rkernel::Problem& problem,
                                              std::shared_ptr<const ContractionContext> context,
                                              std::shared_ptr<const AttentionChoices> choices) {
  return Draft(std::unique_ptr<AttentionKernel>(
      new AttentionKernel(problem, std::move(context), std::move(choices))));
}

std::vector<codegen::KernelSource> AttentionKernel::sources() const {
  const std::string structure = codegen::structure_key(*problem_, slots_);
  const auto emitted = [this](const AttentionClass& made, auto emit) {
    return [this, &made, emit](llvm::Module& module, const std::string& symbol) {
      emit(module, symbol, attention_rkernel(*problem_, context_->isa(), made.form, 1),
           context_->isa(), slots_, strategy_, made);
    };
  };
  std::vector<codegen::KernelSource> sources;
  for (const AttentionClass& made : classes_) {
    sources.push_back(
        {fmt::format("attention {} {}", key_of(made), structure), emitted(made, emit_attention)});
  }
  const AttentionClass& any = classes_.front();
  sources.push_back(
      {fmt::format("attention merge {} {}", codegen::class_letters(any.lanes), structure),
       emitted(any, emit_attention_merge)});
  return sources;
}

AttentionShape AttentionKernel::shape_of(std::span<const std::int64_t> ints) const {
  const rkernel::Attention& attention = *problem_->attention;
  const auto value = [&](int slot) { return codegen::value_of(slot, ints); };
  AttentionShape shape;
  for (int axis = 0; axis < attention.m; ++axis) shape.batch *= value(slots_.extent(axis));
  shape.queries = value(slots_.extent(attention.m));
  shape.keys = value(slots_.extent(attention.keys));
  shape.depth = value(slots_.extent(attention.d));
  shape.value_depth = value(slots_.extent(attention.n));
  shape.causal = attention.causal;
  shape.masked = attention.mask >= 0;
  shape.keys_unit = value(slots_.stride(attention.k, attention.d)) == 1;
  shape.fixed_order = context_->deterministic();
  shape.pairs = classes_[class_for(ints, ScoreForm::Panels)].pairs;
  shape.values_unit = value(slots_.stride(attention.v, attention.n)) == 1;
  shape.key_bytes = static_cast<int>(size_of(dtype_of(attention.k)));
  shape.value_bytes = static_cast<int>(size_of(dtype_of(attention.v)));
  return shape;
}

AttentionShape AttentionKernel::shape(std::span<const std::int64_t> symbols) const {
  return shape_of(slots_.evaluate(symbols));
}

std::size_t AttentionKernel::class_for(std::span<const std::int64_t> ints, ScoreForm form) const {
  const rkernel::Attention& attention = *problem_->attention;
  const auto stride = [&](int operand, int axis) {
    return operand < 0 ? 0 : codegen::value_of(slots_.stride(operand, axis), ints);
  };
  const bool k_unit = stride(attention.k, attention.d) == 1,
             v_unit = stride(attention.v, attention.n) == 1;
  const StrideClass mask = codegen::class_of(stride(attention.mask, attention.keys));
  // A class for strides that are not 1 is right for those that are, and Any for every mask.
  std::size_t usable = classes_.size();
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    const AttentionClass& made = classes_[i];
    if (made.form != form || (made.k_unit && !k_unit) || (made.v_unit && !v_unit)) continue;
    if (made.mask != mask && made.mask != StrideClass::Any) continue;
    if (made.k_unit == k_unit && made.v_unit == v_unit && made.mask == mask) return i;
    if (usable == classes_.size()) usable = i;
  }
  if (usable == classes_.size())
    throw Error(ErrorKind::internal,
                fmt::format("{} has no class for these strides", problem_->name));
  return usable;
}

void AttentionKernel::fill_strategy(const AttentionShape& shape, const AttentionStrategy& strategy,
                                    rkernel::Launch& launch) const {
  const codegen::Isa& isa = context_->isa();
  const std::int64_t panel = isa.panel_f32, panels = ceil_div(shape.keys, panel);
  const std::int64_t m_blocks =
      std::max<std::int64_t>(1, ceil_div(shape.queries, strategy.block_rows));
  const std::int64_t splits =
      std::clamp<std::int64_t>(strategy.splits, 1, std::max<std::int64_t>(1, panels));
  const std::int64_t block_rows = ceil_div(shape.queries, m_blocks);
  const std::int64_t block_keys =
      std::min(round_up(strategy.block_keys, panel),
               std::max<std::int64_t>(1, ceil_div(panels, splits)) * panel);
  const rkernel::Factors factors = choice::factors_of(shape, strategy.form);
  const bool pairs = factors.grouped();
  const std::int64_t padded_depth = round_up(shape.depth, pairs ? depth_multiple : isa.f32_lanes);
  const std::int64_t q_row = (pairs ? padded_depth / 2 : padded_depth) + row_slack;
  const std::int64_t acc_row = round_up(shape.value_depth, panel),
                     score_row = block_keys + row_slack;
  const std::int64_t packed_values =
      shape.values_unit && !pairs ? shape.value_depth % isa.f32_lanes : shape.value_depth;
  const double scale = problem_->attention->scale != 0
                           ? problem_->attention->scale
                           : 1 / std::sqrt(static_cast<double>(shape.depth));
  const auto set = [&](int slot, std::int64_t value) {
    launch.ints[static_cast<std::size_t>(slot)] = value;
  };
  set(strategy_.m_blocks, m_blocks);
  set(strategy_.splits, splits);
  set(strategy_.block_keys, block_keys);
  set(strategy_.tile_rows, strategy.tile_rows);
  set(strategy_.tile_panels, strategy.tile_columns / panel);
  set(strategy_.wide_table, context_->table(strategy.tile_columns, factors));
  set(strategy_.panel_table, context_->table(isa.panel_f32, factors));
  set(strategy_.vector_table, context_->table(isa.f32_lanes, factors));
  const rkernel::Factors values = dtype_of(problem_->attention->v);
  set(strategy_.wide_value_table, context_->table(strategy.tile_columns, values));
  set(strategy_.panel_value_table, context_->table(isa.panel_f32, values));
  set(strategy_.vector_value_table, context_->table(isa.f32_lanes, values));
  set(strategy_.scale, std::bit_cast<std::int32_t>(static_cast<float>(scale)));
  set(strategy_.q_row, q_row);
  set(strategy_.acc_row, acc_row);
  set(strategy_.score_row, score_row);
  const std::int64_t record = acc_row + 2;
  set(strategy_.record, record);
  std::int64_t bytes = 0;
  const auto place = [&](int slot, std::int64_t floats) {
    set(slot, bytes);
    bytes += round_up(floats * 4, line_bytes);
  };
  place(strategy_.score_scratch, std::max(strategy.tile_rows * score_row, splits));
  place(strategy_.q_scratch, block_rows * q_row);
  place(strategy_.acc_scratch, block_rows * acc_row);
  place(strategy_.max_scratch, block_rows);
  place(strategy_.sum_scratch, block_rows);
  place(strategy_.key_scratch,
        strategy.form == ScoreForm::Panels ? block_keys * padded_depth / (pairs ? 2 : 1) : 0);
  place(strategy_.value_scratch,
        (pairs ? block_keys / 2 : block_keys) * round_up(packed_values, panel));
  launch.scratch_bytes = static_cast<std::size_t>(bytes);
  launch.tickets = shape.queries > 0 && shape.value_depth > 0 ? shape.batch * m_blocks * splits : 0;
  if (splits > 1) {
    launch.merge = reinterpret_cast<rkernel::KernelFunction>(functions_.back());
    launch.merge_tickets = launch.tickets / splits;
    launch.shared_bytes =
        static_cast<std::size_t>(shape.batch * shape.queries * splits * record * 4);
  }
}

rkernel::Launch AttentionKernel::plan_with(std::span<const std::int64_t> symbols,
                                           const AttentionStrategy& strategy) const {
  rkernel::Launch launch;
  launch.ints = slots_.evaluate(symbols);
  const AttentionShape shape = shape_of(launch.ints);
  fill_strategy(shape, strategy, launch);
  launch.function = reinterpret_cast<rkernel::KernelFunction>(
      functions_.at(class_for(launch.ints, strategy.form)));
  const double rows = static_cast<double>(shape.batch * shape.queries),
               keys = static_cast<double>(shape.batch * shape.keys);
  const double depths = static_cast<double>(shape.depth + shape.value_depth);
  const double seen = static_cast<double>(shape.keys) -
                      (shape.causal ? static_cast<double>(shape.queries - 1) / 2 : 0);
  launch.flops = 2 * rows * seen * depths;
  launch.bytes = float_bytes * rows * depths +
                 keys * static_cast<double>(shape.depth * shape.key_bytes +
                                            shape.value_depth * shape.value_bytes);
  return launch;
}

rkernel::Launch AttentionKernel::launch_of(std::span<const std::int64_t> symbols,
                                           const choice::AttentionChoice& choice) const {
  rkernel::Launch launch = plan_with(symbols, choice.strategy);
  launch.threads = choice.threads;
  launch.predicted_seconds = choice.seconds;
  return launch;
}

rkernel::Launch AttentionKernel::plan(const rkernel::PlanRequest& request) const {
  return launch_of(request.symbols,
                   choices_->choose(context_->machine(), shape(request.symbols), request.threads));
}

rkernel::Choices AttentionKernel::choices(const rkernel::PlanRequest& request,
                                          rkernel::Policy policy) const {
  if (policy != rkernel::Policy::Dyn)
    return {{}, 0, rkernel::undefined_reason(policy, "attention")};
  const choice::Machine& machine = context_->machine();
  const AttentionShape sizes = shape(request.symbols);
  if (sizes.batch * sizes.queries * sizes.value_depth == 0)
    return {{}, 0, "there is nothing to compute: the output is empty"};
  const AttentionChoice taken = choices_->choose(machine, sizes, request.threads);
  rkernel::Choices result;
  choice::for_each_attention_choice(
      machine, sizes, request.threads, [&](const AttentionChoice& one) {
        rkernel::Candidate candidate{text_of(one), one.seconds, launch_of(request.symbols, one)};
        // Blocks of different sizes may cut the queries alike.
        const auto known =
            std::ranges::find_if(result.candidates, [&](const rkernel::Candidate& other) {
              return rkernel::same_program(other.launch, candidate.launch);
            });
        if (one.strategy == taken.strategy && one.threads == taken.threads)
          result.chosen = static_cast<std::size_t>(known - result.candidates.begin());
        if (known == result.candidates.end()) result.candidates.push_back(std::move(candidate));
      });
  return result;
}

void AttentionKernel::choose_only(const rkernel::PlanRequest& request, rkernel::Policy,
                                  bool remembered) const {
  const AttentionShape sizes = shape(request.symbols);
  if (remembered)
    choices_->choose(context_->machine(), sizes, request.threads);
  else
    choice::select_attention(context_->machine(), sizes, request.threads);
}

std::vector<rkernel::CodeListing> AttentionKernel::listings_at(
    const rkernel::PlanRequest& request) const {
  const codegen::Isa& isa = context_->isa();
  auto listings = codegen::list_launched(isa, sources(), functions_, plan(request));
  const AttentionStrategy strategy =
      choices_->choose(context_->machine(), shape(request.symbols), request.threads).strategy;
  if (auto loop = list_main_loop(isa, {strategy.tile_rows, strategy.tile_columns}))
    listings.push_back(std::move(*loop));
  return listings;
}

std::string AttentionKernel::explain(const rkernel::PlanRequest& request) const {
  const AttentionShape sizes = shape(request.symbols);
  const choice::Machine& machine = context_->machine();
  const AttentionChoice choice = choices_->choose(machine, sizes, request.threads);
  choice::CostBreakdown breakdown;
  choice::attention_cost(machine, sizes, choice.strategy, choice.threads, &breakdown);
  const rkernel::Policy policy = context_->policy();
  return fmt::format(
      "  {}: batch {}, {} queries of {} keys, depth {} and {}{}\n{}  chosen of {}, {:.4g} us: "
      "{}\n{}",
      problem_->name, sizes.batch, sizes.queries, sizes.keys, sizes.depth, sizes.value_depth,
      sizes.causal ? ", causal" : "",
      policy == rkernel::Policy::Dyn ? "" : rkernel::no_choice_text(policy, "attention"),
      choice.considered, choice.seconds * 1e6, text_of(choice), choice::to_string(breakdown));
}

std::string AttentionKernel::describe() const {
  std::string text = rkernel::to_string(attention_rkernel(
      *problem_, context_->isa(), ScoreForm::Panels, context_->machine().threads));
  for (const AttentionClass& made : classes_) text += "class " + key_of(made) + "\n";
  return text;
}

}  // namespace dyn::cpu
