// Sums, or products, of all elements up to each one along an axis.

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "dyn/tensor.hpp"
#include "graph/ir/op.hpp"
#include "src/base/rounding.hpp"
#include "src/choice/calibration/calibration.hpp"
#include "targets/llvm/code/loops.hpp"
#include "targets/ptx/function/code.hpp"
#include "targets/ptx/function/device_function.hpp"
#include "targets/ptx/ir/device_ops.hpp"
#include "targets/ptx/ir/dtypes.hpp"
#include "targets/ptx/ir/words.hpp"
#include "targets/ptx/loop/simplify.hpp"

namespace dyn::ptx {
namespace {

using codegen::CountedLoop;
using llvm::Value;
using Values = std::vector<Value*>;

/// Threads that share a line, by class. One thread takes its elements one after another.
constexpr int line_threads[] = {1, 32, function_threads};
constexpr int warps = function_threads / 32;
/// Elements that a thread of a line of its own has on their way at once.
constexpr int elements_ahead = 4;
/// A warp's sum in shared memory; two steps have cells of their own.
constexpr int cell_bytes = 8, cell_buffers = 2;

/// A cumsum with its slots. Lines run along the axis; the other axes number them.
struct ScanProblem {
  codegen::SlotTable slots;
  bool product = false, exclusive = false, reverse = false;
  DType dtype = DType::f32;
  std::vector<Digit> digits;  ///< of lines
  std::vector<graph::Dim> line_dims;
  graph::Dim length;
  FunctionPart x, y;                       ///< strides of the lines' axes
  int x_step = 0, y_step = 0;              ///< slots: from one element of a line to the next
  int lines = 0, tickets = 0, extent = 0;  ///< slots
};

/// Emits one class.
class ScanEmitter {
 public:
  ScanEmitter(llvm::Module& module, const std::string& symbol, const ScanProblem& scan, int threads,
              int shared_bytes)
      : scan_(scan),
        threads_(threads),
        code_(module, symbol, shared_bytes),
        builder_(code_.builder()),
        member_(builder_.CreateAnd(code_.thread(), number(builder_, threads - 1))),
        lane_(builder_.CreateAnd(code_.thread(), number(builder_, 31))),
        warp_(builder_.CreateLShr(code_.thread(), 5)) {}

  llvm::Function& emit() {
    CountedLoop tickets(builder_, call(builder_, Op::Block), code_.word(scan_.tickets),
                        call(builder_, Op::Blocks), "ticket");
    // Threads may still read cells of the line before.
    if (threads_ == function_threads) call(builder_, Op::Barrier);
    const auto shift = static_cast<std::uint64_t>(llvm::Log2_32(static_cast<unsigned>(threads_)));
    Value* first =
        builder_.CreateMul(tickets.index(), number(builder_, function_threads / threads_));
    Value* line = builder_.CreateAdd(first, builder_.CreateLShr(code_.thread(), shift));
    codegen::Conditional exists(builder_, builder_.CreateICmpSLT(line, code_.word(scan_.lines)),
                                "line");
    const Values digits = code_.split(line, scan_.digits);
    x_ = code_.distance(digits, scan_.x.strides);
    y_ = code_.distance(digits, scan_.y.strides);
    if (threads_ == 1)
      emit_alone();
    else
      emit_shared();
    exists.close();
    tickets.close();
    builder_.CreateRetVoid();
    return code_.function();
  }

 private:
  /// Floats are summed in f64; integers wrap around, as their dtype does.
  bool is_float() const { return dyn::is_float(scan_.dtype); }
  llvm::Type* sum_type() const {
    if (is_float()) return builder_.getDoubleTy();
    return builder_.getIntNTy(static_cast<unsigned>(8 * size_of(scan_.dtype)));
  }
  Value* neutral() const {
    if (is_float()) return llvm::ConstantFP::get(sum_type(), scan_.product ? 1 : 0);
    return llvm::ConstantInt::get(sum_type(), scan_.product ? 1 : 0);
  }
  Value* combined(Value* before, Value* next) {
    if (is_float())
      return scan_.product ? builder_.CreateFMul(before, next) : builder_.CreateFAdd(before, next);
    return scan_.product ? builder_.CreateMul(before, next) : builder_.CreateAdd(before, next);
  }

