// Walks a module's nodes in order and keeps each value until its last use.

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dyn/error.hpp"
#include "graph/ir/custom_op.hpp"
#include "graph/ir/diagnostic.hpp"
#include "graph/ir/scalars.hpp"
#include "targets/host/call.hpp"
#include "targets/reference/ops.hpp"

namespace dyn::reference {

using graph::ValueId;
using graph::ValueKind;

std::int64_t OpCall::dim(std::string_view name) const {
  return graph::evaluate(graph::attr_dim(module, node, name), symbols);
}

Dims OpCall::dims(std::string_view name) const {
  Dims values;
  for (const auto dim : graph::attr_dims(module, node, name))
    values.push_back(graph::evaluate(dim, symbols));
  return values;
}

std::size_t OpCall::normal_axis(std::int64_t given, std::size_t rank) const {
  const auto normal = graph::normalize_axis(given, static_cast<int>(rank));
  if (!normal) fail(fmt::format("axis {} is out of range for rank {}", given, rank));
  return static_cast<std::size_t>(*normal);
}

void OpCall::fail(const std::string& message) const {
  throw Error(ErrorKind::user, fmt::format("{} ({}): {}", node.op->name,
                                           graph::place_of(module, node.location), message));
}

OpFunction find_function(graph::OpId op) {
  for (const auto table : {elementwise_ops(), reduction_ops(), movement_ops(), contraction_ops(),
                           attention_ops(), compound_ops(), conv_pool_ops(), tree_ops()}) {
    for (const auto& entry : table) {
      if (entry.op == op) return entry.function;
    }
  }
  return nullptr;
}

namespace {

/// Most operators of the host have only one implementation; its own tests compare it with plain
/// loops.
std::vector<Array> run_on_host(const OpCall& call) {
  const host::Operator* function = host::find_operator(call.node.op->id);
  if (function == nullptr) call.fail("the host has no such operator");
  std::vector<Tensor> tensors;
  host::Call on_host{call.node, {}, {}, nullptr};
  tensors.reserve(call.inputs.size() + call.node.outputs.size());
  for (const Array* input : call.inputs) {
    tensors.push_back(to_tensor(*input));
    on_host.inputs.push_back({input->dtype, input->dims, tensors.back().raw()});
  }
  for (const ValueId id : call.node.outputs) {
    const graph::TensorType& type = call.module.value(id).type;
    Dims dims;
    for (const auto dim : type.dims) dims.push_back(graph::evaluate(dim, call.symbols));
    tensors.emplace_back(type.dtype, dims);
    on_host.outputs.push_back({type.dtype, dims, tensors.back().raw()});
  }
  try {
    if (host::run(*function, on_host) != host::Outcome::Ok) call.fail("an index is out of range");
  } catch (const Error& error) {
    if (custom_op(call.node) == nullptr) throw;
    throw error.within(node_place(call.module, call.node));
  }
  std::vector<Array> results;
  for (std::size_t i = call.inputs.size(); i < tensors.size(); ++i)
    results.push_back(from_tensor(tensors[i]));
  return results;
}

/// Keeps the part of a number that the array's dtype can hold.
void round_to_dtype(Array& array, Precision precision) {
  if (is_float(array.dtype)) {
    if (array.dtype == DType::f32 && precision == Precision::f64) return;
    for (auto& value : array.floats) value = rounded_to(array.dtype, value);
  } else {
    for (auto& value : array.integers)
      value = graph::wrapped(array.dtype, static_cast<std::uint64_t>(value));
  }
}

class Runner {
 public:
  Runner(const graph::Module& module, std::span<const std::int64_t> symbols,
         const std::function<Array(ValueId)>& weight, Precision precision)
      : module_(module),
        symbols_(symbols),
        weight_(weight),
        precision_(precision),
        values_(module.values.size()) {
    uses_.resize(module.values.size());
    for (const auto& node : module.nodes) {
      for (const auto id : node.inputs) ++uses_[static_cast<std::size_t>(id)];
    }
    for (const auto id : module.outputs) ++uses_[static_cast<std::size_t>(id)];
  }

