#include "targets/cpu/contraction_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "targets/cpu/dot_loop.hpp"
#include "targets/llvm/structure_key.hpp"

namespace dyn::cpu {
namespace {

using rkernel::LaneAxis;

/// Remembered; beyond it the memory starts anew. Layers of one model share choices, while shapes seen before have plans: few are enough, and many
/// small objects that stay would keep the heap from reusing the memory of large tensors.
constexpr std::size_t most_choices = 1 << 10;
constexpr std::int64_t line_bytes = 64;
constexpr std::int64_t copy_slack = 16;        ///< floats between rows of A's copy, so that rows do not share cache sets

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
std::int64_t round_up(std::int64_t a, std::int64_t b) { return ceil_div(a, b) * b; }

std::unordered_map<int, std::vector<MainLoop>> by_columns(const MainLoopTable& loops) {
  std::unordered_map<int, std::vector<MainLoop>> tables;
  for (std::size_t i = 0; i < loops.tiles.size(); ++i) {
    std::vector<MainLoop>& table = tables[loops.tiles[i].columns];
    table.resize(std::max(table.size(), static_cast<std::size_t>(loops.tiles[i].rows) + 1), nullptr);
    table[static_cast<std::size_t>(loops.tiles[i].rows)] = loops.functions[i];
  }
  return tables;
}

}  // namespace

ContractionContext::ContractionContext(const Isa& isa, rkernel::Machine machine, const MainLoopTable& loops, const MainLoopTable& dot_loops,
                                       bool deterministic, const std::map<DType, MainLoopTable>& narrow_loops)
    : isa_(isa), machine_(std::move(machine)), deterministic_(deterministic), candidates_(rkernel::make_candidates(machine_)),
      dot_tables_(by_columns(dot_loops)) {
  tables_.emplace(DType::f32, by_columns(loops));
  for (const auto& [dtype, narrow] : narrow_loops) tables_.emplace(dtype, by_columns(narrow));
  machine_.dot_rows.assign(static_cast<std::size_t>(most_dot_columns(isa)) + 1, 0);
  for (const Tile& tile : dot_tiles(isa)) machine_.dot_rows[static_cast<std::size_t>(tile.columns)] = tile.rows;
}

std::int64_t ContractionContext::address(const Tables& tables, int columns) {
  const auto found = tables.find(columns);
  return found == tables.end() ? 0 : static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(found->second.data()));
}

std::int64_t ContractionContext::table(int columns, DType weights) const { return address(tables_.at(weights), columns); }

