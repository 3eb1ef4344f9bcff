#include "targets/cpu/contraction_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "targets/llvm/instruction_counts.hpp"
#include "targets/llvm/structure_key.hpp"

namespace dyn::cpu {
namespace {

constexpr std::size_t most_classes = 32;
constexpr std::size_t most_choices = 1 << 16;  ///< remembered; beyond it the memory starts anew
constexpr std::int64_t line_bytes = 64;
constexpr std::int64_t copy_slack = 16;        ///< floats between rows of A's copy, so that rows do not share cache sets

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
std::int64_t round_up(std::int64_t a, std::int64_t b) { return ceil_div(a, b) * b; }

bool may_be_unit(graph::Dim stride) {
  const auto classes = codegen::possible_classes(stride);
  return std::find(classes.begin(), classes.end(), codegen::StrideClass::Unit) != classes.end();
}
bool must_be_unit(graph::Dim stride) { return may_be_unit(stride) && codegen::possible_classes(stride).size() == 1; }

// One class for each value that an undecided predicate may have; all undecided strides Any where that would be too many.
std::vector<ContractionClass> enumerate_classes(const rkernel::Problem& problem) {
  using codegen::StrideClass;
  const rkernel::Contraction& contraction = *problem.contraction;
  std::vector<std::vector<StrideClass>> options;
  std::size_t combinations = 1;
  for (std::size_t i = 0; i < problem.operands.size(); ++i) {
    const bool factor = static_cast<int>(i) == contraction.a || static_cast<int>(i) == contraction.b;
    options.push_back(factor ? std::vector{StrideClass::Any}
                             : codegen::possible_classes(problem.operands[i].strides[static_cast<std::size_t>(contraction.n)]));
    combinations *= options.back().size();
  }
  std::vector<ContractionClass> classes(1);
  for (auto& option : options) {
    if (combinations > most_classes && option.size() > 1) option = {StrideClass::Any};
    std::vector<ContractionClass> extended;
    for (const ContractionClass& known : classes) {
      for (const StrideClass stride_class : option) {
        extended.push_back(known);
        extended.back().lanes.push_back(stride_class);
      }
    }
    classes = std::move(extended);
  }
  const auto& a = problem.operands[static_cast<std::size_t>(contraction.a)];
  const auto& b = problem.operands[static_cast<std::size_t>(contraction.b)];
  const graph::Dim a_stride = a.strides[static_cast<std::size_t>(contraction.k)];
  const graph::Dim b_stride = b.strides[static_cast<std::size_t>(contraction.n)];
  std::vector<ContractionClass> all;
  for (const ContractionClass& known : classes) {
    for (const bool a_unit : {true, false}) {
      for (const bool b_unit : {true, false}) {
        if (a_unit ? !may_be_unit(a_stride) : must_be_unit(a_stride)) continue;
        if (b.form == rkernel::Form::Packed ? b_unit : b_unit ? !may_be_unit(b_stride) : must_be_unit(b_stride)) continue;
        all.push_back(known);
        all.back().a_unit = a_unit;
        all.back().b_unit = b_unit;
      }
    }
  }
  return all;
}

}  // namespace

ContractionContext::ContractionContext(const Isa& isa, rkernel::Machine machine, MainLoopTable loops)
    : isa_(isa), machine_(std::move(machine)), loops_(std::move(loops)), candidates_(rkernel::make_candidates(machine_)) {
  for (std::size_t i = 0; i < loops_.tiles.size(); ++i) {
    std::vector<MainLoop>& table = tables_[loops_.tiles[i].columns];
    table.resize(std::max(table.size(), static_cast<std::size_t>(loops_.tiles[i].rows) + 1), nullptr);
    table[static_cast<std::size_t>(loops_.tiles[i].rows)] = loops_.functions[i];
  }
}

std::int64_t ContractionContext::table(int columns) const {
  const auto found = tables_.find(columns);
  return found == tables_.end() ? 0 : static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(found->second.data()));
}

rkernel::Choice ContractionContext::choose(const rkernel::ContractionShape& shape, int threads) const {
  const std::string key = fmt::format(
      FMT_STRING("{} {} {} {} {}{} {} {} {:g} {:g} {}{} {}"), shape.batch, shape.m, shape.n, shape.k, (shape.b_packed ? 0 : shape.must_pack_b ? 1 : 2), int{shape.must_copy_a},
      shape.a_row_bytes, shape.b_row_bytes, shape.epilogue_operations, shape.epilogue_bytes, shape.a_level, shape.b_level, threads);
  {
    const std::shared_lock lock(mutex_);
    if (const auto found = memory_.find(key); found != memory_.end()) return found->second;
  }
  rkernel::Choice choice = rkernel::select(machine_, candidates_, shape, threads);
  const std::unique_lock lock(mutex_);
  if (memory_.size() >= most_choices) memory_.clear();
  memory_.emplace(key, choice);
  return choice;
}

