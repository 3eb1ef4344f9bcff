// LSTM, GRU and RNN: one matmul computes the inputs' products of all steps, and a recurrence the
// steps.

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "graph/ops/recurrence.hpp"
#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/parts/axis_order.hpp"
#include "src/import/onnx/parts/integers/integer_product.hpp"
#include "src/import/onnx/parts/integers/quantization.hpp"

namespace dyn::onnx {
namespace {

struct Kind {
  const char* op;
  std::int64_t gates;
  std::vector<const char*> activations;  ///< attributes of the operator, in ONNX's order
};

/// As one letter case, without underscores: "HardSigmoid" and "hard_sigmoid" are alike.
std::string plain_name(std::string_view name) {
  std::string plain;
  for (const unsigned char letter : name) {
    if (letter != '_') plain += static_cast<char>(std::tolower(letter));
  }
  return plain;
}

/// Numbers that functions take in their order; nothing where there are no more.
class Numbers {
 public:
  explicit Numbers(const AttributeProto* given) : given_(given) {}
  std::optional<double> next() {
    if (given_ == nullptr || next_ == given_->floats_size()) return std::nullopt;
    return static_cast<double>(given_->floats(next_++));
  }

 private:
  const AttributeProto* given_;
  int next_ = 0;
};

/// A number that is the operator's of the same name, where the file gives none.
std::optional<double> default_number(graph::CellFunction function, bool is_beta) {
  using graph::CellFunction;
  switch (function) {
    case CellFunction::LeakyRelu: return 0.01;
    case CellFunction::ThresholdedRelu:
    case CellFunction::Elu: return 1;
    case CellFunction::HardSigmoid: return is_beta ? 0.5 : 0.2;
    default: return std::nullopt;
  }
}

/// The activations of one direction.
using Activations = std::vector<graph::Attr>;

void add_activation(NodeContext& node, const std::string& name, const char* attribute,
                    Numbers& alphas, Numbers& betas, Activations& to) {
  const auto known = graph::cell_functions();
  const auto found = std::ranges::find_if(known, [&](const graph::CellFunctionInfo& info) {
    return plain_name(info.name) == plain_name(name);
  });
  if (found == known.end())
    node.fail_unsupported(fmt::format("the activation {} is not supported", name));
  to.push_back({attribute, std::string(found->name)});
  const auto add = [&](Numbers& numbers, bool is_beta, const char* what) {
    std::optional<double> number = numbers.next();
    if (!number) number = default_number(found->function, is_beta);
    if (!number)
      node.fail(fmt::format("its activation {} needs a number in activation_{}", name, what));
    to.push_back({fmt::format("{}_{}", attribute, what), *number});
  };
  if (found->takes_alpha) add(alphas, false, "alpha");
  if (found->takes_beta) add(betas, true, "beta");
}

/// Of each direction; one where no other is given.
std::vector<Activations> activations_of(NodeContext& node, const Kind& kind) {
  const AttributeProto* given = node.attribute("activations");
  if (given == nullptr || given->strings_size() == 0) return {{}};
  const std::size_t count = kind.activations.size(),
                    names = static_cast<std::size_t>(given->strings_size());
  const std::size_t directions = node.word("direction", "forward") == "bidirectional" ? 2 : 1;
  if (names != count && names != directions * count)
    node.fail(fmt::format("it has {} activations, not {} for each direction", names, count));
  Numbers alphas(node.attribute("activation_alpha")), betas(node.attribute("activation_beta"));
  std::vector<Activations> all(names / count);
  for (std::size_t i = 0; i < names; ++i)
    add_activation(node, given->strings(static_cast<int>(i)), kind.activations[i % count], alphas,
                   betas, all[i / count]);
  return all;
}

/// The node's first input; [directions, gates * hidden, inputs]; [directions, hidden, gates *
/// hidden]. Integer weights of the state have scales, [directions, gates * hidden].
struct Factors {
  ValueId x, of_inputs, of_state;
  std::optional<ValueId> products = std::nullopt;  ///< of x by the weights of the inputs, instead
  std::optional<ValueId> scales = std::nullopt;
};

class Recurrence {
 public:
  Recurrence(NodeContext& node, const Kind& kind, const Factors& factors)
      : node_(node), kind_(kind), factors_(factors), batch_first_(node.integer("layout", 0) != 0) {
    const std::vector<Dim> r = node.builder().type(factors.of_state).dims;
    directions_ = r[0];
    hidden_ = r[1];
    if (node.attribute("hidden_size") != nullptr &&
        prove_equal(hidden_, node.dims().constant(node.integer("hidden_size", 0))) == false)
      node.fail(fmt::format("its hidden_size is {}, but its recurrence weights are for {}",
                            node.integer("hidden_size", 0), graph::to_string(hidden_)));
    rows_ = hidden_ * kind.gates;
    x_ = batch_first_ ? turn(factors.x, {1, 0, 2}) : factors.x;
    const std::vector<Dim> x = node.builder().type(x_).dims;
    if (x.size() != 3) node.fail(fmt::format("its input has {} dims, not 3", x.size()));
    steps_ = x[0];
    batch_ = x[1];
  }

