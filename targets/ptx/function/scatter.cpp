#include "targets/ptx/function/scatter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "graph/ir/op.hpp"
#include "graph/ir/scalars.hpp"
#include "src/base/rounding.hpp"
#include "targets/ptx/function/device_function.hpp"
#include "targets/ptx/ir/dtypes.hpp"

namespace dyn::ptx {
namespace {

constexpr int none = -1;

/// An axis along these dims of the parts; none: it does not vary.
ScatterAxis axis_of(ScatterProblem& scatter, const rkernel::HostCall& call, int data, int indices,
                    int updates) {
  const auto stride = [&](const rkernel::HostPart& part, int dim) {
    return dim == none ? none : scatter.slots.add(part.strides[static_cast<std::size_t>(dim)]);
  };
  ScatterAxis made;
  made.extent = data == none ? call.inputs[1].dims[static_cast<std::size_t>(indices)]
                             : call.inputs[0].dims[static_cast<std::size_t>(data)];
  made.data = stride(call.inputs[0], data);
  made.indices = stride(call.inputs[1], indices);
  made.updates = stride(call.inputs[2], updates);
  made.result = stride(call.outputs[0], data);
  made.digit = add_digit(scatter.slots);
  return made;
}

FunctionPart start_of(codegen::SlotTable& slots, const rkernel::HostPart& part) {
  return {part.operand, part.dtype, slots.add(part.offset), {}};
}

int rank_of(const rkernel::HostPart& part) { return static_cast<int>(part.dims.size()); }

}  // namespace

ScatterProblem::ScatterProblem(const rkernel::HostCall& call)
    : reduction(graph::attr_word(call.node, "reduction")) {
  data = start_of(slots, call.inputs[0]);
  indices = start_of(slots, call.inputs[1]);
  updates = start_of(slots, call.inputs[2]);
  result = start_of(slots, call.outputs[0]);
  for (int* slot : {&tickets, &place_count, &row_count, &lane_shift, &groups, &part_places,
                    &same_lanes, &warp_step, &lane_bound, &lane_extent})
    *slot = slots.add_strategy_slot();
  chunks = add_digit(slots);
  parts = add_digit(slots);
  if (call.node.op->id == graph::OpId::ScatterNd)
    add_slices(call);
  else
    add_elements(call);
}

/// A line's rows are the elements of indices along the axis.
void ScatterProblem::add_elements(const rkernel::HostCall& call) {
  const int rank = rank_of(call.inputs[0]);
  const auto given = static_cast<int>(graph::attr_integer(call.node, "axis"));
  const int axis = given < 0 ? given + rank : given;
  for (int d = 0; d < rank; ++d) {
    if (d == axis) {
      places.push_back(axis_of(*this, call, d, none, none));
      rows.push_back(axis_of(*this, call, none, d, d));
    } else if (d == rank - 1) {
      lane.push_back(axis_of(*this, call, d, d, d));
      lane_bound = slots.add(call.inputs[1].dims.back());
    } else {
      lines.push_back(axis_of(*this, call, d, d, d));
      line_bounds.push_back(slots.add(call.inputs[1].dims[static_cast<std::size_t>(d)]));
    }
  }
}

/// A row of indices moves a slice.
void ScatterProblem::add_slices(const rkernel::HostCall& call) {
  const int rank = rank_of(call.inputs[0]), row_rank = rank_of(call.inputs[1]) - 1;
  const auto depth = static_cast<int>(call.inputs[1].dims.back().constant().value());
  for (int d = 0; d < rank; ++d) {
    if (d < depth) {
      places.push_back(axis_of(*this, call, d, none, none));
      continue;
    }
    const graph::Dim extent = call.inputs[0].dims[static_cast<std::size_t>(d)];
    (d == rank - 1 ? lane : lines).push_back(axis_of(*this, call, d, none, row_rank + d - depth));
    if (d == rank - 1)
      lane_bound = slots.add(extent);
    else
      line_bounds.push_back(slots.add(extent));
  }
  for (int d = 0; d < row_rank; ++d) rows.push_back(axis_of(*this, call, none, d, d));
  component_stride = slots.add(call.inputs[1].strides.back());
}

namespace {

class Scatter final : public DeviceFunction {
 public:
  explicit Scatter(const rkernel::HostCall& call) : scatter_(call), name_(call.node.op->name) {
    std::string key = fmt::format(
        "gpu scatter, lines {}, places {}, rows {}, lanes {}, components {}, {} by {}, {}",
        scatter_.lines.size(), scatter_.places.size(), scatter_.rows.size(), scatter_.lane.size(),
        scatter_.component_stride >= 0 ? "apart" : "one", name_of(scatter_.data.dtype),
        name_of(scatter_.indices.dtype), scatter_.reduction);
    classes_.push_back({"tickets", std::move(key), scatter_shared_bytes});
  }

  void emit(llvm::Module& module, const std::string& symbol, std::size_t) const override {
    emit_scatter(module, symbol, scatter_);
  }

