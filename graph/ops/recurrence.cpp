// Recurrent layers, whose steps follow each other: products with the inputs are a matmul before
// them.

#include <algorithm>
#include <cmath>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "graph/ops/families.hpp"
#include "graph/ops/infer.hpp"
#include "graph/ops/recurrence.hpp"

namespace dyn::graph {

namespace {

constexpr DType lengths_dtype[] = {DType::i32}, scaled_dtypes[] = {DType::i8},
                scale_dtypes[] = {DType::f32};

constexpr CellFunctionInfo functions[] = {
    {CellFunction::Sigmoid, "sigmoid", false, false},
    {CellFunction::Tanh, "tanh", false, false},
    {CellFunction::Relu, "relu", false, false},
    {CellFunction::Affine, "affine", true, true},
    {CellFunction::LeakyRelu, "leaky_relu", true, false},
    {CellFunction::ThresholdedRelu, "thresholded_relu", true, false},
    {CellFunction::ScaledTanh, "scaled_tanh", true, true},
    {CellFunction::HardSigmoid, "hard_sigmoid", true, true},
    {CellFunction::Elu, "elu", true, false},
    {CellFunction::Softsign, "softsign", false, false},
    {CellFunction::Softplus, "softplus", false, false}};

std::vector<std::string_view> function_names() {
  std::vector<std::string_view> names;
  for (const CellFunctionInfo& info : functions) names.push_back(info.name);
  return names;
}

void require_word(InferContext& context, const char* name,
                  const std::vector<std::string_view>& known) {
  const std::string word = context.word(name);
  if (std::ranges::find(known, word) == known.end())
    context.fail(fmt::format("{}: {} must be {}, not \"{}\"", context.node().op->name, name,
                             fmt::join(known, ", "), word));
}

/// Behind all others.
constexpr std::size_t scales_place(std::int64_t gate_count) {
  return gate_count == 4 ? recurrence_peepholes + 1 : recurrence_h + 1;
}

/// gates: [S, B, D * G * H], r: [D, H, G * H], bias: [D, G * H], lengths: [B], h and c: [D, B, H],
/// peepholes: [D, 3 * H], scales: [D, G * H].
template <std::int64_t gate_count>
void infer_recurrence(InferContext& context, std::vector<TensorType>& outputs) {
  require_word(context, "direction", {"forward", "reverse", "bidirectional"});
  for (const char* name : {"f", "g", "h"}) {
    if (context.node().op->find_attr(name) != nullptr)
      require_word(context, name, function_names());
  }
  require_dtype(context, recurrence_gates, single_dtypes);
  const DType computed[] = {context.input(recurrence_gates).dtype};
  constexpr std::size_t scales = scales_place(gate_count);
  const bool scaled = context.input_count() > scales;
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    if (i == recurrence_lengths)
      require_dtype(context, i, lengths_dtype);
    else if (scaled && (i == recurrence_r || i == scales))
      require_dtype(context, i, i == scales ? scale_dtypes : scaled_dtypes);
    else
      require_dtype(context, i, computed);
  }
  for (const std::size_t i :
       {std::size_t{recurrence_gates}, std::size_t{recurrence_r}, std::size_t{recurrence_h}})
    require_rank(context, i, 3);
  require_rank(context, recurrence_bias, 2);
  require_rank(context, recurrence_lengths, 1);
  const TensorType gates = context.input(recurrence_gates), r = context.input(recurrence_r);
  const Dim directions = r.dims[0], hidden = r.dims[1], rows = hidden * gate_count,
            batch = gates.dims[1];
  const auto equal = [&](std::size_t input, int axis, Dim expected, const char* what) {
    context.require_equal(context.input(input).dims[static_cast<std::size_t>(axis)], expected,
                          dim_name(context, input, axis), what);
  };
  const std::int64_t wanted = context.word("direction") == "bidirectional" ? 2 : 1;
  equal(recurrence_r, 0, context.dims().constant(wanted), "the number of directions");
  equal(recurrence_r, 2, rows, "the columns of all gates");
  equal(recurrence_gates, 2, directions * rows, "the gates of all directions");
  equal(recurrence_bias, 0, directions, "the number of directions");
  equal(recurrence_bias, 1, rows, "the columns of all gates");
  equal(recurrence_lengths, 0, batch, "the batch");
  if (scaled) {
    require_rank(context, scales, 2);
    equal(scales, 0, directions, "the number of directions");
    equal(scales, 1, rows, "the columns of all gates");
  }
  for (const std::size_t state : {std::size_t{recurrence_h}, std::size_t{recurrence_c}}) {
    if (state == recurrence_c && gate_count != 4) continue;
    require_rank(context, state, 3);
    equal(state, 0, directions, "the number of directions");
    equal(state, 1, batch, "the batch");
    equal(state, 2, hidden, "the hidden size");
  }
  if (gate_count == 4) {
    require_rank(context, recurrence_peepholes, 2);
    equal(recurrence_peepholes, 0, directions, "the number of directions");
    equal(recurrence_peepholes, 1, hidden * 3, "three peepholes");
  }
  outputs[0] = {gates.dtype, {gates.dims[0], directions, batch, hidden}};
  for (std::size_t i = 1; i < outputs.size(); ++i)
    outputs[i] = {gates.dtype, {directions, batch, hidden}};
}

std::vector<AttrDef> attributes(const char* f, const char* g, const char* h) {
  std::vector<AttrDef> attrs{
      {"direction", AttrKind::Word, "forward", "forward, reverse or bidirectional"},
      {"clip", AttrKind::Float, "0", "bound of what goes into activations; 0: none"}};
  const auto add = [&](const std::string& name, const char* function, const char* what) {
    if (function == nullptr) return;
    attrs.push_back({name, AttrKind::Word, function, what});
    attrs.push_back({name + "_alpha", AttrKind::Float, "1", "its alpha, where it has one"});
    attrs.push_back({name + "_beta", AttrKind::Float, "0", "its beta, where it has one"});
  };
  add("f", f,
      "the first activation: sigmoid, tanh, relu, affine (alpha * x + beta), leaky_relu (alpha * x "
      "below 0), thresholded_relu (0 below alpha), scaled_tanh (alpha * tanh(beta * x)), "
      "hard_sigmoid (alpha * x + beta within 0 and 1), elu (alpha * (e^x - 1) below 0), softsign "
      "or "
      "softplus");
  add("g", g, "the second one, of the same functions");
  add("h", h, "the third one, of the same functions");
  return attrs;
}

constexpr const char* dtypes =
    "f32, f16 or bf16, all the same, as the results; lengths i32. With scales (f32) r is i8, each "
    "weight r times its column's scale, and the state of each row is quantised to u8 at each step, "
    "as DynamicQuantizeLinear does";
constexpr const char* errors = "Sizes that do not fit each other.";

/// A one-element range, or a literal, whose value is `number`.
bool is_number(const Module& module, const Value& value, Dim number) {
  if (value.kind == ValueKind::Constant) return number.constant() == value.integer;
  if (value.producer < 0) return false;
  const Node& node = module.nodes[static_cast<std::size_t>(value.producer)];
  return node.op->id == OpId::Range && value.type.dims[0].constant() == 1 &&
         attr_dim(module, node, "start") == number;
}

}  // namespace

