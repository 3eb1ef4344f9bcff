// Steps of recurrent layers: lstm, gru, rnn.

#include <algorithm>
#include <cmath>
#include <string>

#include "graph/ops/recurrence.hpp"
#include "targets/host/call.hpp"

namespace dyn::host {
namespace {

float activated(const graph::Activation& activation, float x) {
  using graph::CellFunction;
  const auto alpha = static_cast<float>(activation.alpha),
             beta = static_cast<float>(activation.beta);
  switch (activation.function) {
    case CellFunction::Sigmoid: return 1 / (1 + std::exp(-x));
    case CellFunction::Tanh: return std::tanh(x);
    case CellFunction::Relu: return std::max(x, 0.0F);
    case CellFunction::Affine: return alpha * x + beta;
    case CellFunction::LeakyRelu: return x < 0 ? alpha * x : x;
    case CellFunction::ThresholdedRelu: return x < alpha ? 0 : x;
    case CellFunction::ScaledTanh: return alpha * std::tanh(beta * x);
    case CellFunction::HardSigmoid: return std::clamp(alpha * x + beta, 0.0F, 1.0F);
    case CellFunction::Elu: return x < 0 ? alpha * std::expm1(x) : x;
    case CellFunction::Softsign: return x / (1 + std::abs(x));
    case CellFunction::Softplus: break;
  }
  return std::max(x, 0.0F) + std::log1p(std::exp(-std::abs(x)));
}

auto activation(const Call& call, const char* name) {
  return [made = graph::activation_of(call.node, name)](float x) { return activated(made, x); };
}

/// A state as whole numbers, each less the zero point, times a scale: DynamicQuantizeLinear's of
/// one row.
struct QuantisedState {
  explicit QuantisedState(const std::vector<float>& h) {
    float least = 0, greatest = 0, all = 0;
    for (const float x : h) {
      least = std::min(least, x);
      greatest = std::max(greatest, x);
      all += 0 * x;  // NaN where an element is none
    }
    constexpr float steps = 255;
    const float reach = (greatest - least) / steps;
    scale = (reach == 0 ? 1 : reach) + all;
    const float zero = std::nearbyint(std::clamp(-least / scale, 0.0F, steps));
    for (const float x : h) {
      const float code = std::clamp(std::nearbyint(x / scale) + zero, 0.0F, steps) - zero;
      whole.push_back(std::isnan(code) ? 0 : static_cast<std::int64_t>(code));
    }
  }

  std::vector<std::int64_t> whole;
  float scale = 1;
};

/// One direction of one layer. The state's product with r is added up row by row of r, so that the
/// inner loop runs over neighbours.
class Layer {
 public:
  Layer(const Call& call, std::int64_t direction, bool reverse)
      : call_(call),
        direction_(direction),
        reverse_(reverse),
        steps_(call.inputs[0].dims[0]),
        batch_(call.inputs[0].dims[1]),
        hidden_(call.inputs[1].dims[1]),
        columns_(call.inputs[1].dims[2]),
        all_columns_(call.inputs[0].dims[2]),
        clip_(static_cast<float>(graph::attr_number(call.node, "clip"))),
        sums_(at(columns_)) {}

  bool has_all_steps() const {
    return std::ranges::all_of(
        call_.inputs[3].elements<const std::int32_t>(),
        [&](std::int32_t length) { return length >= 0 && length <= steps_; });
  }

  /// Calls step(gates, h, place) for each step of each row of the batch, h being the state before
  /// and after it.
  template <class Step>
  void run(const Step& step) {
    const auto lengths = call_.inputs[3].elements<const std::int32_t>();
    for (std::int64_t b = 0; b < batch_; ++b) {
      std::vector<float> h(data(4) + (direction_ * batch_ + b) * hidden_,
                           data(4) + (direction_ * batch_ + b + 1) * hidden_);
      const std::int64_t length = lengths[at(b)];
      for (std::int64_t i = 0; i < length; ++i) {
        const std::int64_t t = reverse_ ? length - 1 - i : i;
        step(data(0) + (t * batch_ + b) * all_columns_ + direction_ * columns_, h, b);
        std::ranges::copy(h, result(0) + ((t * directions() + direction_) * batch_ + b) * hidden_);
      }
      for (std::int64_t t = length; t < steps_; ++t)
        std::fill_n(result(0) + ((t * directions() + direction_) * batch_ + b) * hidden_, hidden_,
                    0.0F);
      std::ranges::copy(h, result(1) + (direction_ * batch_ + b) * hidden_);
    }
  }

  /// bias + h . r for columns first .. last - 1.
  const std::vector<float>& products(const std::vector<float>& h, std::int64_t first,
                                     std::int64_t last) {
    const float* bias = data(2) + direction_ * columns_;
    if (const auto scales = graph::scales_input(call_.node)) {
      const float* by_column = data(*scales) + direction_ * columns_;
      const QuantisedState state(h);
      const std::vector<std::int64_t> sums = sums_of_rows(state.whole, first, last, std::int8_t{});
      for (std::int64_t k = first; k < last; ++k)
        sums_[at(k)] = static_cast<float>(sums[at(k)]) * state.scale * by_column[k] + bias[k];
      return sums_;
    }
    const std::vector<float> sums = sums_of_rows(h, first, last, float{});
    for (std::int64_t k = first; k < last; ++k) sums_[at(k)] = bias[k] + sums[at(k)];
    return sums_;
  }

