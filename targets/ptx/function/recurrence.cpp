#include "targets/ptx/function/recurrence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "src/base/rounding.hpp"
#include "src/rkernel/target/device.hpp"
#include "targets/llvm/problem/structure_key.hpp"
#include "targets/ptx/function/device_function.hpp"
#include "targets/ptx/ir/dtypes.hpp"
#include "targets/ptx/sharing/part_memory.hpp"

namespace dyn::ptx {

using rkernel::CellKind;

RecurrenceProblem::RecurrenceProblem(const rkernel::Problem& given)
    : problem(std::make_shared<rkernel::Problem>(given)) {
  for (const rkernel::Axis& axis : given.axes) extents.push_back(slots.add(axis.extent));
  for (std::size_t i = 0; i < given.operands.size(); ++i) {
    const rkernel::Operand& operand = given.operands[i];
    FunctionPart part{static_cast<int>(i), operand.dtype, slots.add(operand.offset), {}};
    for (const graph::Dim stride : operand.strides) part.strides.push_back(slots.add(stride));
    parts.push_back(std::move(part));
  }
  for (int* slot : {&tickets, &lane_shift, &groups, &state_rows, &state_floats})
    *slot = slots.add_strategy_slot();
  directions = add_digit(slots);
  tiles = add_digit(slots);
}

int phases_of(const rkernel::Cell& cell) {
  return cell.kind == CellKind::Gru && !cell.linear_before_reset ? 2 : 1;
}

int planes_of(const rkernel::Cell& cell) {
  if (phases_of(cell) == 2) return reset_states + 1;
  return cell.kind == CellKind::Lstm ? cell_states + 1 : odd_states + 1;
}

int recurrence_shared_bytes(const RecurrenceProblem& layer, int rows) {
  constexpr int float_bytes = 4;
  return rows * rkernel::gates_of(layer.problem->recurrence->cell.kind) * function_threads *
         float_bytes;
}

namespace {

/// Rows of a group, by class.
constexpr int group_rows[] = {1, 4, 8};

class RecurrenceFunction final : public DeviceFunction {
 public:
  explicit RecurrenceFunction(const rkernel::Problem& problem) : layer_(problem) {
    const std::string structure = codegen::structure_key(problem, codegen::SlotTable(problem));
    for (const int rows : group_rows) {
      std::string name = fmt::format("steps of {} {} by a group", rows, rows == 1 ? "row" : "rows");
      std::string key = fmt::format("gpu recurrence, {}, {}", name, structure);
      classes_.push_back({std::move(name), std::move(key), recurrence_shared_bytes(layer_, rows)});
    }
  }

  void emit(llvm::Module& module, const std::string& symbol, std::size_t chosen) const override {
    emit_recurrence(module, symbol, layer_, group_rows[chosen]);
  }

  FunctionLaunch launch(std::span<const std::int64_t> symbols,
                        const choice::GpuMachine& machine) const override {
    FunctionLaunch launch;
    launch.ints = layer_.slots.evaluate(symbols);
    const Sizes sizes = sizes_of(launch);
    require_short("the states of a recurrent layer",
                  planes_of(recurrence().cell) * sizes.directions * sizes.batch *
                      round_up(sizes.hidden, std::int64_t{recurrence_row_floats}));
    require_short("a recurrent layer",
                  sizes.steps * sizes.batch * sizes.directions * sizes.hidden * gates());
    launch.bytes = bytes_of(sizes);
    if (sizes.directions * sizes.batch * sizes.hidden == 0) return launch;
    launch.seconds = HUGE_VAL;
    for (std::size_t i = 0; i < classes_.size(); ++i) {
      const double cost = seconds(sizes, group_rows[i], machine);
      if (cost >= launch.seconds) continue;
      launch.chosen = i;
      launch.seconds = cost;
    }
    set(launch, sizes);
    return launch;
  }

 private:
  struct Sizes {
    std::int64_t directions, batch, hidden, steps;
    /// Threads of a group, a power of two.
    std::int64_t lanes() const {
      return static_cast<std::int64_t>(std::bit_ceil(
          static_cast<std::uint64_t>(std::min<std::int64_t>(hidden, function_threads))));
    }
    std::int64_t tiles(int rows) const {
      return ceil_div(batch, function_threads / lanes() * rows);
    }
  };

