// Linear attention: each step updates a matrix for each head and reads from it.

#include <algorithm>
#include <cmath>
#include <string>

#include "targets/host/call.hpp"

namespace dyn::host {
namespace {

/// The sizes of a call, and where the vectors of a step and head lie.
class Heads {
 public:
  explicit Heads(const Call& call)
      : call_(call),
        batch_(call.inputs[0].dims[0]),
        steps_(call.inputs[0].dims[1]),
        queries_(call.inputs[0].dims[2]),
        heads_(call.inputs[1].dims[2]),
        keys_(call.inputs[1].dims[3]),
        values_(call.inputs[2].dims[3]) {
    const std::string rule = graph::attr_word(call.node, "rule");
    gated_ = rule == "gated" || rule == "gated_delta";
    delta_ = rule == "delta" || rule == "gated_delta";
    scale_ = static_cast<float>(graph::attr_number(call.node, "scale"));
    seen_.resize(static_cast<std::size_t>(values_));
  }

  void run() {
    const Array &before = call_.inputs[3], &after = call_.outputs[1];
    std::copy_n(static_cast<const float*>(before.data), before.size(),
                static_cast<float*>(after.data));
    for (std::int64_t b = 0; b < batch_; ++b) {
      for (std::int64_t h = 0; h < heads_; ++h) {
        float* state = static_cast<float*>(after.data) + (b * heads_ + h) * keys_ * values_;
        for (std::int64_t t = 0; t < steps_; ++t) step(state, b, t, h);
      }
    }
  }

 private:
  /// Dim 2 or 3 of a decay or a beta may be 1.
  const float* shared_vector(std::size_t input, std::int64_t b, std::int64_t t,
                             std::int64_t h) const {
    const Array& array = call_.inputs[input];
    const std::int64_t heads = array.dims[2], extent = array.dims.size() > 3 ? array.dims[3] : 1;
    return static_cast<const float*>(array.data) +
           ((b * steps_ + t) * heads + (heads == 1 ? 0 : h)) * extent;
  }

  void step(float* state, std::int64_t b, std::int64_t t, std::int64_t h) {
    const float *key = shared_vector(1, b, t, h), *value = shared_vector(2, b, t, h);
    if (gated_) decay(state, shared_vector(4, b, t, h), call_.inputs[4].dims[3]);
    std::copy_n(value, values_, seen_.begin());
    if (delta_) {
      for (std::int64_t d = 0; d < keys_; ++d) {
        for (std::int64_t m = 0; m < values_; ++m) seen_[at(m)] -= state[d * values_ + m] * key[d];
      }
      const float rate = *shared_vector(gated_ ? 5 : 4, b, t, h);
      for (float& each : seen_) each *= rate;
    }
    for (std::int64_t d = 0; d < keys_; ++d) {
      for (std::int64_t m = 0; m < values_; ++m) state[d * values_ + m] += key[d] * seen_[at(m)];
    }
    const std::int64_t group = queries_ / heads_;
    for (std::int64_t q = h * group; q < (h + 1) * group; ++q) read(state, b, t, q);
  }

  void decay(float* state, const float* exponents, std::int64_t count) const {
    for (std::int64_t d = 0; d < keys_; ++d) {
      const float factor = std::exp(exponents[count == 1 ? 0 : d]);
      for (std::int64_t m = 0; m < values_; ++m) state[d * values_ + m] *= factor;
    }
  }

  void read(const float* state, std::int64_t b, std::int64_t t, std::int64_t q) const {
    const float* query = shared_vector(0, b, t, q);
    float* result =
        static_cast<float*>(call_.outputs[0].data) + ((b * steps_ + t) * queries_ + q) * values_;
    std::fill_n(result, values_, 0.0F);
    for (std::int64_t d = 0; d < keys_; ++d) {
      for (std::int64_t m = 0; m < values_; ++m) result[m] += query[d] * state[d * values_ + m];
    }
    for (std::int64_t m = 0; m < values_; ++m) result[m] *= scale_;
  }

  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

  const Call& call_;
  const std::int64_t batch_, steps_, queries_, heads_, keys_, values_;
  bool gated_ = false, delta_ = false;
  float scale_ = 1;
  std::vector<float> seen_;  ///< what a step adds to the state's rows
};

Outcome run_linear_attention(const Call& call) {
  Heads(call).run();
  return Outcome::Ok;
}

constexpr Operator linear_attention_family[] = {
    {graph::OpId::LinearAttention, run_linear_attention}};

}  // namespace

std::span<const Operator> linear_attention_operators() { return linear_attention_family; }

}  // namespace dyn::host