ContractionKernel::ContractionKernel(const rkernel::Problem& problem, std::shared_ptr<const ContractionContext> context,
                                     std::size_t constant_level)
    : problem_(std::make_shared<rkernel::Problem>(problem)),
      context_(std::move(context)),
      slots_(*problem_),
      strategy_(add_strategy_slots(slots_)),
      constant_level_(constant_level),
      classes_(enumerate_classes(*problem_)) {
  epilogue_operations_ = 2;  // load the tile, store the result
  for (const rkernel::Expr& expr : problem_->exprs) {
    const auto lane_class = expr.operand < 0 ? codegen::StrideClass::Unit : classes_.front().lanes[static_cast<std::size_t>(expr.operand)];
    epilogue_operations_ += codegen::instructions_of(*problem_, expr, lane_class);
  }
  epilogue_bytes_ = 0;
  for (std::size_t i = 0; i < problem_->operands.size(); ++i) {
    const rkernel::Operand& operand = problem_->operands[i];
    const auto& [a, b, m, n, k] = *problem_->contraction;
    if (static_cast<int>(i) == a || static_cast<int>(i) == b) continue;
    const bool dense = operand.strides[static_cast<std::size_t>(m)].constant() != 0 && operand.strides[static_cast<std::size_t>(n)].constant() != 0;
    if (dense) epilogue_bytes_ += static_cast<double>(size_of(operand.dtype));
  }
}

std::vector<KernelSource> ContractionKernel::sources() const {
  const std::string structure = codegen::structure_key(*problem_, slots_);
  std::vector<KernelSource> sources;
  for (const ContractionClass& shape_class : classes_) {
    sources.push_back({fmt::format("contraction {}{} {} {}", int{shape_class.a_unit}, int{shape_class.b_unit},
                                   codegen::class_letters(shape_class.lanes), structure),
                       [this, &shape_class](llvm::Module& module, const std::string& symbol) {
                         emit_contraction(module, symbol, contraction_rkernel(*problem_, context_->isa(), 1), context_->isa(), slots_, strategy_,
                                          shape_class);
                       }});
  }
  return sources;
}

std::size_t ContractionKernel::class_for(std::span<const std::int64_t> ints) const {
  const auto stride = [&](int operand, int axis) {
    const int slot = slots_.stride(operand, axis);
    return slot == codegen::SlotTable::none ? 0 : ints[static_cast<std::size_t>(slot)];
  };
  const rkernel::Contraction& contraction = *problem_->contraction;
  const bool a_unit = stride(contraction.a, contraction.k) == 1;
  const bool b_unit = stride(contraction.b, contraction.n) == 1;
  std::size_t generic = 0;
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    const ContractionClass& candidate = classes_[i];
    const bool packed = problem_->operands[static_cast<std::size_t>(contraction.b)].form == rkernel::Form::Packed;
    if ((candidate.a_unit && !a_unit) || (!packed && candidate.b_unit && !b_unit)) continue;
    bool exact = candidate.a_unit == a_unit && (packed || candidate.b_unit == b_unit), possible = true;
    for (std::size_t operand = 0; operand < candidate.lanes.size(); ++operand) {
      const auto actual = codegen::class_of(stride(static_cast<int>(operand), contraction.n));
      if (static_cast<int>(operand) == contraction.a || static_cast<int>(operand) == contraction.b) continue;
      exact = exact && candidate.lanes[operand] == actual;
      possible = possible && (candidate.lanes[operand] == actual || candidate.lanes[operand] == codegen::StrideClass::Any);
    }
    if (exact) return i;
    if (possible) generic = i;
  }
  return generic;
}