std::optional<std::size_t> scales_input(const Node& node) {
  const std::size_t place = scales_place(node.op->id == OpId::Lstm ? 4 : 1);
  return node.inputs.size() > place ? std::optional(place) : std::nullopt;
}

bool is_plain_input(const Module& module, const Node& node, std::size_t input) {
  if (node.op->op_class != OpClass::Recurrence) return false;
  const Value* value = &module.value(node.inputs[input]);
  while (value->producer >= 0) {
    const Node& view = module.nodes[static_cast<std::size_t>(value->producer)];
    if (view.op->op_class != OpClass::View || view.op->id == OpId::Append) break;
    value = &module.value(view.inputs[0]);
  }
  if (input == recurrence_lengths)
    return is_number(module, *value, module.value(node.inputs[recurrence_gates]).type.dims[0]);
  return value->kind == ValueKind::Constant && value->constant == 0 &&
         !std::signbit(value->constant);
}

std::span<const CellFunctionInfo> cell_functions() { return functions; }

Activation activation_of(const Node& node, std::string_view name) {
  const std::string attribute(name), word = attr_word(node, name);
  const auto found = std::ranges::find(functions, word, &CellFunctionInfo::name);
  Activation activation{found->function};
  if (found->takes_alpha) activation.alpha = attr_number(node, attribute + "_alpha");
  if (found->takes_beta) activation.beta = attr_number(node, attribute + "_beta");
  return activation;
}

std::vector<OpDef> recurrence_ops() {
  std::vector<AttrDef> lstm = attributes("sigmoid", "tanh", "tanh"),
                       gru = attributes("sigmoid", "tanh", nullptr);
  lstm.push_back({"input_forget", AttrKind::Boolean, "false",
                  "the forget gate is what the input gate leaves"});
  gru.push_back({"linear_before_reset", AttrKind::Boolean, "false",
                 "the reset gate works on the product with the state, not on the state"});
  return {
      {OpId::Lstm, OpClass::Recurrence, 7, 8, 3, std::move(lstm), infer_recurrence<4>,
       "A long short-term memory; arguments: gates (the inputs' share of input, output, forget and "
       "cell), r, bias, lengths, h, c, peepholes and, with r in i8, scales.",
       "gates: [S, B, D * 4 * H], r: [D, H, 4 * H], bias: [D, 4 * H], lengths: [B], h and c: [D, "
       "B, H], peepholes: [D, 3 * H], scales: [D, 4 * H]; the results are [S, D, B, H], [D, B, H], "
       "[D, B, H].",
       dtypes, errors},
      {OpId::Gru, OpClass::Recurrence, 5, 6, 2, std::move(gru), infer_recurrence<3>,
       "A gated recurrent unit; arguments: gates (the inputs' share of update, reset and hidden), "
       "r, bias, lengths, h and, with r in i8, scales.",
       "gates: [S, B, D * 3 * H], r: [D, H, 3 * H], bias: [D, 3 * H], lengths: [B], h: [D, B, H], "
       "scales: [D, 3 * H]; "
       "the results are [S, D, B, H] and [D, B, H].",
       dtypes, errors},
      {OpId::Rnn, OpClass::Recurrence, 5, 6, 2, attributes("tanh", nullptr, nullptr),
       infer_recurrence<1>,
       "A recurrent layer; arguments: gates (the inputs' share), r, bias, lengths, h and, with r "
       "in "
       "i8, scales.",
       "gates: [S, B, D * H], r: [D, H, H], bias: [D, H], lengths: [B], h: [D, B, H], scales: "
       "[D, H]; the results "
       "are [S, D, B, H] and [D, B, H].",
       dtypes, errors},
  };
}

}  // namespace dyn::graph