  FunctionLaunch launch(std::span<const std::int64_t> symbols,
                        const choice::GpuMachine& machine) const override {
    FunctionLaunch launch;
    launch.ints = scatter_.slots.evaluate(symbols);
    std::int64_t lines = set_axes(launch, scatter_.lines, symbols),
                 places = set_axes(launch, scatter_.places, symbols),
                 lanes = set_axes(launch, scatter_.lane, symbols);
    const std::int64_t rows = set_axes(launch, scatter_.rows, symbols);
    require_short(name_, lines * places * lanes);
    require_short(name_, lines * rows * lanes);
    if (scatter_.component_stride >= 0 && lines * lanes == 0) {
      set_one_element(launch);
      lines = lanes = 1;
      places = 0;
    }
    if (scatter_.lane.empty()) at(launch, scatter_.lane_bound) = 1;
    at(launch, scatter_.lane_extent) = lanes;
    at(launch, scatter_.place_count) = places;
    at(launch, scatter_.row_count) = rows;
    set_tickets(launch, lines, places, lanes, machine);
    set_cost(launch, lines * places * lanes, lines * rows * lanes, machine);
    return launch;
  }

 private:
  static std::int64_t& at(FunctionLaunch& launch, int slot) {
    return launch.ints[static_cast<std::size_t>(slot)];
  }

  /// Their elements.
  static std::int64_t set_axes(FunctionLaunch& launch, const std::vector<ScatterAxis>& axes,
                               std::span<const std::int64_t> symbols) {
    std::int64_t elements = 1;
    for (const ScatterAxis& axis : axes) {
      const std::int64_t extent = graph::evaluate(axis.extent, symbols);
      set_digit(axis.digit, extent, launch.ints);
      elements *= extent;
    }
    return elements;
  }

  /// Rows of empty slices have indices all the same: as if a slice had one element, and there were
  /// no place for it, they are read, and change nothing.
  void set_one_element(FunctionLaunch& launch) const {
    for (const ScatterAxis& axis : scatter_.lines) set_digit(axis.digit, 1, launch.ints);
    for (const int bound : scatter_.line_bounds) at(launch, bound) = 1;
    at(launch, scatter_.lane_bound) = 1;
  }

  /// Places are parted where there are fewer lines than blocks: each part reads all of its lines'
  /// indices.
  void set_tickets(FunctionLaunch& launch, std::int64_t lines, std::int64_t places,
                   std::int64_t lanes, const choice::GpuMachine& machine) const {
    constexpr std::int64_t least_elements = 4 * function_threads;
    const auto width = static_cast<std::int64_t>(std::bit_ceil(
        static_cast<std::uint64_t>(std::clamp<std::int64_t>(lanes, 1, function_threads))));
    const std::int64_t chunks = ceil_div(lanes, width), together = lines * chunks,
                       most = std::max<std::int64_t>(1, ceil_div(places * width, least_elements));
    std::int64_t parts = 1;
    if (together > 0)
      parts = std::clamp<std::int64_t>(resident_blocks(machine, scatter_shared_bytes) / together, 1,
                                       most);
    const std::int64_t part_places = std::max<std::int64_t>(1, ceil_div(places, parts));
    parts = std::max<std::int64_t>(1, ceil_div(places, part_places));
    launch.tickets = together * parts;
    set_digit(scatter_.chunks, chunks, launch.ints);
    set_digit(scatter_.parts, parts, launch.ints);
    at(launch, scatter_.tickets) = launch.tickets;
    at(launch, scatter_.part_places) = part_places;
    at(launch, scatter_.lane_shift) = std::countr_zero(static_cast<std::uint64_t>(width));
    at(launch, scatter_.groups) = function_threads / width;
    at(launch, scatter_.warp_step) = std::max<std::int64_t>(1, width / 32);
    std::uint32_t same_lanes = 0;
    for (std::int64_t bit = 0; bit < 32; bit += width) same_lanes |= 1u << bit;
    at(launch, scatter_.same_lanes) = same_lanes;
  }

  void set_cost(FunctionLaunch& launch, std::int64_t elements, std::int64_t updates,
                const choice::GpuMachine& machine) const {
    constexpr double copy_instructions = 12, update_instructions = 40;
    const auto element = static_cast<double>(size_of(scatter_.data.dtype));
    const double parts = static_cast<double>(at(launch, scatter_.parts.count)),
                 read = static_cast<double>(updates) * parts;
    launch.bytes = 2 * element * static_cast<double>(elements) +
                   static_cast<double>(updates) *
                       (2 * element + static_cast<double>(size_of(scatter_.indices.dtype)));
    const double instructions =
        copy_instructions * static_cast<double>(elements) + update_instructions * read;
    launch.seconds = choice::gpu_loop_cost(machine, 1, launch.bytes, instructions, launch.tickets,
                                           function_threads);
  }

  ScatterProblem scatter_;
  std::string name_;
};

/// Sums of 16-bit floats are rounded once, after all of them.
bool rounds_between(const rkernel::HostCall& call) {
  const std::string reduction = graph::attr_word(call.node, "reduction");
  return graph::is_half(call.inputs[0].dtype) && (reduction == "add" || reduction == "mul");
}

}  // namespace

std::unique_ptr<DeviceFunction> make_scatter(const rkernel::HostCall& call) {
  const bool moves = graph::attr_word(call.node, "reduction") == "none";
  if (!moves && (!can_load(call.inputs[0].dtype) || rounds_between(call))) return nullptr;
  for (const rkernel::HostPart& part : call.inputs)
    if (part.operand < 0) return nullptr;
  return std::make_unique<Scatter>(call);
}

}  // namespace dyn::ptx