rkernel::ContractionShape ContractionKernel::shape_of(std::span<const std::int64_t> ints) const {
  const rkernel::Contraction& contraction = *problem_->contraction;
  const auto value = [&](int slot) { return slot == codegen::SlotTable::none ? 0 : ints[static_cast<std::size_t>(slot)]; };
  rkernel::ContractionShape shape;
  for (int axis = 0; axis < static_cast<int>(problem_->axes.size()); ++axis) {
    const std::int64_t extent = value(slots_.extent(axis));
    if (axis == contraction.m) shape.m = extent;
    else if (axis == contraction.n) shape.n = extent;
    else if (axis == contraction.k) shape.k = extent;
    else shape.batch *= extent;
  }
  shape.b_packed = problem_->operands[static_cast<std::size_t>(contraction.b)].form == rkernel::Form::Packed;
  shape.must_copy_a = value(slots_.stride(contraction.a, contraction.k)) != 1;
  shape.a_row_bytes = 4 * value(slots_.stride(contraction.a, contraction.m));
  if (!shape.b_packed) {
    shape.must_pack_b = value(slots_.stride(contraction.b, contraction.n)) != 1;
    shape.b_row_bytes = 4 * value(slots_.stride(contraction.b, contraction.k));
  }
  shape.epilogue_operations = epilogue_operations_;
  shape.epilogue_bytes = epilogue_bytes_;
  const rkernel::Machine& machine = context_->machine();
  shape.a_level = machine.level_of(4 * shape.batch * shape.m * shape.k);
  shape.b_level = shape.b_packed ? constant_level_ : machine.level_of(4 * shape.batch * shape.n * shape.k);
  return shape;
}

void ContractionKernel::fill_strategy(const rkernel::ContractionShape& shape, const rkernel::Strategy& strategy, rkernel::Launch& launch) const {
  const Isa& isa = context_->isa();
  const std::int64_t m_blocks = std::max<std::int64_t>(1, ceil_div(shape.m, strategy.block_m));
  const std::int64_t n_blocks = std::max<std::int64_t>(1, ceil_div(shape.n, strategy.block_n));
  const std::int64_t wanted_k_blocks = std::max<std::int64_t>(1, ceil_div(shape.k, strategy.block_k));
  const std::int64_t block_k = std::max<std::int64_t>(round_up(ceil_div(shape.k, wanted_k_blocks), copy_slack), copy_slack);
  const std::int64_t k_blocks = std::max<std::int64_t>(1, ceil_div(shape.k, block_k));
  const std::int64_t block_m = ceil_div(shape.m, m_blocks);
  const std::int64_t block_panels = ceil_div(ceil_div(shape.n, isa.panel_f32), n_blocks);
  const std::int64_t tile_panels = strategy.tile_columns / isa.panel_f32;
  const std::int64_t row_tiles = ceil_div(block_m, strategy.tile_rows);
  const std::int64_t column_tiles = block_panels / tile_panels + block_panels % tile_panels;
  const std::int64_t tiles = k_blocks > 1 ? row_tiles * column_tiles : 1;
  const std::int64_t tile_bytes = round_up(tiles * strategy.tile_rows * strategy.tile_columns * 4, line_bytes);
  const std::int64_t a_row = block_k + copy_slack;
  const std::int64_t a_bytes = strategy.copy_a ? round_up(block_m * a_row * 4, line_bytes) : 0;
  const std::int64_t moved_panels = shape.b_packed ? 0 : strategy.direct_b ? 1 : block_panels;
  const std::int64_t b_bytes = moved_panels * isa.panel_f32 * block_k * 4;
  const auto set = [&](int slot, std::int64_t value) { launch.ints[static_cast<std::size_t>(slot)] = value; };
  set(strategy_.m_blocks, m_blocks);
  set(strategy_.n_blocks, n_blocks);
  set(strategy_.tile_rows, strategy.tile_rows);
  set(strategy_.tile_panels, tile_panels);
  set(strategy_.block_k, block_k);
  set(strategy_.k_blocks, k_blocks);
  set(strategy_.copy_a, strategy.copy_a ? 1 : 0);
  set(strategy_.direct_b, strategy.direct_b ? 1 : 0);
  set(strategy_.wide_table, context_->table(strategy.tile_columns));
  set(strategy_.narrow_table, context_->table(isa.panel_f32));
  set(strategy_.half_table, context_->table(isa.f32_lanes));
  set(strategy_.a_row, a_row);
  set(strategy_.a_scratch, tile_bytes);
  set(strategy_.b_scratch, tile_bytes + a_bytes);
  launch.scratch_bytes = static_cast<std::size_t>(tile_bytes + a_bytes + b_bytes);
  launch.tickets = shape.m > 0 && shape.n > 0 ? shape.batch * m_blocks * n_blocks : 0;
}

rkernel::Launch ContractionKernel::plan(const rkernel::PlanRequest& request) const {
  return launch_with(request, context_->choose(shape_of(slots_.evaluate(request.symbols)), request.threads));
}

