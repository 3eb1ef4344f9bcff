// Imported linear attention and causal convolutions, beside plain loops in double precision.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "dyn/error.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/import/onnx/values.hpp"

namespace dyn::testing::linear_attention {
namespace {

/// One draw of all that the operator has.
struct Case {
  std::int64_t batch = 1, steps = 1, heads = 1, sharing = 1, key_size = 1, value_size = 1;
  bool gated = false, delta = false, has_past = false, has_shared_decay = false,
       has_shared_rate = false;
  double scale = 0;

  std::string rule() const {
    return gated ? (delta ? "gated_delta" : "gated") : (delta ? "delta" : "linear");
  }
  std::int64_t decays() const { return has_shared_decay ? heads : heads * key_size; }
  std::int64_t rates() const { return has_shared_rate ? 1 : heads; }
};

struct Tensors {
  std::vector<float> q, k, v, past, decay, rate;
};

Case draw(std::mt19937_64& random, bool gated, bool delta) {
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  Case c{pick(1, 3), pick(0, 9), pick(1, 3), pick(1, 2), pick(1, 6), pick(1, 7), gated, delta};
  c.has_past = pick(0, 1) != 0;
  c.has_shared_decay = pick(0, 1) != 0;
  c.has_shared_rate = pick(0, 1) != 0;
  if (pick(0, 1) != 0) c.scale = 0.3;
  return c;
}

Tensors draw_tensors(const Case& c) {
  const auto floats = [](std::int64_t count, float low, float high) {
    return random_floats(static_cast<std::size_t>(count), low, high);
  };
  const std::int64_t tokens = c.batch * c.steps;
  return {floats(tokens * c.heads * c.sharing * c.key_size, -1, 1.2F),
          floats(tokens * c.heads * c.key_size, -0.5F, 0.6F),
          floats(tokens * c.heads * c.value_size, -1, 1.3F),
          floats(c.batch * c.heads * c.key_size * c.value_size, -1, 1),
          floats(tokens * c.decays(), -1.5F, 0.1F),
          floats(tokens * c.rates(), 0, 1)};
}

OnnxFile file_of(const Case& c) {
  const auto size = [](std::int64_t each) { return static_cast<int>(each); };
  OnnxFile file(28);
  file.input("q", {"B", "T", size(c.heads * c.sharing * c.key_size)});
  file.input("k", {"B", "T", size(c.heads * c.key_size)});
  file.input("v", {"B", "T", size(c.heads * c.value_size)});
  if (c.has_past) file.input("past", {"B", size(c.heads), size(c.key_size), size(c.value_size)});
  if (c.gated) file.input("decay", {"B", "T", size(c.decays())});
  if (c.delta) file.input("rate", {"B", "T", size(c.rates())});
  file.output("y").output("present");
  onnx::NodeProto& node = file.node(
      "LinearAttention",
      {"q", "k", "v", c.has_past ? "past" : "", c.gated ? "decay" : "", c.delta ? "rate" : ""},
      {"y", "present"});
  set(node, "q_num_heads", c.heads * c.sharing);
  set(node, "kv_num_heads", c.heads);
  set_word(node, "update_rule", c.rule());
  if (c.scale > 0) set_number(node, "scale", static_cast<float>(c.scale));
  return file;
}

NamedTensors inputs_of(const Case& c, const Tensors& t) {
  const auto tensor = [&](const std::vector<float>& x, std::int64_t size) {
    return Tensor::from(std::span<const float>(x), {c.batch, c.steps, size});
  };
  NamedTensors inputs{{"q", tensor(t.q, c.heads * c.sharing * c.key_size)},
                      {"k", tensor(t.k, c.heads * c.key_size)},
                      {"v", tensor(t.v, c.heads * c.value_size)}};
  if (c.has_past)
    inputs.emplace_back("past", Tensor::from(std::span<const float>(t.past),
                                             {c.batch, c.heads, c.key_size, c.value_size}));
  if (c.gated) inputs.emplace_back("decay", tensor(t.decay, c.decays()));
  if (c.delta) inputs.emplace_back("rate", tensor(t.rate, c.rates()));
  return inputs;
}

/// One head of one sample, step by step: S is [key_size, value_size].
class Head {
 public:
  Head(const Case& c, const Tensors& t, std::int64_t b, std::int64_t h)
      : c_(c), t_(t), b_(b), h_(h) {
    for (std::int64_t i = 0; i < c.key_size * c.value_size; ++i)
      state.push_back(c.has_past ? at(t.past, (b * c.heads + h) * c.key_size * c.value_size + i)
                                 : 0);
  }

  void step(std::int64_t step) {
    const std::int64_t token = b_ * c_.steps + step;
    for (std::int64_t d = 0; d < c_.key_size && c_.gated; ++d) {
      const std::int64_t place = c_.has_shared_decay ? h_ : h_ * c_.key_size + d;
      for (std::int64_t m = 0; m < c_.value_size; ++m)
        S(d, m) *= std::exp(at(t_.decay, token * c_.decays() + place));
    }
    Values added;
    for (std::int64_t m = 0; m < c_.value_size; ++m) {
      double value = at(t_.v, (token * c_.heads + h_) * c_.value_size + m);
      if (c_.delta) {
        for (std::int64_t d = 0; d < c_.key_size; ++d) value -= S(d, m) * key(token, d);
        value *= at(t_.rate, token * c_.rates() + (c_.has_shared_rate ? 0 : h_));
      }
      added.push_back(value);
    }
    for (std::int64_t d = 0; d < c_.key_size; ++d)
      for (std::int64_t m = 0; m < c_.value_size; ++m)
        S(d, m) += key(token, d) * added[static_cast<std::size_t>(m)];
  }