  Value* place(const FunctionPart& part, Value* line, int step, Value* index) {
    return code_.pointer(part, builder_.CreateAdd(line, code_.distance({{index}}, {{step}})));
  }
  Value* load(Value* index) {
    Value* x =
        code_.from_bits(scan_.x, code_.load_bits(scan_.x, place(scan_.x, x_, scan_.x_step, index)));
    return is_float() ? builder_.CreateFPExt(x, sum_type()) : x;
  }
  void store(Value* index, Value* sum) {
    Value* y = is_float() ? builder_.CreateFPTrunc(sum, builder_.getFloatTy()) : sum;
    code_.store_bits(scan_.y, place(scan_.y, y_, scan_.y_step, index), code_.to_bits(scan_.y, y));
  }

  void emit_alone() {
    Value* extent = code_.word(scan_.extent);
    Value* whole = builder_.CreateAnd(extent, number(builder_, -elements_ahead));
    Value* sum = emit_run(number(builder_, 0), whole, elements_ahead, neutral());
    emit_run(whole, extent, 1, sum);
  }

  /// The sum after elements begin .. end - 1, so many of which are loaded at once.
  Value* emit_run(Value* begin, Value* end, int together, Value* before) {
    CountedLoop run(builder_, begin, end, number(builder_, together), "run", {{before}});
    Values indices, elements;
    for (int i = 0; i < together; ++i) {
      indices.push_back(builder_.CreateAdd(run.index(), number(builder_, i)));
      elements.push_back(load(indices.back()));
    }
    Value* sum = run.carried(0);
    for (std::size_t i = 0; i < elements.size(); ++i) {
      Value* next = combined(sum, elements[i]);
      store(indices[i], scan_.exclusive ? sum : next);
      sum = next;
    }
    return run.close({{sum}}).front();
  }

  /// In each step every thread of the line has one element.
  void emit_shared() {
    Value* extent = code_.word(scan_.extent);
    CountedLoop steps(builder_, number(builder_, 0), extent, number(builder_, threads_), "step",
                      {{neutral()}});
    Value* index = builder_.CreateAdd(steps.index(), member_);
    Value* exists = builder_.CreateICmpSLT(index, extent);
    codegen::Conditional loads(builder_, exists, "load");
    Value* element = load(index);
    element = loads.close({{element}}, {{neutral()}}).front();
    Value* up_to = over_warp(element);
    Value *before = steps.carried(0), *next = nullptr;
    if (threads_ == function_threads)
      next = over_block(up_to, steps.index(), before);
    else
      next = combined(before, of_lane(builder_, up_to, number(builder_, 31)));
    Value* sum = combined(before, scan_.exclusive ? lane_before(up_to) : up_to);
    codegen::Conditional stores(builder_, exists, "store");
    store(index, sum);
    stores.close();
    steps.close({{next}});
  }

  Value* from_below(Value* value, int distance) {
    Value* lane = builder_.CreateSub(lane_, number(builder_, distance));
    return of_lane(builder_, value, builder_.CreateAnd(lane, number(builder_, 31)));
  }
  Value* is_from(int lane) { return builder_.CreateICmpSGE(lane_, number(builder_, lane)); }

  /// Gives each lane the sum of all lanes up to it (Hillis and Steele 1986).
  Value* over_warp(Value* value) {
    for (int distance = 1; distance < 32; distance *= 2) {
      Value* sum = combined(from_below(value, distance), value);
      value = builder_.CreateSelect(is_from(distance), sum, value);
    }
    return value;
  }
  Value* lane_before(Value* up_to) {
    return builder_.CreateSelect(is_from(1), from_below(up_to, 1), neutral());
  }

