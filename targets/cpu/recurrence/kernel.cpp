#include "targets/cpu/recurrence/kernel.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "graph/ops/scalar_ops.hpp"
#include "src/base/bytes.hpp"
#include "src/base/rounding.hpp"
#include "targets/cpu/move/pack.hpp"
#include "targets/cpu/recurrence/quantised_states.hpp"
#include "targets/llvm/jit/listing.hpp"
#include "targets/llvm/problem/structure_key.hpp"

namespace dyn::cpu {
namespace {

using choice::RecurrenceChoice;
using choice::RecurrenceShape;
using choice::RecurrenceStrategy;
using codegen::StrideClass;
using rkernel::Recurrence;

/// Sharing the columns of smaller states costs more meetings than it saves.
constexpr std::int64_t least_shared_state = 96;

std::string key_of(const RecurrenceClass& made) {
  return fmt::format("{}{}{}{}{} {}", made.form == RecurrenceForm::Row ? "row" : "rows",
                     made.shared ? " shared" : "", made.whole_panels ? " whole" : "",
                     made.asks_ahead ? " ahead" : "", made.r_unit ? " unit" : "",
                     codegen::class_letters(made.lanes));
}

const rkernel::Operand& weights_of(const rkernel::Problem& problem) {
  return problem.operands[static_cast<std::size_t>(problem.recurrence->r)];
}

StrideClass class_along_lanes(const rkernel::Problem& problem, const rkernel::Operand& operand) {
  const auto options =
      codegen::possible_classes(operand.strides[static_cast<std::size_t>(problem.recurrence->n)]);
  return options.size() == 1 ? options[0] : StrideClass::Any;
}

/// Strides along axes that a tensor may lack, such as a batch of 1 or a state that all rows share.
std::vector<codegen::OperandAxis> strides_of_tensors(const Recurrence& recurrence) {
  std::vector<codegen::OperandAxis> strides;
  const auto add = [&](int operand, std::initializer_list<int> axes) {
    for (const int axis : axes) {
      if (operand >= 0) strides.push_back({operand, axis});
    }
  };
  for (const int steps : {recurrence.gates, recurrence.y})
    add(steps, {recurrence.d, recurrence.b, recurrence.t});
  for (const int state : {recurrence.last_h, recurrence.last_c})
    add(state, {recurrence.d, recurrence.b});
  for (const int state : {recurrence.h, recurrence.c})
    add(state, {recurrence.d, recurrence.b, recurrence.n});
  add(recurrence.r, {recurrence.d});
  add(recurrence.bias, {recurrence.d});
  add(recurrence.peepholes, {recurrence.d});
  return strides;
}

/// From one gate's panels of packed weights to the next.
std::int64_t gate_bytes_of(const rkernel::Problem& problem, const codegen::Isa& isa) {
  const rkernel::Operand& r = weights_of(problem);
  const std::int64_t hidden =
      problem.axes[static_cast<std::size_t>(problem.recurrence->n)].extent.constant().value();
  const rkernel::Group group = problem.recurrence->group;
  return rkernel::PackedLayout{.dtype = r.dtype,
                               .panel = isa.panel_f32,
                               .k = hidden,
                               .n = hidden,
                               .rows = packed_rows(isa, r.dtype, hidden, hidden),
                               .group = group,
                               .sums = group == rkernel::Group::Bytes}
      .bytes();
}

/// A form is the same for all strides: where one is not known to be 1, code for any is made.
RecurrenceClass class_of(const rkernel::Problem& problem, const codegen::Isa& isa,
                         const choice::Machine& machine, RecurrenceForm form, bool shared) {
  const Recurrence& recurrence = *problem.recurrence;
  RecurrenceClass made;
  made.form = form;
  made.shared = shared;
  const auto states = problem.axes[static_cast<std::size_t>(recurrence.n)].extent.constant();
  made.whole_panels = states && *states % isa.panel_f32 == 0;
  for (const rkernel::Operand& operand : problem.operands)
    made.lanes.push_back(class_along_lanes(problem, operand));
  // First states are read once.
  for (const int state : {recurrence.h, recurrence.c}) {
    if (state >= 0) made.lanes[static_cast<std::size_t>(state)] = StrideClass::Any;
  }
  const rkernel::Operand& r = weights_of(problem);
  if (r.form == rkernel::Form::Packed) {
    constexpr std::size_t l2 = 1;
    made.lanes[static_cast<std::size_t>(recurrence.r)] = StrideClass::Unit;
    made.asks_ahead = machine.level_of(gate_bytes_of(problem, isa) *
                                       rkernel::gates_of(recurrence.cell.kind)) > l2;
  } else {
    made.r_unit = class_along_lanes(problem, r) == StrideClass::Unit;
  }
  return made;
}

double operations_of(const graph::Activation& activation) {
  using graph::CellFunction;
  using graph::ScalarOp;
  const auto of = [](ScalarOp op) { return graph::info_of(op).instructions; };
  switch (activation.function) {
    case CellFunction::Sigmoid: return of(ScalarOp::Sigmoid);
    case CellFunction::Tanh:
    case CellFunction::ScaledTanh: return of(ScalarOp::Tanh);
    case CellFunction::Elu: return of(ScalarOp::Exp);
    case CellFunction::Softplus: return of(ScalarOp::Exp) + of(ScalarOp::Log);
    default: return 2;
  }
}

/// Vector instructions of a cell for one vector of states.
double operations_of(const rkernel::Cell& cell) {
  constexpr double moves = 4;  // a gate's sums and inputs: loads, a store, an addition
  switch (cell.kind) {
    case rkernel::CellKind::Lstm:
      return 3 * operations_of(cell.f) + operations_of(cell.g) + operations_of(cell.h) + 4 * moves;
    case rkernel::CellKind::Gru:
      return 2 * operations_of(cell.f) + operations_of(cell.g) + 3 * moves;
    case rkernel::CellKind::Rnn: break;
  }
  return operations_of(cell.f) + moves;
}

}  // namespace

bool has_packed_weights(const rkernel::Problem& problem) {
  const Recurrence& recurrence = *problem.recurrence;
  const rkernel::Operand& r = weights_of(problem);
  if (!r.offset.constant()) return false;
  for (const int axis : {recurrence.d, recurrence.g, recurrence.n, recurrence.k}) {
    const auto stride = r.strides[static_cast<std::size_t>(axis)].constant();
    const auto extent = problem.axes[static_cast<std::size_t>(axis)].extent.constant();
    if (!extent || !stride || (*stride == 0 && *extent != 1)) return false;
  }
  return true;
}

RecurrenceKernel::RecurrenceKernel(const rkernel::Problem& problem, const codegen::Isa& isa,
                                   std::shared_ptr<const choice::Machine> machine)
    : problem_(std::make_shared<rkernel::Problem>(problem)),
      isa_(isa),
      machine_(std::move(machine)),
      slots_(*problem_, 0, recurrence_slot_count, strides_of_tensors(*problem_->recurrence)),
      strategy_(recurrence_slots(slots_)) {
  for (const rkernel::Operand& operand : problem_->operands) {
    if (operand.dtype == DType::f32 || operand.dtype == DType::i32 ||
        operand.form == rkernel::Form::Packed)
      continue;
    throw Error(ErrorKind::unsupported,
                fmt::format("a recurrent layer reads {} as {}; it takes f32 on a CPU", operand.name,
                            name_of(operand.dtype)));
  }
  for (const bool shared : {false, true}) {
    for (const RecurrenceForm form : {RecurrenceForm::Row, RecurrenceForm::Rows}) {
      if (!shared || shares_columns())
        classes_.push_back(class_of(*problem_, isa, *machine_, form, shared));
    }
  }
}

bool RecurrenceKernel::shares_columns() const {
  const auto hidden =
      problem_->axes[static_cast<std::size_t>(problem_->recurrence->n)].extent.constant();
  return machine_->threads > 1 && hidden && *hidden >= least_shared_state;
}

RecurrenceKernel::Draft RecurrenceKernel::draft(const rkernel::Problem& problem,
                                                const codegen::Isa& isa,
                                                std::shared_ptr<const choice::Machine> machine) {
  return Draft(
      std::unique_ptr<RecurrenceKernel>(new RecurrenceKernel(problem, isa, std::move(machine))));
}

std::vector<codegen::KernelSource> RecurrenceKernel::sources() const {
  const std::string structure = codegen::structure_key(*problem_, slots_);
  std::vector<codegen::KernelSource> sources;
  for (const RecurrenceClass& made : classes_) {
    sources.push_back({fmt::format("recurrence {} {}", key_of(made), structure),
                       [this, made](llvm::Module& module, const std::string& symbol) {
                         emit_recurrence(module, symbol, *problem_, isa_, slots_, strategy_, made);
                       }});
  }
  if (shares_columns()) {
    sources.push_back(
        {fmt::format("recurrence meeting {} {}", strategy_.teams, strategy_.team_bytes),
         [this](llvm::Module& module, const std::string& symbol) {
           emit_meeting(module, symbol, strategy_);
         }});
  }
  return sources;
}

RecurrenceShape RecurrenceKernel::shape_of(std::span<const std::int64_t> ints) const {
  const Recurrence& recurrence = *problem_->recurrence;
  const auto extent = [&](int axis) { return codegen::value_of(slots_.extent(axis), ints); };
  RecurrenceShape shape;
  shape.directions = extent(recurrence.d);
  shape.batch = extent(recurrence.b);
  shape.steps = extent(recurrence.t);
  shape.hidden = extent(recurrence.n);
  shape.gates = rkernel::gates_of(recurrence.cell.kind);
  shape.factors = rkernel::factors_of(*problem_);
  shape.cell_operations = operations_of(recurrence.cell);
  shape.products = phases_of(recurrence.cell);
  shape.may_share = shares_columns();
  return shape;
}

RecurrenceShape RecurrenceKernel::shape(std::span<const std::int64_t> symbols) const {
  return shape_of(slots_.evaluate(symbols));
}

std::int64_t RecurrenceKernel::fill_memory(const RecurrenceShape& shape, std::int64_t rows,
                                           rkernel::Launch& launch) const {
  const rkernel::Cell& cell = problem_->recurrence->cell;
  const std::int64_t row = state_row(isa_, shape.hidden), states = rows * row * float_bytes;
  std::int64_t bytes = 0;
  const auto place = [&](int slot, bool exists, std::int64_t size) {
    launch.ints[static_cast<std::size_t>(slot)] = bytes;
    if (exists) bytes += round_up(size, line_bytes);
  };
  place(strategy_.states, true, states);
  place(strategy_.next_states, true, states);
  place(strategy_.cells, cell.kind == rkernel::CellKind::Lstm, states);
  place(strategy_.updates, phases_of(cell) > 1, states);
  place(strategy_.seen, phases_of(cell) > 1, states);
  place(strategy_.bias, problem_->recurrence->bias >= 0, shape.gates * row * float_bytes);
  place(strategy_.lengths, problem_->recurrence->lengths >= 0,
        rows * static_cast<std::int64_t>(sizeof(std::int64_t)));
  // Weights that lie by columns are written in whole squares, beyond the last row.
  const std::int64_t slack = isa_.f32_lanes * isa_.panel_f32;
  place(
      strategy_.panels, weights_of(*problem_).form != rkernel::Form::Packed,
      (shape.gates * round_up(shape.hidden, isa_.panel_f32) * shape.hidden + slack) * float_bytes);
  return bytes;
}

std::int64_t RecurrenceKernel::tile_bytes(RecurrenceForm form) const {
  std::int64_t sums = 0;
  for (const int gates : {1, 2, rkernel::gates_of(problem_->recurrence->cell.kind)}) {
    const CellTile tile = cell_tile(isa_, form, gates);
    sums = std::max(sums, std::int64_t{tile.rows} * tile.vectors * gates);
  }
  return round_up(sums * isa_.f32_lanes * float_bytes, line_bytes);
}

std::int64_t RecurrenceKernel::quantised_bytes(std::int64_t rows, std::int64_t hidden) const {
  const rkernel::Group group = problem_->recurrence->group;
  return group == rkernel::Group::None ? 0 : rows * quantised_row_bytes(isa_, group, hidden);
}

rkernel::Launch RecurrenceKernel::plan_with(std::span<const std::int64_t> symbols,
                                            const RecurrenceStrategy& strategy) const {
  rkernel::Launch launch;
  launch.ints = slots_.evaluate(symbols);
  const RecurrenceShape shape = shape_of(launch.ints);
  const std::int64_t rows = ceil_div(shape.batch, strategy.row_blocks),
                     teams = shape.directions * strategy.row_blocks;
  const RecurrenceForm form = rows > 1 ? RecurrenceForm::Rows : RecurrenceForm::Row;
  const bool shared = strategy.parts > 1;
  const std::int64_t memory = fill_memory(shape, rows, launch), tile = tile_bytes(form),
                     own = tile + quantised_bytes(rows, shape.hidden);
  const auto set = [&](int slot, std::int64_t value) {
    launch.ints[static_cast<std::size_t>(slot)] = value;
  };
  set(strategy_.row_blocks, strategy.row_blocks);
  set(strategy_.parts, strategy.parts);
  set(strategy_.teams, teams);
  set(strategy_.team_bytes, meeting_bytes + memory);
  if (weights_of(*problem_).form == rkernel::Form::Packed)
    set(strategy_.gate_bytes, gate_bytes_of(*problem_, isa_));
  set(strategy_.quantised, tile);
  set(strategy_.memory, own);
  launch.scratch_bytes = static_cast<std::size_t>(own + (shared ? 0 : memory));
  const auto made = std::ranges::find_if(classes_, [&](const RecurrenceClass& each) {
    return each.form == form && each.shared == shared;
  });
  const auto function = reinterpret_cast<rkernel::KernelFunction>(
      functions_.at(static_cast<std::size_t>(made - classes_.begin())));
  const std::int64_t tickets = shape.batch > 0 ? teams * strategy.parts : 0;
  if (shared) {
    launch.function = reinterpret_cast<rkernel::KernelFunction>(functions_.back());
    launch.tickets = tickets > 0 ? 1 : 0;
    launch.merge = function;
    launch.merge_tickets = tickets;
    launch.shared_bytes = static_cast<std::size_t>(teams * (meeting_bytes + memory));
  } else {
    launch.function = function;
    launch.tickets = tickets;
  }
  const double states = static_cast<double>(shape.directions * shape.batch) *
                        static_cast<double>(shape.hidden * shape.steps);
  launch.flops = 2 * states * static_cast<double>(shape.gates * shape.hidden);
  launch.group = shape.factors.group;
  launch.bytes = states * (shape.gates + 1) * float_bytes;
  return launch;
}

rkernel::Launch RecurrenceKernel::plan(const rkernel::PlanRequest& request) const {
  const RecurrenceChoice choice =
      choice::select_recurrence(*machine_, shape(request.symbols), request.threads);
  rkernel::Launch launch = plan_with(request.symbols, choice.strategy);
  launch.threads = choice.threads;
  launch.predicted_seconds = choice.seconds;
  return launch;
}

std::vector<rkernel::CodeListing> RecurrenceKernel::listings_at(
    const rkernel::PlanRequest& request) const {
  return codegen::list_launched(isa_, sources(), functions_, plan(request));
}

std::string RecurrenceKernel::explain(const rkernel::PlanRequest& request) const {
  const RecurrenceShape sizes = shape(request.symbols);
  const RecurrenceChoice choice = choice::select_recurrence(*machine_, sizes, request.threads);
  choice::CostBreakdown breakdown;
  choice::recurrence_cost(*machine_, sizes, choice.strategy, choice.threads, &breakdown);
  return fmt::format(
      "  {}: {} direction{}, batch {}, {} steps, state of {}\n  {:.4g} us: {} block{} of rows, {} "
      "part{} of columns, {} thread{}\n{}",
      problem_->name, sizes.directions, sizes.directions == 1 ? "" : "s", sizes.batch, sizes.steps,
      sizes.hidden, choice.seconds * 1e6, choice.strategy.row_blocks,
      choice.strategy.row_blocks == 1 ? "" : "s", choice.strategy.parts,
      choice.strategy.parts == 1 ? "" : "s", choice.threads, choice.threads == 1 ? "" : "s",
      choice::to_string(breakdown));
}

std::string RecurrenceKernel::describe() const {
  std::string text = rkernel::to_string(
      recurrence_rkernel(*problem_, isa_, RecurrenceForm::Rows, machine_->threads));
  for (const RecurrenceClass& made : classes_) text += fmt::format("class {}\n", key_of(made));
  return text;
}

}  // namespace dyn::cpu