  double read(std::int64_t step, std::int64_t query, std::int64_t m) {
    const double scale = c_.scale > 0 ? c_.scale : 1 / std::sqrt(static_cast<double>(c_.key_size));
    const std::int64_t token = b_ * c_.steps + step;
    double sum = 0;
    for (std::int64_t d = 0; d < c_.key_size; ++d)
      sum += S(d, m) * at(t_.q, (token * c_.heads * c_.sharing + query) * c_.key_size + d);
    return sum * scale;
  }

  Values state;

 private:
  double& S(std::int64_t d, std::int64_t m) {
    return state[static_cast<std::size_t>(d * c_.value_size + m)];
  }
  double key(std::int64_t token, std::int64_t d) const {
    return at(t_.k, (token * c_.heads + h_) * c_.key_size + d);
  }

  const Case& c_;
  const Tensors& t_;
  std::int64_t b_, h_;
};

}  // namespace

TEST_CASE("imported linear attention: four rules, shared heads, a past") {
  INFO("DYN_SEED=", test_seed());
  std::mt19937_64 random(test_seed());
  const int rounds = test_rounds(80, 5);
  for (int round = 0; round < rounds; ++round) {
    const Case c = draw(random, (round & 1) != 0, (round & 2) != 0);
    const Tensors t = draw_tensors(c);
    CAPTURE(round);
    CAPTURE(c.steps);
    Values result(static_cast<std::size_t>(c.batch * c.steps * c.heads * c.sharing * c.value_size)),
        present;
    for (std::int64_t b = 0; b < c.batch; ++b) {
      for (std::int64_t h = 0; h < c.heads; ++h) {
        Head head(c, t, b, h);
        for (std::int64_t step = 0; step < c.steps; ++step) {
          head.step(step);
          for (std::int64_t q = h * c.sharing; q < (h + 1) * c.sharing; ++q)
            for (std::int64_t m = 0; m < c.value_size; ++m)
              result[static_cast<std::size_t>(
                  ((b * c.steps + step) * c.heads * c.sharing + q) * c.value_size + m)] =
                  head.read(step, q, m);
        }
        present.insert(present.end(), head.state.begin(), head.state.end());
      }
    }
    const std::vector<Result> results = run_all(file_of(c), inputs_of(c, t));
    check_close(results[0].values, result, 2e-5);
    check_close(results[1].values, present, 2e-5);
  }
}

TEST_CASE("a linear attention with a rule's input too many, or heads that do not fit, is refused") {
  const auto refused = [](const Case& c, const char* rule, const char* message) {
    OnnxFile file = file_of(c);
    onnx::NodeProto& node = *file.model.mutable_graph()->mutable_node(0);
    for (onnx::AttributeProto& each : *node.mutable_attribute())
      if (each.name() == "update_rule") each.set_s(rule);
    CHECK_THROWS_WITH_AS(load(file), doctest::Contains(message), Error);
  };
  Case c;
  c.gated = true;
  c.key_size = 2;
  refused(c, "linear", "does not take the input decay");
  refused(c, "gated_delta", "needs the input beta");
  refused(c, "other", "other");
}

TEST_CASE("imported causal convolutions continue where their state ends") {
  for (const bool has_past : {false, true}) {
    for (const std::int64_t taps : {1, 2, 4}) {
      for (const std::int64_t steps : {1, 2, 9}) {
        CAPTURE(has_past);
        CAPTURE(taps);
        CAPTURE(steps);
        constexpr std::int64_t batch = 2, channels = 5;
        OnnxFile file(28);
        file.input("x", {"B", int{channels}, "L"}).output("y").output("present");
        const auto count = [](std::int64_t size) { return static_cast<std::size_t>(size); };
        std::vector<float> x = random_floats(count(batch * channels * steps)),
                           w = random_floats(count(channels * taps)),
                           bias = random_floats(channels),
                           past = random_floats(count(batch * channels * (taps - 1)));
        file.floats("w", {channels, 1, taps}, w).floats("bias", {channels}, bias);
        if (has_past) file.input("past", {"B", int{channels}, static_cast<int>(taps - 1)});
        set_word(file.node("CausalConvWithState", {"x", "w", "bias", has_past ? "past" : ""},
                           {"y", "present"}),
                 "activation", "silu");
        NamedTensors inputs{{"x", Tensor::view(x.data(), {batch, channels, steps})}};
        if (has_past)
          inputs.emplace_back(
              "past", Tensor::from(std::span<const float>(past), {batch, channels, taps - 1}));
        Values y, present;
        for (std::int64_t row = 0; row < batch * channels; ++row) {
          Values seen;
          for (std::int64_t i = 0; i + 1 < taps; ++i)
            seen.push_back(has_past ? at(past, row * (taps - 1) + i) : 0);
          for (std::int64_t i = 0; i < steps; ++i) seen.push_back(at(x, row * steps + i));
          for (std::int64_t i = 0; i < steps; ++i) {
            double sum = at(bias, row % channels);
            for (std::int64_t tap = 0; tap < taps; ++tap)
              sum += seen[count(i + tap)] * at(w, row % channels * taps + tap);
            y.push_back(sum * sigmoid(sum));
          }
          present.insert(present.end(), seen.begin() + steps, seen.end());
        }
        const std::vector<Result> results = run_all(file, inputs);
        check_close(results[0].values, y, 1e-5);
        check_close(results[1].values, present, 1e-12);
      }
    }
  }
}

}  // namespace dyn::testing::linear_attention
