// linear_attention: a thread has one column of a head's matrix, which no other thread needs, for
// all steps. Columns of neighbouring threads are neighbours in memory.

#include <fmt/format.h>

#include "graph/ir/op.hpp"
#include "src/base/rounding.hpp"
#include "src/rkernel/target/device.hpp"
#include "targets/llvm/code/loops.hpp"
#include "targets/ptx/function/code.hpp"
#include "targets/ptx/function/device_function.hpp"
#include "targets/ptx/ir/device_math.hpp"
#include "targets/ptx/ir/device_ops.hpp"
#include "targets/ptx/ir/dtypes.hpp"
#include "targets/ptx/ir/words.hpp"
#include "targets/ptx/loop/simplify.hpp"
#include "targets/ptx/sharing/part_memory.hpp"

namespace dyn::ptx {
namespace {

using codegen::Conditional;
using codegen::CountedLoop;
using llvm::Value;
using Values = std::vector<Value*>;

/// The operator with its slots. Decay and beta have one head or all, and decay one row or all:
/// strides along what they lack are 0.
struct HeadsProblem {
  codegen::SlotTable slots;
  bool gated = false, delta = false;
  double scale = 1;
  std::size_t operands = 0;
  FunctionPart q, k, v, before, decay, beta, result, after;
  int steps = 0, keys = 0, values = 0;        ///< slots
  int columns = 0, tickets = 0, queries = 0;  ///< slots that a launch sets; queries: of a head
  std::vector<Digit> digits;                  ///< of a column: batch, head, value
  std::vector<graph::Dim> column_dims;
  graph::Dim query_heads;
  std::vector<std::pair<graph::Dim, int>> shared;  ///< a dim, and the stride along it
};

class HeadsEmitter {
 public:
  HeadsEmitter(llvm::Module& module, const std::string& symbol, const HeadsProblem& heads)
      : heads_(heads),
        code_(module, symbol, 0),
        builder_(code_.builder()),
        math_(builder_, device_math) {}

  llvm::Function& emit() {
    const codegen::KernelArgsValues args{code_.function().getArg(0), code_.function().getArg(1),
                                         code_.function().getArg(2)};
    planes_ = at_byte(builder_, load_part_memory(builder_, args, heads_.operands),
                      builder_.getInt64(rkernel::counter_bytes));
    CountedLoop tickets(builder_, call(builder_, Op::Block), code_.word(heads_.tickets),
                        call(builder_, Op::Blocks), "ticket");
    Value* column = builder_.CreateAdd(
        builder_.CreateMul(tickets.index(), number(builder_, function_threads)), code_.thread());
    Conditional exists(builder_, builder_.CreateICmpSLT(column, code_.word(heads_.columns)),
                       "column");
    const Values at = code_.split(column, heads_.digits);
    batch_ = at[0];
    head_ = at[1];
    value_ = at[2];
    Value* matrix =
        builder_.CreateAdd(builder_.CreateMul(batch_, code_.word(heads_.digits[1].count)), head_);
    first_ =
        builder_.CreateAdd(builder_.CreateMul(builder_.CreateMul(matrix, code_.word(heads_.keys)),
                                              code_.word(heads_.values)),
                           value_);
    emit_column();
    exists.close();
    tickets.close();
    builder_.CreateRetVoid();
    return code_.function();
  }

 private:
  Value* load(const FunctionPart& part, const Values& indices) {
    return code_.from_bits(
        part, code_.load_bits(part, code_.pointer(part, code_.distance(indices, part.strides))));
  }
  void store(const FunctionPart& part, const Values& indices, Value* value) {
    code_.store_bits(part, code_.pointer(part, code_.distance(indices, part.strides)),
                     code_.to_bits(part, value));
  }
  /// The element of the column in row `key`.
  Value* element(Value* key) {
    Value* index = builder_.CreateAdd(first_, builder_.CreateMul(key, code_.word(heads_.values)));
    return builder_.CreateGEP(builder_.getFloatTy(), planes_,
                              builder_.CreateZExt(index, builder_.getInt64Ty()));
  }
  Value* load_element(Value* key) {
    return builder_.CreateAlignedLoad(builder_.getFloatTy(), element(key), llvm::Align(4));
  }
  void set_element(Value* key, Value* value) {
    builder_.CreateAlignedStore(value, element(key), llvm::Align(4));
  }