  Value* cell(Value* buffer, Value* warp) {
    Value* index = builder_.CreateAdd(builder_.CreateMul(buffer, number(builder_, warps)), warp);
    return at_byte(builder_, call(builder_, Op::Shared),
                   builder_.CreateMul(index, number(builder_, cell_bytes)));
  }

  /// Makes `before` the sum before the thread's warp; returns the one after the step.
  Value* over_block(Value* up_to, Value* step, Value*& before) {
    Value* buffer =
        builder_.CreateAnd(builder_.CreateUDiv(step, number(builder_, function_threads)),
                           number(builder_, cell_buffers - 1));
    codegen::Conditional last(builder_, is_from(31), "last_lane");
    builder_.CreateAlignedStore(up_to, cell(buffer, warp_), llvm::Align(cell_bytes));
    last.close();
    call(builder_, Op::Barrier);
    Value *sum = before, *own = before;
    for (int warp = 0; warp < warps; ++warp) {
      Value* is_own = builder_.CreateICmpEQ(warp_, number(builder_, warp));
      own = builder_.CreateSelect(is_own, sum, own);
      Value* of_warp = builder_.CreateAlignedLoad(sum_type(), cell(buffer, number(builder_, warp)),
                                                  llvm::Align(cell_bytes));
      sum = combined(sum, of_warp);
    }
    before = own;
    return sum;
  }

  const ScanProblem& scan_;
  const int threads_;
  FunctionCode code_;
  codegen::Builder& builder_;
  Value *member_, *lane_, *warp_;
  Value *x_ = nullptr, *y_ = nullptr;  ///< distances of the line
};

class Scan final : public DeviceFunction {
 public:
  explicit Scan(const rkernel::HostCall& call) {
    const graph::Node& node = call.node;
    const rkernel::HostPart &from = call.inputs[0], &to = call.outputs[0];
    scan_.product = graph::attr_boolean(node, "product");
    scan_.exclusive = graph::attr_boolean(node, "exclusive");
    scan_.reverse = graph::attr_boolean(node, "reverse");
    scan_.dtype = from.dtype;
    codegen::SlotTable& slots = scan_.slots;
    scan_.x = add_part(slots, from);
    scan_.y = add_part(slots, to);
    const std::int64_t given = graph::attr_integer(node, "axis");
    const std::size_t axis =
        static_cast<std::size_t>(given < 0 ? given + std::ssize(from.dims) : given);
    scan_.x_step = take(scan_.x.strides, axis);
    scan_.y_step = take(scan_.y.strides, axis);
    scan_.line_dims = from.dims;
    scan_.length = take(scan_.line_dims, axis);
    for (std::size_t i = 0; i < scan_.line_dims.size(); ++i)
      scan_.digits.push_back(add_digit(slots));
    scan_.lines = slots.add_strategy_slot();
    scan_.tickets = slots.add_strategy_slot();
    scan_.extent = slots.add(scan_.length);
    for (const int threads : line_threads) add_class(threads);
  }

  void emit(llvm::Module& module, const std::string& symbol, std::size_t chosen) const override {
    simplify(ScanEmitter(module, symbol, scan_, line_threads[chosen], classes_[chosen].shared_bytes)
                 .emit());
  }

  FunctionLaunch launch(std::span<const std::int64_t> symbols,
                        const choice::GpuMachine& machine) const override {
    FunctionLaunch launch;
    launch.ints = scan_.slots.evaluate(symbols);
    const std::int64_t lines = set_digits(scan_.digits, scan_.line_dims, symbols, launch.ints),
                       length = at(launch, scan_.extent);
    require_short("cumsum", lines * length);
    launch.bytes = 2 * static_cast<double>(lines * length * bytes_of_element());
    if (lines == 0 || length == 0) return launch;
    launch.chosen = cheapest(launch, lines, length, machine);
    launch.seconds = seconds(launch, launch.chosen, lines, length, machine);
    launch.tickets = tickets_of(launch.chosen, lines);
    at(launch, scan_.lines) = lines;
    at(launch, scan_.tickets) = launch.tickets;
    if (scan_.reverse) {
      turn(launch, scan_.x.offset, scan_.x_step, length);
      turn(launch, scan_.y.offset, scan_.y_step, length);
    }
    return launch;
  }