rkernel::Choice ContractionContext::choose(const rkernel::ContractionShape& shape, int threads) const {
  const std::string key = fmt::format(
      FMT_STRING("{} {} {} {} {} {} {} {}{} {} {} {:g} {:g} {} {} {}{} {}"), static_cast<int>(shape.lanes), static_cast<int>(shape.a_dtype),
      static_cast<int>(shape.b_dtype), shape.batch, shape.m, shape.n, shape.k, (shape.b_packed ? 0 : shape.must_pack_b ? 1 : 2), int{shape.must_copy_a},
      shape.a_row_bytes, shape.b_row_bytes, shape.epilogue_operations, shape.epilogue_bytes, shape.inlined_rows, shape.fixed_slices, shape.a_level, shape.b_level, threads);
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
    : context_(std::move(context)), slots_(problem), strategy_(add_strategy_slots(slots_)), constant_level_(constant_level) {
  std::size_t address = 0;
  for (ContractionForm& form : contraction_forms(problem, context_->isa())) {
    const std::size_t classes = form.classes.size();
    const bool splits = context_->splits() && form.lanes != LaneAxis::M;
    forms_.push_back({std::move(form), address, splits});
    address += splits ? 2 * classes : classes;
  }
}

std::vector<KernelSource> ContractionKernel::sources() const {
  std::vector<KernelSource> sources;
  for (const BoundForm& bound : forms_) {
    const rkernel::Problem& problem = bound.form.problem;
    const std::string structure = codegen::structure_key(problem, slots_);
    std::vector<KernelSource> merges;
    for (const ContractionClass& shape_class : bound.form.classes) {
      std::string full;
      for (const Tile& tile : shape_class.full_tiles) full += fmt::format(" {}x{}", tile.rows, tile.columns);
      sources.push_back({fmt::format("contraction {}{}{} {} {} full{}", shape_class.dot ? "dot " : "", int{shape_class.a_unit}, int{shape_class.b_unit},
                                     codegen::class_letters(shape_class.lanes), structure, full),
                         [this, &problem, &shape_class](llvm::Module& module, const std::string& symbol) {
                           emit_contraction(module, symbol, contraction_rkernel(problem, context_->isa(), 1, shape_class.dot), context_->isa(), slots_, strategy_,
                                            shape_class);
                         }});
      merges.push_back({fmt::format("contraction merge {} {}", codegen::class_letters(shape_class.lanes), structure),
                        [this, &problem, &shape_class](llvm::Module& module, const std::string& symbol) {
                          emit_contraction_merge(module, symbol, problem, context_->isa(), slots_, strategy_, shape_class);
                        }});
    }
    if (bound.splits) sources.insert(sources.end(), merges.begin(), merges.end());
  }
  return sources;
}

rkernel::ContractionShape ContractionKernel::shape_of(const ContractionForm& form, std::span<const std::int64_t> ints) const {
  const rkernel::Problem& problem = form.problem;
  const rkernel::Contraction& contraction = *problem.contraction;
  const auto value = [&](int slot) { return slot == codegen::SlotTable::none ? 0 : ints[static_cast<std::size_t>(slot)]; };
  const auto packed = [&](int operand) { return problem.operands[static_cast<std::size_t>(operand)].form == rkernel::Form::Packed; };
  rkernel::ContractionShape shape;
  shape.lanes = form.lanes;
  for (int axis = 0; axis < static_cast<int>(problem.axes.size()); ++axis) {
    const std::int64_t extent = value(slots_.extent(axis));
    if (axis == contraction.m) shape.m = extent;
    else if (axis == contraction.n) shape.n = extent;
    else if (axis == contraction.k) shape.k = extent;
    else shape.batch *= extent;
  }
  shape.a_dtype = problem.operands[static_cast<std::size_t>(contraction.a)].dtype;
  shape.b_dtype = problem.operands[static_cast<std::size_t>(contraction.b)].dtype;
  shape.b_packed = packed(contraction.b);
  shape.must_copy_a = packed(contraction.a) || value(slots_.stride(contraction.a, contraction.k)) != 1;
  shape.a_row_bytes = 4 * value(slots_.stride(contraction.a, contraction.m));
  if (!shape.b_packed) {
    shape.must_pack_b = value(slots_.stride(contraction.b, contraction.n)) != 1;
    shape.b_row_bytes = 4 * value(slots_.stride(contraction.b, contraction.k));
  }
  shape.epilogue_operations = form.epilogue_operations;
  shape.epilogue_bytes = form.epilogue_bytes;
  shape.inlined_rows = form.inlined_rows;
  if (!context_->splits()) shape.fixed_slices = 1;
  else if (context_->deterministic()) shape.fixed_slices = rkernel::fixed_slices(shape.batch * shape.m * shape.n, shape.k);
  const rkernel::Machine& machine = context_->machine();
  const auto level = [&](int operand, std::int64_t extent) {
    return packed(operand) ? constant_level_ : machine.level_of(4 * shape.batch * extent * shape.k);
  };
  shape.a_level = level(contraction.a, shape.m);
  shape.b_level = level(contraction.b, shape.n);
  return shape;
}

std::vector<rkernel::ContractionShape> ContractionKernel::shapes_of(std::span<const std::int64_t> ints) const {
  std::vector<rkernel::ContractionShape> shapes{shape_of(forms_.front().form, ints)};
  const std::int64_t columns = shapes.front().n;
  for (std::size_t i = 1; i < forms_.size(); ++i) {
    // Lanes along K add in another order.
    if (context_->deterministic() && forms_[i].form.lanes == LaneAxis::K) continue;
    if (covers(forms_[i].form, columns)) shapes.push_back(shape_of(forms_[i].form, ints));
  }
  return shapes;
}

rkernel::Choice ContractionKernel::choose(std::span<const std::int64_t> ints, int threads) const {
  rkernel::Choice best;
  for (const rkernel::ContractionShape& shape : shapes_of(ints)) {
    rkernel::Choice choice = context_->choose(shape, threads);
    if (best.program.regions.empty() || choice.seconds < best.seconds) best = std::move(choice);
  }
  return best;
}

void ContractionKernel::fill_strategy(const rkernel::ContractionShape& shape, const rkernel::Strategy& strategy, rkernel::Launch& launch) const {
  const Isa& isa = context_->isa();
  const std::int64_t m_blocks = std::max<std::int64_t>(1, ceil_div(shape.m, strategy.block_m));
  const std::int64_t n_blocks = std::max<std::int64_t>(1, ceil_div(shape.n, strategy.block_n));
  const std::int64_t slice_k = ceil_div(shape.k, strategy.split_k);
  const std::int64_t wanted_k_blocks = std::max<std::int64_t>(1, ceil_div(slice_k, strategy.block_k));
  const std::int64_t block_k = std::max<std::int64_t>(round_up(ceil_div(slice_k, wanted_k_blocks), copy_slack), copy_slack);
  const std::int64_t k_blocks = std::max<std::int64_t>(1, ceil_div(slice_k, block_k));
  const std::int64_t block_m = ceil_div(shape.m, m_blocks);
  const std::int64_t block_panels = ceil_div(ceil_div(shape.n, isa.panel_f32), n_blocks);
  const std::int64_t tile_panels = strategy.tile_columns / isa.panel_f32;
  const std::int64_t row_tiles = rkernel::tiling_of(block_m, strategy.tile_rows).tiles();
  const std::int64_t column_tiles = block_panels / tile_panels + block_panels % tile_panels;
  const std::int64_t tiles = k_blocks > 1 ? row_tiles * column_tiles : 1;
  const std::int64_t tile_bytes = round_up(tiles * strategy.tile_rows * strategy.tile_columns * 4, line_bytes);
  const std::int64_t a_row = block_k + copy_slack;
  const std::int64_t a_bytes = strategy.copy_a ? round_up(round_up(block_m, isa.f32_lanes) * a_row * 4, line_bytes) : 0;
  const std::int64_t moved_panels = shape.b_packed ? 0 : strategy.direct_b ? 1 : block_panels;
  // Transposing moves write whole blocks of vectors.
  const std::int64_t b_bytes = strategy.lanes == LaneAxis::K ? round_up(round_up(shape.n, isa.f32_lanes) * a_row * 4, line_bytes)
                                                             : moved_panels * isa.panel_f32 * round_up(block_k, isa.f32_lanes) * 4;
  const auto set = [&](int slot, std::int64_t value) { launch.ints[static_cast<std::size_t>(slot)] = value; };
  set(strategy_.k_slices, strategy.split_k);
  set(strategy_.m_blocks, m_blocks);
  set(strategy_.n_blocks, n_blocks);
  set(strategy_.tile_rows, strategy.tile_rows);
  set(strategy_.tile_panels, tile_panels);
  for (const auto& [slots, rows] : {std::pair{strategy_.larger, block_m}, std::pair{strategy_.smaller, shape.m / m_blocks}}) {
    const rkernel::Tiling tiling = rkernel::tiling_of(rows, strategy.tile_rows);
    set(slots.first_rows, tiling.first.tile);
    set(slots.first_tiles, tiling.first.count);
    set(slots.second_rows, tiling.second.tile);
    set(slots.tiles, tiling.tiles());
  }
  set(strategy_.block_k, block_k);
  set(strategy_.k_blocks, k_blocks);
  set(strategy_.copy_a, strategy.copy_a ? 1 : 0);
  set(strategy_.ask_ahead, row_tiles > 1 ? 1 : 0);
  set(strategy_.direct_b, strategy.direct_b ? 1 : 0);
  const bool dot = strategy.lanes == LaneAxis::K;
  set(strategy_.wide_table, dot ? context_->dot_table(static_cast<int>(shape.n)) : context_->table(strategy.tile_columns, shape.b_dtype));
  set(strategy_.narrow_table, context_->table(isa.panel_f32, shape.b_dtype));
  set(strategy_.half_table, context_->table(isa.f32_lanes, shape.b_dtype));
  set(strategy_.a_row, a_row);
  set(strategy_.a_scratch, tile_bytes);
  set(strategy_.b_scratch, tile_bytes + a_bytes);
  const std::int64_t turned_bytes =
      strategy.lanes == LaneAxis::M ? strategy.tile_columns * round_up(strategy.tile_rows, isa.f32_lanes) * 4 : 0;
  set(strategy_.turned_scratch, tile_bytes + a_bytes + b_bytes);
  launch.scratch_bytes = static_cast<std::size_t>(tile_bytes + a_bytes + b_bytes + turned_bytes);
  launch.tickets = shape.m > 0 && shape.n > 0 ? shape.batch * m_blocks * n_blocks * strategy.split_k : 0;
}

void ContractionKernel::fill_merge(const rkernel::ContractionShape& shape, const rkernel::Strategy& strategy, int threads, rkernel::Launch& launch) const {
  constexpr std::int64_t tickets_per_thread = 2;
  const std::int64_t sums_row = round_up(shape.n, context_->isa().panel_f32);
  const std::int64_t row_blocks = std::clamp<std::int64_t>(ceil_div(tickets_per_thread * threads, shape.batch), 1, shape.m);
  const std::int64_t merge_rows = ceil_div(shape.m, row_blocks);
  launch.ints[static_cast<std::size_t>(strategy_.sums_row)] = sums_row;
  launch.ints[static_cast<std::size_t>(strategy_.merge_rows)] = merge_rows;
  launch.merge_tickets = shape.batch * ceil_div(shape.m, merge_rows);
  launch.shared_bytes = static_cast<std::size_t>(strategy.split_k * shape.batch * shape.m * sums_row * 4);
  launch.scratch_bytes = std::max(launch.scratch_bytes, static_cast<std::size_t>(round_up(sums_row * 4, line_bytes)));
}

rkernel::Launch ContractionKernel::plan(const rkernel::PlanRequest& request) const {
  std::vector<std::int64_t> ints = slots_.evaluate(request.symbols);
  const rkernel::Choice choice = choose(ints, request.threads);
  return launch_with(std::move(ints), choice);
}

rkernel::Launch ContractionKernel::launch_with(const rkernel::PlanRequest& request, const rkernel::Choice& choice) const {
  return launch_with(slots_.evaluate(request.symbols), choice);
}

rkernel::Launch ContractionKernel::launch_with(std::vector<std::int64_t> ints, const rkernel::Choice& choice) const {
  const rkernel::Strategy& strategy = choice.program.regions.front().strategy;
  const BoundForm& bound = *std::find_if(forms_.begin(), forms_.end(), [&](const BoundForm& form) { return form.form.lanes == strategy.lanes; });
  rkernel::Launch launch;
  launch.ints = std::move(ints);
  const rkernel::ContractionShape shape = shape_of(bound.form, launch.ints);
  fill_strategy(shape, strategy, launch);
  const std::size_t shape_class = class_for(bound.form, slots_, launch.ints);
  launch.function = reinterpret_cast<rkernel::KernelFunction>(addresses_.at(bound.first_address + shape_class));
  if (strategy.split_k > 1 && launch.tickets > 0) {
    fill_merge(shape, strategy, choice.threads, launch);
    launch.merge = reinterpret_cast<rkernel::KernelFunction>(addresses_.at(bound.first_address + bound.form.classes.size() + shape_class));
  }
  launch.threads = choice.threads;
  // Batches of small matrices have many tickets: several at a time keep the counter cheap, and the last ones balanced.
  launch.grain = std::max<std::int64_t>(1, launch.tickets / (8 * choice.threads));
  launch.predicted_seconds = choice.seconds;
  launch.flops = 2.0 * static_cast<double>(shape.batch) * static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k);
  // Constant operands are there once for all batches.
  const bool a_packed = bound.form.problem.operands[static_cast<std::size_t>(bound.form.problem.contraction->a)].form == rkernel::Form::Packed;
  const auto bytes_of = [&](DType dtype, bool shared, std::int64_t elements) {
    return static_cast<double>(size_of(dtype)) * static_cast<double>(shared ? 1 : shape.batch) * static_cast<double>(elements);
  };
  launch.bytes = bytes_of(shape.a_dtype, a_packed, shape.m * shape.k) + bytes_of(shape.b_dtype, shape.b_packed, shape.n * shape.k) +
                 bytes_of(DType::f32, false, shape.m * shape.n);
  return launch;
}

