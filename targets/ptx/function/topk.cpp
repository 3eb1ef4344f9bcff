#include "targets/ptx/function/topk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "graph/ir/op.hpp"
#include "src/base/rounding.hpp"
#include "targets/ptx/function/device_function.hpp"

namespace dyn::ptx {
namespace {

template <class Item>
Item take(std::vector<Item>& items, std::size_t index) {
  const Item item = items[index];
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(index));
  return item;
}

}  // namespace

TopkProblem::TopkProblem(const rkernel::HostCall& call)
    : largest(graph::attr_boolean(call.node, "largest")), dtype(call.inputs[0].dtype) {
  const rkernel::HostPart& from = call.inputs[0];
  const std::int64_t given = graph::attr_integer(call.node, "axis");
  const auto axis = static_cast<std::size_t>(given < 0 ? given + std::ssize(from.dims) : given);
  x = add_part(slots, from);
  values = add_part(slots, call.outputs[0]);
  places = add_part(slots, call.outputs[1]);
  x_step = take(x.strides, axis);
  value_step = take(values.strides, axis);
  place_step = take(places.strides, axis);
  row_dims = from.dims;
  extent = slots.add(take(row_dims, axis));
  count = slots.add(call.outputs[0].dims[axis]);
  for (std::size_t i = 0; i < row_dims.size(); ++i) digits.push_back(add_digit(slots));
  rows = slots.add_strategy_slot();
  tickets = slots.add_strategy_slot();
}

int topk_key_bits(DType dtype) { return size_of(dtype) == 8 ? 64 : 32; }

int topk_shared_bytes(const TopkForm& form, DType dtype) {
  if (form.by_warp) return 0;
  constexpr int word = 4, buffers = 2;
  return topk_entries * (topk_key_bits(dtype) / 8 + word) + buffers * topk_warps * word;
}

namespace {

class Topk final : public DeviceFunction {
 public:
  explicit Topk(const rkernel::HostCall& call) : topk_(call) {
    // Registers hold 16 keys of 32 bits.
    for (const TopkForm& form : topk_forms) {
      if (form.by_warp && form.elements * topk_key_bits(topk_.dtype) > 16 * 32) continue;
      forms_.push_back(form);
      std::string name = form.by_warp ? fmt::format("rows up to {} by a warp", 32 * form.elements)
                                      : "a row by a block";
      std::string key =
          fmt::format("gpu topk, {}, {} axes, {}, {}", name, topk_.row_dims.size(),
                      dyn::name_of(topk_.dtype), topk_.largest ? "largest" : "smallest");
      classes_.push_back({std::move(name), std::move(key), topk_shared_bytes(form, topk_.dtype)});
    }
  }

  void emit(llvm::Module& module, const std::string& symbol, std::size_t chosen) const override {
    emit_topk(module, symbol, topk_, forms_[chosen]);
  }

  FunctionLaunch launch(std::span<const std::int64_t> symbols,
                        const choice::GpuMachine& machine) const override {
    FunctionLaunch launch;
    launch.ints = topk_.slots.evaluate(symbols);
    const Sizes shape{set_digits(topk_.digits, topk_.row_dims, symbols, launch.ints),
                      at(launch, topk_.extent), at(launch, topk_.count)};
    require_short("topk", shape.rows * shape.extent);
    const auto bytes = static_cast<double>(size_of(topk_.dtype));
    launch.bytes = static_cast<double>(shape.rows) *
                   (static_cast<double>(shape.extent) * bytes +
                    static_cast<double>(shape.count) * (bytes + sizeof(std::int64_t)));
    if (shape.rows == 0 || shape.count == 0) return launch;
    launch.seconds = HUGE_VAL;
    for (std::size_t i = 0; i < classes_.size(); ++i) {
      const TopkForm& form = forms_[i];
      if (form.by_warp && shape.extent > 32 * form.elements) continue;
      const double cost = seconds(launch, i, shape, machine);
      if (cost >= launch.seconds) continue;
      launch.chosen = i;
      launch.seconds = cost;
    }
    launch.tickets = tickets_of(forms_[launch.chosen], shape.rows);
    at(launch, topk_.rows) = shape.rows;
    at(launch, topk_.tickets) = launch.tickets;
    return launch;
  }

 private:
  struct Sizes {
    std::int64_t rows, extent, count;
  };

  static std::int64_t& at(FunctionLaunch& launch, int slot) {
    return launch.ints[static_cast<std::size_t>(slot)];
  }
  static std::int64_t tickets_of(const TopkForm& form, std::int64_t rows) {
    return form.by_warp ? ceil_div(rows, std::int64_t{topk_warps}) : rows;
  }

  /// Of one thread for one row. A sort of 2^s entries has s * (s + 1) / 2 steps; data in no order
  /// fill the entries twice.
  static double instructions(const TopkForm& form, const Sizes& shape) {
    constexpr double load = 12, shuffles = 45, compare = 4, test = 12, exchange = 22;
    const auto extent = static_cast<double>(shape.extent), count = static_cast<double>(shape.count);
    if (form.by_warp) return form.elements * load + count * (shuffles + form.elements * compare);
    const auto sorted = static_cast<std::uint64_t>(std::min<std::int64_t>(
        topk_entries, std::max<std::int64_t>(shape.extent, function_threads)));
    const int stages = std::bit_width(sorted - 1);
    const double sort = stages * (stages + 1) / 2.0 * static_cast<double>(sorted) /
                        (2.0 * function_threads) * exchange,
                 ways = std::ceil(count / topk_results), sorts = extent > topk_entries ? 2 : 1;
    return ways * (std::ceil(extent / function_threads) * (load + test) + sorts * sort);
  }

  /// Blocks wait for memory in each step, beside what any loop costs.
  double seconds(const FunctionLaunch& launch, std::size_t chosen, const Sizes& shape,
                 const choice::GpuMachine& machine) const {
    const TopkForm& form = forms_[chosen];
    const std::int64_t ticks = tickets_of(form, shape.rows);
    const auto threads = static_cast<double>(ticks * function_threads);
    const double waves = static_cast<double>(
        ceil_div(ticks, resident_blocks(machine, classes_[chosen].shared_bytes)));
    const double steps =
        form.by_warp
            ? 1
            : std::ceil(static_cast<double>(shape.count) / topk_results) *
                  std::ceil(static_cast<double>(shape.extent) / (function_threads * form.elements));
    return choice::gpu_loop_cost(machine, threads, launch.bytes, instructions(form, shape), ticks,
                                 function_threads) +
           waves * steps * machine.memory_latency_seconds;
  }

  TopkProblem topk_;
  std::vector<TopkForm> forms_;  ///< of classes_
};

}  // namespace

std::unique_ptr<DeviceFunction> make_topk(const rkernel::HostCall& call) {
  if (is_code(call.inputs[0].dtype) || call.inputs[0].operand < 0) return nullptr;
  return std::make_unique<Topk>(call);
}

}  // namespace dyn::ptx