 private:
  template <class Item>
  static Item take(std::vector<Item>& items, std::size_t index) {
    const Item item = items[index];
    items.erase(items.begin() + static_cast<std::ptrdiff_t>(index));
    return item;
  }
  static std::int64_t& at(FunctionLaunch& launch, int slot) {
    return launch.ints[static_cast<std::size_t>(slot)];
  }
  /// From the last element to the first.
  static void turn(FunctionLaunch& launch, int offset, int step, std::int64_t length) {
    at(launch, offset) += (length - 1) * at(launch, step);
    at(launch, step) = -at(launch, step);
  }

  std::int64_t bytes_of_element() const { return static_cast<std::int64_t>(size_of(scan_.dtype)); }

  void add_class(int threads) {
    const int shared = threads == function_threads ? cell_buffers * warps * cell_bytes : 0;
    std::string name =
        threads == 1 ? "a line by each thread" : fmt::format("a line by {} threads", threads);
    std::string key = fmt::format("gpu scan, {}, {} axes, {}{}{}", name, scan_.line_dims.size(),
                                  dyn::name_of(scan_.dtype), scan_.product ? " product" : "",
                                  scan_.exclusive ? " exclusive" : "");
    classes_.push_back({std::move(name), std::move(key), shared});
  }

  /// Products of floats, which may overflow where the whole sum does not, keep the order of the
  /// elements.
  bool in_order() const { return scan_.product && is_float(scan_.dtype); }

  static std::int64_t tickets_of(std::size_t chosen, std::int64_t lines) {
    return ceil_div(lines, std::int64_t{function_threads / line_threads[chosen]});
  }

  std::size_t cheapest(FunctionLaunch& launch, std::int64_t lines, std::int64_t length,
                       const choice::GpuMachine& machine) const {
    if (in_order()) return 0;
    std::size_t best = 0;
    for (std::size_t i = 1; i < classes_.size(); ++i)
      if (seconds(launch, i, lines, length, machine) <
          seconds(launch, best, lines, length, machine))
        best = i;
    return best;
  }

  /// Blocks wait for memory in each step, beside what any loop costs. Lanes that are far apart read
  /// a sector each.
  double seconds(FunctionLaunch& launch, std::size_t chosen, std::int64_t lines,
                 std::int64_t length, const choice::GpuMachine& machine) const {
    constexpr double sector_bytes = 32, instructions_alone = 14, instructions_shared = 60;
    const int threads = line_threads[chosen];
    const std::int64_t ticks = tickets_of(chosen, lines);
    const auto steps = static_cast<double>(
        ceil_div(length, std::int64_t{threads == 1 ? elements_ahead : threads}));
    const std::int64_t between =
        threads > 1 ? at(launch, scan_.x_step)
                    : (scan_.x.strides.empty() ? 1 : at(launch, scan_.x.strides.back()));
    const double apart =
        std::min(static_cast<double>(std::abs(between) * bytes_of_element()), sector_bytes);
    const double waste = std::max(1.0, apart / static_cast<double>(bytes_of_element()));
    const double elements =
        static_cast<double>(lines) * (threads == 1 ? static_cast<double>(length) : steps * threads);
    const double waves = static_cast<double>(
        ceil_div(ticks, resident_blocks(machine, classes_[chosen].shared_bytes)));
    return choice::gpu_loop_cost(machine, elements, launch.bytes * waste,
                                 threads == 1 ? instructions_alone : instructions_shared, ticks,
                                 function_threads) +
           waves * steps * machine.memory_latency_seconds;
  }

  ScanProblem scan_;
};

}  // namespace

std::unique_ptr<DeviceFunction> make_scan(const rkernel::HostCall& call) {
  if (!can_load(call.inputs[0].dtype) || call.inputs[0].operand < 0) return nullptr;
  return std::make_unique<Scan>(call);
}

}  // namespace dyn::ptx