  std::vector<Array> run(const std::vector<Array>& inputs, std::span<Array> states,
                         const std::function<void(const graph::Node&)>& before) {
    for (std::size_t i = 0; i < inputs.size(); ++i) store(module_.inputs[i], inputs[i]);
    for (std::size_t i = 0; i < states.size(); ++i) store(module_.states[i], states[i]);
    for (const auto& node : module_.nodes) {
      if (before) before(node);
      step(node);
      if (node.op->id == graph::OpId::Append) keep_state(node, states);
    }
    std::vector<Array> outputs;
    for (const auto id : module_.outputs) outputs.push_back(value(id));
    return outputs;
  }

 private:
  void step(const graph::Node& node) {
    OpFunction function = find_function(node.op->id);
    if (!function && host::find_operator(node.op->id) != nullptr) function = run_on_host;
    if (!function) {
      throw Error(ErrorKind::unsupported,
                  fmt::format("the reference target has no operator '{}'", node.op->name));
    }
    OpCall call{module_, node, symbols_, {}};
    for (const auto id : node.inputs) call.inputs.push_back(&value(id));
    auto results = function(call);
    for (const auto id : node.inputs) release(id);
    for (std::size_t i = 0; i < results.size(); ++i) store(node.outputs[i], std::move(results[i]));
  }

  void keep_state(const graph::Node& append, std::span<Array> states) {
    const auto state = std::find(module_.states.begin(), module_.states.end(), append.inputs[0]);
    states[static_cast<std::size_t>(state - module_.states.begin())] = value(append.outputs[0]);
  }

  const Array& value(ValueId id) {
    auto& slot = values_[static_cast<std::size_t>(id)];
    if (!slot) {
      if (module_.value(id).kind == ValueKind::Weight) {
        store(id, weight_(id));
      } else {
        store(id, constant(module_.value(id)));
      }
    }
    return *slot;
  }

  static Array constant(const graph::Value& value) {
    Array array = make_array(value.type.dtype, {});
    if (is_float(array.dtype)) {
      array.floats[0] = value.constant;
    } else {
      array.integers[0] = value.integer;
    }
    return array;
  }

  void store(ValueId id, Array array) {
    const auto& declared = module_.value(id);
    Dims expected;
    for (const auto dim : declared.type.dims) expected.push_back(graph::evaluate(dim, symbols_));
    if (array.dtype != declared.type.dtype || array.dims != expected) {
      const auto kind = declared.kind == ValueKind::Input ? ErrorKind::user : ErrorKind::internal;
      throw Error(kind, fmt::format("{} is {}[{}], but the reference has {}[{}]", declared.name,
                                    name_of(declared.type.dtype), fmt::join(expected, ", "),
                                    name_of(array.dtype), fmt::join(array.dims, ", ")));
    }
    round_to_dtype(array, precision_);
    values_[static_cast<std::size_t>(id)] = std::move(array);
  }

  void release(ValueId id) {
    if (--uses_[static_cast<std::size_t>(id)] == 0) values_[static_cast<std::size_t>(id)].reset();
  }

  const graph::Module& module_;
  std::span<const std::int64_t> symbols_;
  const std::function<Array(ValueId)>& weight_;
  Precision precision_;
  std::vector<std::optional<Array>> values_;
  std::vector<int> uses_;
};

}  // namespace

std::vector<Array> run(const graph::Module& module, std::span<const std::int64_t> symbols,
                       const std::vector<Array>& inputs,
                       const std::function<Array(ValueId)>& weight, Precision precision,
                       std::span<Array> states,
                       const std::function<void(const graph::Node&)>& before) {
  if (inputs.size() != module.inputs.size()) {
    throw Error(ErrorKind::user,
                fmt::format("{} inputs given, {} wanted", inputs.size(), module.inputs.size()));
  }
  if (states.size() != module.states.size()) {
    throw Error(ErrorKind::user,
                fmt::format("{} states given, {} wanted", states.size(), module.states.size()));
  }
  return Runner(module, symbols, weight, precision).run(inputs, states, before);
}

}  // namespace dyn::reference