  /// What body(key, so far) makes of `value` in all rows, one after the other.
  template <class Body>
  Value* over_keys(const char* name, Value* value, const Body& body) {
    CountedLoop keys(builder_, number(builder_, 0), code_.word(heads_.keys), number(builder_, 1),
                     name, {{value}});
    Value* next = body(keys.index(), keys.carried(0));
    return keys.close({{next}}).front();
  }

  void emit_column() {
    Value* zero = llvm::ConstantFP::get(builder_.getFloatTy(), 0);
    over_keys("first", zero, [&](Value* key, Value* none) {
      set_element(key, load(heads_.before, {batch_, head_, key, value_}));
      return none;
    });
    CountedLoop steps(builder_, number(builder_, 0), code_.word(heads_.steps), number(builder_, 1),
                      "step");
    emit_step(steps.index());
    steps.close();
    over_keys("last", zero, [&](Value* key, Value* none) {
      store(heads_.after, {batch_, head_, key, value_}, load_element(key));
      return none;
    });
  }

  void emit_step(Value* step) {
    const Values at{batch_, step, head_};
    const auto of_key = [&](const FunctionPart& part, Value* key) {
      return load(part, {batch_, step, head_, key});
    };
    Value* seen = load(heads_.v, {batch_, step, head_, value_});
    if (heads_.gated || heads_.delta) {
      seen = over_keys("seen", seen, [&](Value* key, Value* so_far) {
        Value* own = load_element(key);
        if (heads_.gated) {
          own = builder_.CreateFMul(own, math_.exp(of_key(heads_.decay, key)));
          set_element(key, own);
        }
        if (!heads_.delta) return so_far;
        return builder_.CreateFSub(so_far, builder_.CreateFMul(own, of_key(heads_.k, key)));
      });
    }
    if (heads_.delta) seen = builder_.CreateFMul(seen, load(heads_.beta, at));
    over_keys("add", seen, [&](Value* key, Value* added) {
      set_element(key, builder_.CreateFAdd(load_element(key),
                                           builder_.CreateFMul(of_key(heads_.k, key), added)));
      return added;
    });
    CountedLoop queries(builder_, number(builder_, 0), code_.word(heads_.queries),
                        number(builder_, 1), "query");
    Value* query =
        builder_.CreateAdd(builder_.CreateMul(head_, code_.word(heads_.queries)), queries.index());
    Value* sum = over_keys(
        "read", llvm::ConstantFP::get(builder_.getFloatTy(), 0), [&](Value* key, Value* so_far) {
          Value* factor = load(heads_.q, {batch_, step, query, key});
          return builder_.CreateFAdd(so_far, builder_.CreateFMul(factor, load_element(key)));
        });
    store(heads_.result, {batch_, step, query, value_},
          builder_.CreateFMul(sum, llvm::ConstantFP::get(builder_.getFloatTy(), heads_.scale)));
    queries.close();
  }

  const HeadsProblem& heads_;
  FunctionCode code_;
  codegen::Builder& builder_;
  codegen::Math math_;
  Value* planes_ = nullptr;
  Value *batch_ = nullptr, *head_ = nullptr, *value_ = nullptr, *first_ = nullptr;
};

class LinearAttention final : public DeviceFunction {
 public:
  explicit LinearAttention(const rkernel::HostCall& call) {
    const std::string rule = graph::attr_word(call.node, "rule");
    heads_.gated = rule == "gated" || rule == "gated_delta";
    heads_.delta = rule == "delta" || rule == "gated_delta";
    heads_.scale = static_cast<double>(static_cast<float>(graph::attr_number(call.node, "scale")));
    heads_.operands = call.inputs.size() + call.outputs.size();
    const auto part = [&](const rkernel::HostPart& from) { return add_part(heads_.slots, from); };
    heads_.q = part(call.inputs[0]);
    heads_.k = part(call.inputs[1]);
    heads_.v = part(call.inputs[2]);
    heads_.before = part(call.inputs[3]);
    if (heads_.gated) heads_.decay = shared_part(call.inputs[4]);
    if (heads_.delta) heads_.beta = shared_part(call.inputs[heads_.gated ? 5 : 4]);
    heads_.result = part(call.outputs[0]);
    heads_.after = part(call.outputs[1]);
    const std::vector<graph::Dim>& state = call.inputs[3].dims;
    heads_.column_dims = {state[0], state[1], state[3]};
    for (std::size_t i = 0; i < heads_.column_dims.size(); ++i)
      heads_.digits.push_back(add_digit(heads_.slots));
    heads_.steps = heads_.slots.add(call.inputs[0].dims[1]);
    heads_.keys = heads_.slots.add(state[2]);
    heads_.values = heads_.slots.add(state[3]);
    heads_.query_heads = call.inputs[0].dims[2];
    for (int* slot : {&heads_.columns, &heads_.tickets, &heads_.queries})
      *slot = heads_.slots.add_strategy_slot();
    std::string dtypes;
    for (const rkernel::HostPart& input : call.inputs)
      dtypes += fmt::format(" {}", dyn::name_of(input.dtype));
    classes_.push_back(
        {"columns",
         fmt::format("gpu linear attention, {}, scale {:a},{}", rule, heads_.scale, dtypes), 0});
  }