  /// `attrs`: of all directions.
  void convert(std::vector<graph::Attr> attrs) {
    attrs.push_back({"clip", node_.number("clip", 0)});
    std::vector<ValueId> inputs{gates(), factors_.of_state, bias(1), lengths(), state(5)};
    if (kind_.gates == 4) {
      inputs.push_back(state(6));
      inputs.push_back(node_.has(7) ? node_.value(7) : zeros({directions_, hidden_ * 3}));
    }
    if (factors_.scales) inputs.push_back(*factors_.scales);
    const std::vector<Activations> activations = activations_of(node_, kind_);
    const std::string direction = node_.word("direction", "forward");
    const bool alike = activations.size() == 1 ||
                       std::ranges::equal(activations[0], activations[1],
                                          [](const graph::Attr& a, const graph::Attr& b) {
                                            return a.name == b.name && a.value == b.value;
                                          });
    std::vector<ValueId> results = alike ? layer(inputs, direction, activations[0], attrs)
                                         : layers(inputs, activations, attrs);
    if (batch_first_) {
      results[0] = turn(results[0], {2, 0, 1, 3});
      for (std::size_t i = 1; i < results.size(); ++i) results[i] = turn(results[i], {1, 0, 2});
    }
    for (std::size_t i = 0; i < results.size(); ++i) node_.give(results[i], i);
  }

 private:
  std::vector<ValueId> layer(const std::vector<ValueId>& inputs, const std::string& direction,
                             const Activations& activations, std::vector<graph::Attr> attrs) {
    attrs.push_back({"direction", direction});
    attrs.insert(attrs.end(), activations.begin(), activations.end());
    return node_.add_all(kind_.op, inputs, std::move(attrs));
  }

  /// Two directions of other activations are two layers, each with its part of the inputs.
  std::vector<ValueId> layers(const std::vector<ValueId>& inputs,
                              const std::vector<Activations>& activations,
                              const std::vector<graph::Attr>& attrs) {
    std::vector<std::vector<ValueId>> results;
    for (std::int64_t d = 0; d < 2; ++d) {
      std::vector<ValueId> own;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        const bool shared = i == graph::recurrence_lengths;
        const Dim size = i == graph::recurrence_gates ? rows_ : node_.dims().constant(1);
        const std::int64_t axis = i == graph::recurrence_gates ? 2 : 0;
        own.push_back(shared ? inputs[i] : sliced(inputs[i], axis, size * d, size));
      }
      results.push_back(layer(own, d == 0 ? "forward" : "reverse",
                              activations[static_cast<std::size_t>(d)], attrs));
    }
    std::vector<ValueId> joined;
    for (std::size_t i = 0; i < results[0].size(); ++i) {
      const std::int64_t axis = i == 0 ? 1 : 0;
      joined.push_back(
          node_.add("concat", {results[0][i], results[1][i]}, {node_.dim("axis", axis)}));
    }
    return joined;
  }

  ValueId sliced(ValueId id, std::int64_t axis, Dim start, Dim size) {
    return node_.add("slice", {id},
                     {node_.integer_list("axes", std::array<std::int64_t, 1>{axis}),
                      {"starts", std::vector{start}},
                      {"ends", std::vector{start + size}}});
  }
  ValueId turn(ValueId id, const std::vector<std::int64_t>& perm) {
    return node_.add("transpose", {id}, {node_.integer_list("perm", perm)});
  }
  ValueId shaped(ValueId id, std::vector<Dim> shape) {
    return node_.add("reshape", {id}, {{"shape", std::move(shape)}});
  }
  ValueId zeros(std::vector<Dim> shape) {
    return node_.add("expand", {node_.scalar(0, x_)}, {{"shape", std::move(shape)}});
  }

