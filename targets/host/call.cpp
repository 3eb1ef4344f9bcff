#include "targets/host/call.hpp"

#include <algorithm>
#include <list>

#include "graph/ir/codes.hpp"
#include "graph/ir/custom_op.hpp"

namespace dyn::host {

std::int64_t Array::integer() const {
  std::int64_t value = 0;
  visit_numbers(dtype, [&](auto zero) {
    value = static_cast<std::int64_t>(*static_cast<const decltype(zero)*>(data));
  });
  return value;
}

double Array::number() const {
  double value = 0;
  visit_numbers(dtype, [&](auto zero) {
    value = static_cast<double>(*static_cast<const decltype(zero)*>(data));
  });
  return value;
}

std::size_t Call::axis(std::string_view name) const {
  return static_cast<std::size_t>(*graph::normalize_axis(graph::attr_integer(node, name),
                                                         static_cast<int>(inputs[0].dims.size())));
}

AlongAxis::AlongAxis(const Shape& dims, std::size_t axis) : extent(dims[axis]) {
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (i < axis) outer *= dims[i];
    if (i > axis) inner *= dims[i];
  }
}

namespace {

bool has_halves(const Call& call) {
  const auto is_half = [](const Array& array) { return graph::is_half(array.dtype); };
  return std::ranges::any_of(call.inputs, is_half) || std::ranges::any_of(call.outputs, is_half);
}

/// A call with f32 copies of its f16 and bf16 tensors.
struct WideCall {
  explicit WideCall(const Call& narrow) : call{narrow.node, {}, {}, narrow.kept} {
    for (const Array& input : narrow.inputs) {
      call.inputs.push_back(widened(input));
      if (!graph::is_half(input.dtype)) continue;
      const auto bits = input.elements<const std::uint16_t>();
      std::ranges::transform(bits, call.inputs.back().elements<float>().begin(),
                             [&](std::uint16_t each) {
                               return static_cast<float>(graph::float_of_code(input.dtype, each));
                             });
    }
    for (const Array& output : narrow.outputs) call.outputs.push_back(widened(output));
  }

  void round_outputs(const Call& narrow) const {
    for (std::size_t i = 0; i < narrow.outputs.size(); ++i) {
      const Array& output = narrow.outputs[i];
      if (!graph::is_half(output.dtype)) continue;
      std::ranges::transform(call.outputs[i].elements<const float>(),
                             output.elements<std::uint16_t>().begin(), [&](float each) {
                               return graph::code_of_float(output.dtype, static_cast<double>(each));
                             });
    }
  }

  Call call;

 private:
  Array widened(const Array& array) {
    if (!graph::is_half(array.dtype)) return array;
    memory_.emplace_back(static_cast<std::size_t>(array.size()));
    return {DType::f32, array.dims, memory_.back().data()};
  }

  std::list<std::vector<float>> memory_;
};

}  // namespace

Outcome run(const Operator& of_host, const Call& call) {
  if (of_host.op == graph::custom_op_id || !has_halves(call)) return of_host.function(call);
  const WideCall wide(call);
  const Outcome outcome = of_host.function(wide.call);
  if (outcome == Outcome::Ok) wide.round_outputs(call);
  return outcome;
}

Counted count(const Operator& of_host, const Call& call) {
  return of_host.count(has_halves(call) ? WideCall(call).call : call);
}

const Operator* find_operator(graph::OpId op) {
  for (const auto& family :
       {order_operators(), scatter_operators(), choice_operators(), recurrence_operators(),
        linear_attention_operators(), counting_operators(), tree_operators(), couple_operators(),
        custom_operators()}) {
    const auto found = std::ranges::find(family, op, &Operator::op);
    if (found != family.end()) return &*found;
  }
  return nullptr;
}

}  // namespace dyn::host