  float clipped(float x) const { return clip_ > 0 ? std::clamp(x, -clip_, clip_) : x; }
  std::int64_t hidden() const { return hidden_; }
  std::int64_t directions() const { return call_.inputs[1].dims[0]; }
  float* state(std::size_t output, std::int64_t b) const {
    return result(output) + (direction_ * batch_ + b) * hidden_;
  }
  const float* data(std::size_t input) const {
    return static_cast<const float*>(call_.inputs[input].data);
  }
  const float* of_direction(std::size_t input) const {
    return data(input) + direction_ * (call_.inputs[input].size() / directions());
  }

 private:
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

  /// The sum over i of factors[i] times row i of r, by column.
  template <class Factor, class Weight>
  std::vector<Factor> sums_of_rows(const std::vector<Factor>& factors, std::int64_t first,
                                   std::int64_t last, Weight) const {
    std::vector<Factor> sums(at(columns_));
    const auto* r =
        static_cast<const Weight*>(call_.inputs[1].data) + direction_ * hidden_ * columns_;
    for (std::int64_t i = 0; i < hidden_; ++i) {
      for (std::int64_t k = first; k < last; ++k)
        sums[at(k)] += factors[at(i)] * static_cast<Factor>(r[i * columns_ + k]);
    }
    return sums;
  }

  float* result(std::size_t output) const {
    return static_cast<float*>(call_.outputs[output].data);
  }

  const Call& call_;
  const std::int64_t direction_;
  const bool reverse_;
  const std::int64_t steps_, batch_, hidden_, columns_, all_columns_;
  const float clip_;
  std::vector<float> sums_;
};

template <void (*run_layer)(const Call&, Layer&)>
Outcome run(const Call& call) {
  const std::string direction = graph::attr_word(call.node, "direction");
  for (std::int64_t d = 0; d < call.inputs[1].dims[0]; ++d) {
    Layer layer(call, d, direction == "reverse" || d == 1);
    if (!layer.has_all_steps()) return Outcome::IndexOutOfRange;
    run_layer(call, layer);
  }
  return Outcome::Ok;
}

void run_rnn(const Call& call, Layer& layer) {
  const auto f = activation(call, "f");
  layer.run([&](const float* gates, std::vector<float>& h, std::int64_t) {
    const std::vector<float>& sums = layer.products(h, 0, layer.hidden());
    for (std::size_t i = 0; i < h.size(); ++i) h[i] = f(layer.clipped(gates[i] + sums[i]));
  });
}

void run_gru(const Call& call, Layer& layer) {
  const auto f = activation(call, "f"), g = activation(call, "g");
  const bool linear = graph::attr_boolean(call.node, "linear_before_reset");
  const auto n = static_cast<std::size_t>(layer.hidden());
  std::vector<float> update(n), reset(n), seen(n);
  layer.run([&](const float* gates, std::vector<float>& h, std::int64_t) {
    const std::vector<float>& sums =
        layer.products(h, 0, linear ? 3 * layer.hidden() : 2 * layer.hidden());
    for (std::size_t i = 0; i < n; ++i) {
      update[i] = f(layer.clipped(gates[i] + sums[i]));
      reset[i] = f(layer.clipped(gates[n + i] + sums[n + i]));
      seen[i] = reset[i] * h[i];
    }
    if (!linear) layer.products(seen, 2 * layer.hidden(), 3 * layer.hidden());
    for (std::size_t i = 0; i < n; ++i) {
      const float product = linear ? reset[i] * sums[2 * n + i] : sums[2 * n + i];
      h[i] = (1 - update[i]) * g(layer.clipped(gates[2 * n + i] + product)) + update[i] * h[i];
    }
  });
}

void run_lstm(const Call& call, Layer& layer) {
  const auto f = activation(call, "f"), g = activation(call, "g"), h_of = activation(call, "h");
  const bool input_forget = graph::attr_boolean(call.node, "input_forget");
  const auto n = static_cast<std::size_t>(layer.hidden());
  // The cell's state is kept where its last value is wanted.
  std::copy_n(layer.of_direction(5), call.inputs[5].size() / layer.directions(), layer.state(2, 0));
  const float* peepholes = layer.of_direction(6);
  layer.run([&](const float* gates, std::vector<float>& h, std::int64_t b) {
    const std::vector<float>& sums = layer.products(h, 0, 4 * layer.hidden());
    float* c = layer.state(2, b);
    for (std::size_t i = 0; i < n; ++i) {
      const float input = f(layer.clipped(gates[i] + sums[i] + peepholes[i] * c[i]));
      const float forget =
          input_forget
              ? 1 - input
              : f(layer.clipped(gates[2 * n + i] + sums[2 * n + i] + peepholes[2 * n + i] * c[i]));
      c[i] = forget * c[i] + input * g(layer.clipped(gates[3 * n + i] + sums[3 * n + i]));
      h[i] = f(layer.clipped(gates[n + i] + sums[n + i] + peepholes[n + i] * c[i])) * h_of(c[i]);
    }
  });
}

constexpr Operator recurrence_family[] = {{graph::OpId::Lstm, run<run_lstm>},
                                          {graph::OpId::Gru, run<run_gru>},
                                          {graph::OpId::Rnn, run<run_rnn>}};

}  // namespace

std::span<const Operator> recurrence_operators() { return recurrence_family; }

}  // namespace dyn::host