  /// The inputs' share of all gates, with their bias: [S, B, D * G * H].
  ValueId gates() {
    const Dim all = directions_ * rows_;
    ValueId products = graph::no_value;
    if (!factors_.products)
      products = products_of_inputs(all);
    else
      products = batch_first_ ? turn(*factors_.products, {1, 0, 2}) : *factors_.products;
    return node_.has(3) ? node_.add("add", {products, shaped(bias(0), {all})}) : products;
  }

  ValueId products_of_inputs(Dim columns) {
    const ValueId weights = shaped(factors_.of_inputs, {columns, node_.builder().type(x_).dims[2]});
    return node_.add("matmul", {x_, weights}, {{"transpose_b", true}});
  }

  /// Half `which` of the biases: of the inputs, or of the state.
  ValueId bias(std::int64_t which) {
    if (!node_.has(3)) return zeros({directions_, rows_});
    return sliced(node_.value(3), 1, rows_ * which, rows_);
  }

  ValueId lengths() {
    if (node_.has(4)) return node_.value(4);
    const ValueId steps = node_.add(
        "range", {}, {{"start", steps_}, {"end", steps_ + 1}, {"dtype", std::string("i32")}});
    return node_.add("expand", {steps}, {{"shape", std::vector{batch_}}});
  }

  ValueId state(std::size_t input) {
    if (!node_.has(input)) return zeros({directions_, batch_, hidden_});
    return batch_first_ ? turn(node_.value(input), {1, 0, 2}) : node_.value(input);
  }

  NodeContext& node_;
  const Kind& kind_;
  const Factors factors_;
  const bool batch_first_;
  ValueId x_ = graph::no_value;
  Dim directions_, hidden_, rows_, steps_, batch_;
};

constexpr std::array<std::int64_t, 3> last_exchanged{0, 2, 1};

/// Inputs 1 and 2, as ONNX has them: gates before the state's elements.
Factors factors_of(NodeContext& node) {
  const std::size_t rank = node.type_of(2).dims.size();
  if (rank != 3) node.fail(fmt::format("its recurrence weights have {} dims, not 3", rank));
  return {node.value(0), node.value(1), permuted_input(node, 2, last_exchanged)};
}

void give_lstm(NodeContext& node, const Factors& factors) {
  const Kind kind{"lstm", 4, {"f", "g", "h"}};
  Recurrence(node, kind, factors).convert({{"input_forget", node.integer("input_forget", 0) != 0}});
}

void convert_lstm(NodeContext& node) { give_lstm(node, factors_of(node)); }

/// Constant weights [directions, K, gates * hidden] of 8 bits. A scale and a zero point belong to a
/// direction, or to each column of one.
class QuantisedWeights {
 public:
  QuantisedWeights(NodeContext& node, const QuantizedInput& input)
      : node_(node),
        weights_(node.need_constant(input.tensor, "its quantised weights")),
        scales_(numbers_of(node.need_constant(input.scale, "its scales"))),
        zeros_(numbers_of(node.need_constant(input.zero_point, "its zero points"))) {
    if (weights_.dims.size() != 3)
      node.fail(fmt::format("its quantised weights have {} dims, not 3", weights_.dims.size()));
    by_column_ = scales_.size() != directions();
    if ((by_column_ && scales_.size() != directions() * columns()) ||
        zeros_.size() != scales_.size())
      node.fail(fmt::format("it has {} scales and {} zero points, and needs {} or {}",
                            scales_.size(), zeros_.size(), directions(), directions() * columns()));
  }