  void emit(llvm::Module& module, const std::string& symbol, std::size_t) const override {
    simplify(HeadsEmitter(module, symbol, heads_).emit());
  }

  FunctionLaunch launch(std::span<const std::int64_t> symbols,
                        const choice::GpuMachine& machine) const override {
    FunctionLaunch launch;
    launch.ints = heads_.slots.evaluate(symbols);
    const std::int64_t columns =
                           set_digits(heads_.digits, heads_.column_dims, symbols, launch.ints),
                       keys = at(launch, heads_.keys), steps = at(launch, heads_.steps),
                       query_heads = graph::evaluate(heads_.query_heads, symbols);
    require_short("linear_attention", columns * keys);
    require_short("linear_attention", columns * steps * query_heads);
    if (columns == 0) return launch;
    for (const auto& [dim, stride] : heads_.shared)
      if (graph::evaluate(dim, symbols) == 1) at(launch, stride) = 0;
    launch.tickets = ceil_div(columns, std::int64_t{function_threads});
    at(launch, heads_.columns) = columns;
    at(launch, heads_.tickets) = launch.tickets;
    at(launch, heads_.queries) =
        query_heads / std::max<std::int64_t>(1, at(launch, heads_.digits[1].count));
    launch.shared_bytes = PartMemory::bytes(columns * keys, sizeof(float));
    set_cost(launch, columns, keys, machine);
    return launch;
  }

 private:
  static std::int64_t& at(FunctionLaunch& launch, int slot) {
    return launch.ints[static_cast<std::size_t>(slot)];
  }
  FunctionPart shared_part(const rkernel::HostPart& from) {
    FunctionPart made = add_part(heads_.slots, from);
    for (std::size_t axis = 2; axis < from.dims.size(); ++axis)
      heads_.shared.emplace_back(from.dims[axis], made.strides[axis]);
    return made;
  }

  /// Each step waits for the elements of the one before.
  void set_cost(FunctionLaunch& launch, std::int64_t columns, std::int64_t keys,
                const choice::GpuMachine& machine) const {
    constexpr double read_instructions = 8, update_instructions = 20;
    const auto steps = static_cast<double>(at(launch, heads_.steps)),
               elements = static_cast<double>(columns * keys),
               queries = static_cast<double>(at(launch, heads_.queries));
    const auto bytes = [](const FunctionPart& part) {
      return static_cast<double>(size_of(part.dtype));
    };
    launch.bytes =
        elements * (bytes(heads_.before) + bytes(heads_.after)) +
        steps * static_cast<double>(columns) * (bytes(heads_.v) + queries * bytes(heads_.result));
    launch.seconds = choice::gpu_loop_cost(machine, elements * steps, launch.bytes,
                                           update_instructions + queries * read_instructions,
                                           launch.tickets, function_threads) +
                     steps * machine.memory_latency_seconds;
  }

  HeadsProblem heads_;
};

}  // namespace

std::unique_ptr<DeviceFunction> make_linear_attention(const rkernel::HostCall& call) {
  for (const rkernel::HostPart& part : call.inputs)
    if (part.operand < 0 || !can_load(part.dtype)) return nullptr;
  return std::make_unique<LinearAttention>(call);
}

}  // namespace dyn::ptx