void ContractionKernel::for_each_choice(const rkernel::PlanRequest& request, const std::function<void(const rkernel::Choice&)>& visit) const {
  const rkernel::Machine& machine = context_->machine();
  for (const rkernel::ContractionShape& shape : shapes_of(slots_.evaluate(request.symbols))) {
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
}

std::string ContractionKernel::describe_choice(const rkernel::ContractionShape& shape, const rkernel::Choice& choice, bool chosen) const {
  const rkernel::Strategy& strategy = choice.program.regions.front().strategy;
  std::string text = fmt::format(
      "  {} {:.4g} us: tile {}x{}, rows {}, block {} x {} x {}{}, A {}, B {}{}, {} thread{}\n", chosen ? "chosen" : "      ", choice.seconds * 1e6,
      strategy.tile_rows, strategy.tile_columns,
      rkernel::to_string(rkernel::tiling_of(std::min(shape.m, strategy.block_m), strategy.tile_rows)), strategy.block_m, strategy.block_n,
      strategy.block_k, strategy.split_k > 1 ? fmt::format(" of {} slices", strategy.split_k) : "", strategy.copy_a ? "copied" : "as it lies",
      shape.b_packed ? "packed at load" : strategy.direct_b ? "as it lies" : "packed by each ticket",
      strategy.lanes == LaneAxis::M ? ", lanes along M" : strategy.lanes == LaneAxis::K ? ", lanes along K" : "", choice.threads, choice.threads == 1 ? "" : "s");
  rkernel::CostBreakdown breakdown;
  rkernel::contraction_cost(context_->machine(), shape, strategy, choice.threads, &breakdown);
  return text + rkernel::to_string(breakdown);
}

std::string ContractionKernel::explain(const rkernel::PlanRequest& request) const {
  constexpr std::size_t shown = 8;
  const std::vector<std::int64_t> ints = slots_.evaluate(request.symbols);
  const std::vector<rkernel::ContractionShape> shapes = shapes_of(ints);
  const rkernel::ContractionShape& shape = shapes.front();
  const rkernel::Machine& machine = context_->machine();
  const rkernel::Choice choice = choose(ints, request.threads);
  std::vector<rkernel::Choice> candidates;
  for_each_choice(request, [&](const rkernel::Choice& candidate) { candidates.push_back(candidate); });
  std::stable_sort(candidates.begin(), candidates.end(), [](const auto& x, const auto& y) { return x.seconds < y.seconds; });
  std::string text = fmt::format("  batch {} M {} N {} K {}; A from {}, B from {} ({}); {} candidates\n", shape.batch, shape.m, shape.n, shape.k,
                                 machine.levels[shape.a_level].name, machine.levels[shape.b_level].name,
                                 shape.b_packed ? "packed at load" : "fresh", candidates.size());
  for (std::size_t i = 0; i < std::min(candidates.size(), shown); ++i) {
    const rkernel::Strategy& strategy = candidates[i].program.regions.front().strategy;
    const bool chosen = candidates[i].threads == choice.threads && strategy == choice.program.regions.front().strategy;
    const auto of = std::find_if(shapes.begin(), shapes.end(), [&](const auto& candidate) { return candidate.lanes == strategy.lanes; });
    text += describe_choice(*of, candidates[i], chosen);
  }
  return text;
}

std::string ContractionKernel::describe() const {
  std::string text = rkernel::to_string(contraction_rkernel(forms_.front().form.problem, context_->isa(), context_->machine().threads, false));
  for (const KernelSource& source : sources()) text += "class " + source.key + "\n";
  return text;
}

}  // namespace dyn::cpu