rkernel::Launch ContractionKernel::launch_with(const rkernel::PlanRequest& request, const rkernel::Choice& choice) const {
  rkernel::Launch launch;
  launch.ints = slots_.evaluate(request.symbols);
  const rkernel::ContractionShape shape = shape_of(launch.ints);
  fill_strategy(shape, choice.program.regions.front().strategy, launch);
  launch.function = reinterpret_cast<rkernel::KernelFunction>(addresses_.at(class_for(launch.ints)));
  launch.threads = choice.threads;
  // Batches of small matrices have many tickets: several at a time keep the counter cheap, and the last ones balanced.
  launch.grain = std::max<std::int64_t>(1, launch.tickets / (8 * choice.threads));
  launch.predicted_seconds = choice.seconds;
  launch.flops = 2.0 * static_cast<double>(shape.batch) * static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k);
  launch.bytes = 4.0 * static_cast<double>(shape.batch) * (static_cast<double>(shape.m * shape.k) + static_cast<double>(shape.m * shape.n)) +
                 4.0 * static_cast<double>(shape.b_packed ? 1 : shape.batch) * static_cast<double>(shape.n * shape.k);
  return launch;
}

void ContractionKernel::for_each_choice(const rkernel::PlanRequest& request, const std::function<void(const rkernel::Choice&)>& visit) const {
  const rkernel::ContractionShape shape = shape_of(slots_.evaluate(request.symbols));
  const rkernel::Machine& machine = context_->machine();
  for (const int threads : request.threads > 1 ? std::vector{1, request.threads} : std::vector{1}) {
    const double overhead = threads > 1 ? machine.seconds_per_wakeup : 0;
    rkernel::for_each_strategy(machine, context_->candidates(), shape, threads, [&](const rkernel::Strategy& strategy) {
      rkernel::Choice choice;
      choice.program.regions = {{0, shape.m, 0, shape.n, strategy}};
      choice.threads = threads;
      choice.seconds = rkernel::contraction_cost(machine, shape, strategy, threads) + overhead;
      visit(choice);
    });
  }
}

std::string ContractionKernel::explain(const rkernel::PlanRequest& request) const {
  constexpr std::size_t shown = 8;
  const rkernel::ContractionShape shape = shape_of(slots_.evaluate(request.symbols));
  const rkernel::Machine& machine = context_->machine();
  const rkernel::Choice choice = context_->choose(shape, request.threads);
  std::vector<rkernel::Choice> candidates;
  for_each_choice(request, [&](const rkernel::Choice& candidate) { candidates.push_back(candidate); });
  std::stable_sort(candidates.begin(), candidates.end(), [](const auto& x, const auto& y) { return x.seconds < y.seconds; });
  std::string text = fmt::format("  batch {} M {} N {} K {}; A from {}, B from {} ({}); {} candidates\n", shape.batch, shape.m, shape.n, shape.k,
                                 machine.levels[shape.a_level].name, machine.levels[shape.b_level].name,
                                 shape.b_packed ? "packed at load" : "fresh", candidates.size());
  for (std::size_t i = 0; i < std::min(candidates.size(), shown); ++i) {
    const rkernel::Strategy& strategy = candidates[i].program.regions.front().strategy;
    const int threads = candidates[i].threads;
    const bool chosen = threads == choice.threads && strategy == choice.program.regions.front().strategy;
    text += fmt::format("  {} {:.4g} us: tile {}x{}, rows {}, block {} x {} x {}, A {}, B {}, {} thread{}\n", chosen ? "chosen" : "      ", candidates[i].seconds * 1e6,
                        strategy.tile_rows, strategy.tile_columns, rkernel::to_string(rkernel::equal_tiling(std::min(shape.m, strategy.block_m), strategy.tile_rows)),
                        strategy.block_m, strategy.block_n, strategy.block_k, strategy.copy_a ? "copied" : "as it lies",
                        shape.b_packed ? "packed at load" : strategy.direct_b ? "as it lies" : "packed by each ticket", threads,
                        threads == 1 ? "" : "s");
    rkernel::CostBreakdown breakdown;
    rkernel::contraction_cost(machine, shape, strategy, threads, &breakdown);
    text += rkernel::to_string(breakdown);
  }
  return text;
}

std::string ContractionKernel::describe() const {
  std::string text = rkernel::to_string(contraction_rkernel(*problem_, context_->isa(), context_->machine().threads));
  for (const KernelSource& source : sources()) text += "class " + source.key + "\n";
  return text;
}

}  // namespace dyn::cpu