  const rkernel::Recurrence& recurrence() const { return *layer_.problem->recurrence; }
  int gates() const { return rkernel::gates_of(recurrence().cell.kind); }
  static std::int64_t& at(FunctionLaunch& launch, int slot) {
    return launch.ints[static_cast<std::size_t>(slot)];
  }
  double element_bytes(int operand) const {
    return static_cast<double>(size_of(layer_.parts[static_cast<std::size_t>(operand)].dtype));
  }

  Sizes sizes_of(FunctionLaunch& launch) const {
    const auto extent = [&](int axis) {
      return at(launch, layer_.extents[static_cast<std::size_t>(axis)]);
    };
    return {extent(recurrence().d), extent(recurrence().b), extent(recurrence().n),
            extent(recurrence().t)};
  }

  double bytes_of(const Sizes& sizes) const {
    const auto states = static_cast<double>(sizes.directions * sizes.batch * sizes.hidden);
    return static_cast<double>(sizes.steps) * states *
               (gates() * element_bytes(recurrence().gates) + element_bytes(recurrence().y)) +
           weight_bytes(sizes) * static_cast<double>(sizes.directions);
  }
  /// Of one direction.
  double weight_bytes(const Sizes& sizes) const {
    return static_cast<double>(gates() * sizes.hidden * sizes.hidden) *
           element_bytes(recurrence().r);
  }

  void set(FunctionLaunch& launch, const Sizes& sizes) const {
    const std::int64_t tiles = sizes.tiles(group_rows[launch.chosen]);
    launch.tickets = sizes.directions * tiles;
    set_digit(layer_.directions, sizes.directions, launch.ints);
    set_digit(layer_.tiles, tiles, launch.ints);
    at(launch, layer_.tickets) = launch.tickets;
    at(launch, layer_.lane_shift) = std::countr_zero(static_cast<std::uint64_t>(sizes.lanes()));
    at(launch, layer_.groups) = function_threads / sizes.lanes();
    at(launch, layer_.state_rows) = sizes.directions * sizes.batch;
    at(launch, layer_.state_floats) = round_up(sizes.hidden, std::int64_t{recurrence_row_floats});
    launch.shared_bytes = PartMemory::bytes(
        planes_of(recurrence().cell),
        static_cast<std::size_t>(at(launch, layer_.state_rows) * at(launch, layer_.state_floats)) *
            sizeof(float));
  }

  /// In each step a block reads the weights of its direction from L2, whose bytes blocks of one
  /// multiprocessor, and all blocks together, share.
  double seconds(const Sizes& sizes, int rows, const choice::GpuMachine& machine) const {
    constexpr double lanes_per_cycle = 128, weight_instructions = 3, cell_instructions = 120;
    const std::int64_t blocks = sizes.directions * sizes.tiles(rows),
                       resident = std::int64_t{recurrence_resident} * machine.multiprocessors;
    const double columns = std::ceil(static_cast<double>(sizes.hidden) /
                                     static_cast<double>(sizes.lanes())),
                 beside = static_cast<double>(ceil_div(std::min<std::int64_t>(blocks, resident),
                                                       std::int64_t{machine.multiprocessors})),
                 waves = static_cast<double>(ceil_div(blocks, resident));
    const double instructions =
        columns * (static_cast<double>(sizes.hidden) * gates() * (weight_instructions + rows) +
                   rows * cell_instructions);
    const double issue =
        beside * function_threads * instructions / lanes_per_cycle / machine.clock_hz;
    const double link =
        beside * weight_bytes(sizes) / (machine.l2_bytes_per_cycle * machine.clock_hz);
    const double l2 = std::min(static_cast<double>(blocks), beside * machine.multiprocessors) *
                      weight_bytes(sizes) / machine.l2_bytes_per_second;
    const double step = 2 * phases_of(recurrence().cell) * machine.memory_latency_seconds +
                        std::max({issue, link, l2});
    return machine.launch_seconds + waves * static_cast<double>(sizes.steps + 1) * step;
  }

  RecurrenceProblem layer_;
};

/// Numbers of an operand that lie apart, as they are.
bool is_plain(const rkernel::Operand& operand) {
  return can_load(operand.dtype) && operand.form == rkernel::Form::Strided && !operand.gathers &&
         !operand.window && operand.guards.empty();
}

}  // namespace

std::unique_ptr<DeviceFunction> make_recurrence(const rkernel::Problem& problem) {
  if (problem.recurrence->scales >= 0 || !std::ranges::all_of(problem.operands, is_plain))
    return nullptr;
  return std::make_unique<RecurrenceFunction>(problem);
}

}  // namespace dyn::ptx