  std::size_t directions() const { return static_cast<std::size_t>(weights_.dims[0]); }
  std::size_t columns() const { return static_cast<std::size_t>(weights_.dims[2]); }
  std::int64_t depth() const { return weights_.dims[1]; }
  Tensor dequantised() const {
    return dequantized(weights_, scales_, zeros_, [&](std::size_t i) { return scale_of(i); });
  }
  /// The integers less their zero points.
  Tensor whole() const {
    return shorts_of(weights_, [&](std::size_t i, std::int64_t x) {
      return x - static_cast<std::int64_t>(zeros_[scale_of(i)]);
    });
  }
  /// The same as i8; nothing where one is outside of it.
  std::optional<Tensor> bytes() const {
    Tensor bytes{DType::i8, weights_.dims, {}};
    bool fits = true;
    for_each_element(weights_, [&](std::size_t i, auto x) {
      const auto number =
          static_cast<std::int64_t>(x) - static_cast<std::int64_t>(zeros_[scale_of(i)]);
      fits = fits && number >= -128 && number <= 127;
      bytes.bytes += static_cast<char>(number);
    });
    if (!fits) return std::nullopt;
    return bytes;
  }
  /// One for each column of each direction: f32 of these dims.
  TensorExpr scales(const Integers& dims) const {
    std::vector<float> all;
    for (std::size_t i = 0; i < directions() * columns(); ++i)
      all.push_back(static_cast<float>(scales_[by_column_ ? i : i / columns()]));
    return floats(node_, dims, all);
  }
  std::int64_t all_columns() const { return weights_.dims[0] * weights_.dims[2]; }
  ValueId value(Tensor tensor, int input) const {
    return constant_expr(node_, std::move(tensor), node_.node().input(input)).id();
  }

 private:
  std::size_t scale_of(std::size_t element) const {
    const std::size_t direction = element / (static_cast<std::size_t>(depth()) * columns());
    return by_column_ ? direction * columns() + element % columns() : direction;
  }

  NodeContext& node_;
  const Tensor& weights_;
  const std::vector<double> scales_, zeros_;
  bool by_column_ = false;
};

/// The node's first input as integers. Steps behind the longest sample have no influence on their
/// range.
DynamicallyQuantized quantized_inputs(NodeContext& node) {
  TensorExpr x = input_expr(node, 0);
  if (node.has(4)) {
    const TensorExpr most = reduce("reduce_max", input_expr(node, 4), {0}, false);
    const TensorExpr step = cast(along(range(node, x.dims()[0]), 0, 3), most.dtype());
    x = where(less(step, most), x, 0.0);
  }
  return dynamically_quantized(x);
}

/// The products of the inputs of all steps by the weights of all directions: [S, B, D * G * H].
ValueId products_of_bytes(NodeContext& node, const QuantisedWeights& weights) {
  constexpr std::array<std::int64_t, 3> inputs_first{1, 0, 2};
  Tensor factor = permuted(weights.whole(), inputs_first);
  factor.dims = {weights.depth(), weights.all_columns()};
  const DynamicallyQuantized x = quantized_inputs(node);
  const TensorExpr sums = integer_matmul(node, whole_of(x), whole_constant(std::move(factor)));
  return (cast(sums, DType::f32) * (x.scale * weights.scales({weights.all_columns()}))).id();
}

/// ONNX Runtime's LSTM by weights of 8 bits. It quantises the inputs, all at once, and the state at
/// each step; here each row of the state has a scale of its own. By weights that are no i8 without
/// their zero points the state is multiplied as it is.
void convert_dynamic_quantize_lstm(NodeContext& node) {
  const QuantisedWeights of_inputs(node, {1, 8, 9}), of_state(node, {2, 10, 11});
  Factors factors{node.value(0), graph::no_value, graph::no_value};
  factors.products = products_of_bytes(node, of_inputs);
  if (std::optional<Tensor> bytes = of_state.bytes()) {
    factors.of_state = of_state.value(std::move(*bytes), 2);
    factors.scales = of_state
                         .scales({static_cast<std::int64_t>(of_state.directions()),
                                  static_cast<std::int64_t>(of_state.columns())})
                         .id();
  } else {
    factors.of_state = of_state.value(of_state.dequantised(), 2);
  }
  give_lstm(node, factors);
}

void convert_gru(NodeContext& node) {
  const Kind kind{"gru", 3, {"f", "g"}};
  Recurrence(node, kind, factors_of(node))
      .convert({{"linear_before_reset", node.integer("linear_before_reset", 0) != 0}});
}

void convert_rnn(NodeContext& node) {
  const Kind kind{"rnn", 1, {"f"}};
  Recurrence(node, kind, factors_of(node)).convert({});
}

}  // namespace

Family recurrence_operators() {
  return {{"LSTM", convert_lstm}, {"GRU", convert_gru}, {"RNN", convert_rnn}};
}

Family quantized_recurrence_operators() {
  return {{"DynamicQuantizeLSTM", convert_dynamic_quantize_lstm}};
}

}  // namespace dyn::onnx
