// Recurrent layers with random options and sizes, beside plain loops in double; their bits on
// several threads, and of a row by itself.

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "dyn/error.hpp"
#include "dyn/graph.hpp"
#include "targets/llvm/jit/isa.hpp"
#include "tests/kernels/compare.hpp"
#include "tests/kernels/random.hpp"
#include "tests/support/seed.hpp"

namespace dyn::testing {
namespace {

using Values = std::vector<double>;
using Function = std::function<double(double)>;

/// A layer's options and sizes; the batch and the steps are dims of the graph.
struct Layer {
  std::string kind = "lstm", direction = "forward", f = "sigmoid", g = "tanh", h = "tanh";
  double clip = 0;
  bool input_forget = false, linear = false;
  bool has_bias = true, has_lengths = true, has_h = true, has_c = true, has_peepholes = true;
  bool constant = true;       ///< the weights; else they are inputs, and the state's size is a dim
  bool side_by_side = false;  ///< the result is [S, B, D * H]
  std::int64_t hidden = 4;

  std::int64_t gates() const { return kind == "lstm" ? 4 : kind == "gru" ? 3 : 1; }
  std::int64_t directions() const { return direction == "bidirectional" ? 2 : 1; }
};

Layer random_layer(Random& random) {
  const std::vector<std::string> kinds{"lstm", "gru", "rnn"},
      directions{"forward", "reverse", "bidirectional"}, functions{"sigmoid", "tanh", "relu"};
  const std::vector<std::int64_t> sizes{1, 3, 4, 7, 8, 15, 16, 17, 24, 32, 33, 48, 65, 100};
  Layer layer;
  layer.kind = random.pick(kinds);
  layer.direction = random.pick(directions);
  const bool usual = random.chance(0.6);
  if (layer.kind == "rnn") layer.f = "tanh";
  if (!usual) {
    layer.f = random.pick(functions);
    layer.g = random.pick(functions);
    layer.h = random.pick(functions);
  }
  // Where gates exceed 1 nothing but a bound keeps states small.
  if (!usual || random.chance(0.4)) layer.clip = random.real(0.2, usual ? 1.5 : 0.7);
  layer.input_forget = random.chance(0.3);
  layer.linear = random.chance(0.5);
  for (bool* has : {&layer.has_bias, &layer.has_lengths, &layer.has_h, &layer.has_c,
                    &layer.has_peepholes, &layer.constant})
    *has = random.chance(0.6);
  layer.side_by_side = random.chance(0.4);
  layer.hidden = random.pick(sizes);
  return layer;
}

std::string attributes_of(const Layer& layer) {
  std::string text = fmt::format("direction={} clip={} f={}", layer.direction, layer.clip, layer.f);
  if (layer.kind != "rnn") text += " g=" + layer.g;
  if (layer.kind == "lstm")
    text += fmt::format(" h={} input_forget={}", layer.h, layer.input_forget);
  if (layer.kind == "gru") text += fmt::format(" linear_before_reset={}", layer.linear);
  return text;
}

/// Inputs that a layer does not have are literals, or the number of steps. Constant weights are
/// given back, so that a test knows them.
std::string text_of(const Layer& layer) {
  const std::string h = layer.constant ? std::to_string(layer.hidden) : "H";
  const std::int64_t d = layer.directions(), gates = layer.gates();
  const std::string state = fmt::format("[{}, B, {}]", d, h),
                    weights = fmt::format("f32[{}, {}, {} * {}]", d, h, gates, h);
  std::string parameters = fmt::format("x: f32[S, B, {} * {}], none: f32[1]", d * gates, h), body,
              returned = "y, last", results;
  std::string arguments = "x, r";
  if (!layer.constant) parameters += ", r: " + weights;
  const auto add = [&](bool has, const std::string& name, const std::string& shape,
                       const char* dtype, const std::string& plain) {
    arguments += ", " + (has ? name : plain);
    if (has) parameters += fmt::format(", {}: {}{}", name, dtype, shape);
  };
  const auto zeros = [](const std::string& shape) { return "expand(0.0) shape=" + shape; };
  const std::string biases = fmt::format("[{}, {} * {}]", d, gates, h),
                    peepholes = fmt::format("[{}, 3 * {}]", d, h);
  const auto named = [&](bool has, const std::string& name, const std::string& shape) {
    if (!has) body += fmt::format("  {} = {}\n", name, zeros(shape));
    add(has, name, shape, "f32", name);
  };
  named(layer.has_bias, "bias", biases);
  if (!layer.has_lengths)
    body +=
        "  steps = range() start=S end=(S + 1) dtype=i32\n  lengths = expand(steps) shape=[B]\n";
  add(layer.has_lengths, "lengths", "[B]", "i32", "lengths");
  named(layer.has_h, "h0", state);
  if (layer.kind == "lstm") {
    named(layer.has_c, "c0", state);
    named(layer.has_peepholes, "p", peepholes);
  }
  const bool lstm = layer.kind == "lstm";
  body += fmt::format("  {}, last{} = {}({}) {}\n", layer.side_by_side ? "all" : "y",
                      lstm ? ", cell" : "", layer.kind, arguments, attributes_of(layer));
  if (layer.side_by_side)
    body += fmt::format(
        "  turned = transpose(all) perm=[0, 2, 1, 3]\n  y = reshape(turned) shape=[S, B, {} * "
        "{}]\n",
        d, h);
  results = (layer.side_by_side ? fmt::format("y: f32[S, B, {} * {}]", d, h)
                                : fmt::format("y: f32[S, {}, B, {}]", d, h)) +
            ", last: f32" + state;
  if (lstm) results += ", cell: f32" + state, returned += ", cell";
  if (layer.constant) {
    body += "  given = add(r, none)\n";
    results += ", given: " + weights, returned += ", given";
  }
  return fmt::format(
      "dyn 1\ndim B in 0..100\ndim S in 0..1000\n{}graph g({}) -> ({}) {{\n{}  "
      "return {}\n}}\n",
      layer.constant ? "weight r: " + weights + " = random 7\n" : "dim H in 1..128\n", parameters,
      results, body, returned);
}

Function function_of(const std::string& word) {
  if (word == "sigmoid") return [](double x) { return 1 / (1 + std::exp(-x)); };
  if (word == "relu") return [](double x) { return std::max(x, 0.0); };
  return [](double x) { return std::tanh(x); };
}

/// The inputs of one run, by name, and what plain loops make of them.
struct Run {
  const Layer& layer;
  std::int64_t batch, steps;
  std::map<std::string, std::vector<float>> floats;
  std::vector<std::int32_t> lengths;
  Values y, last, cell;

  double at(const std::string& name, std::int64_t index) const {
    const auto found = floats.find(name);
    return found == floats.end()
               ? 0
               : static_cast<double>(found->second[static_cast<std::size_t>(index)]);
  }

  void expect() {
    const std::int64_t d_count = layer.directions(), n = layer.hidden;
    y.assign(static_cast<std::size_t>(steps * d_count * batch * n), 0);
    last.assign(static_cast<std::size_t>(d_count * batch * n), 0);
    cell = last;
    for (std::int64_t d = 0; d < d_count; ++d) {
      for (std::int64_t b = 0; b < batch; ++b) expect_row(d, b);
    }
  }

 private:
  void expect_row(std::int64_t d, std::int64_t b) {
    const std::int64_t n = layer.hidden, row = d * batch + b;
    Values h(static_cast<std::size_t>(n)), c(h.size());
    for (std::int64_t i = 0; i < n; ++i) {
      h[static_cast<std::size_t>(i)] = at("h0", row * n + i);
      c[static_cast<std::size_t>(i)] = at("c0", row * n + i);
    }
    const std::int64_t length = lengths[static_cast<std::size_t>(b)];
    const bool reversed = layer.direction == "reverse" || d == 1;
    for (std::int64_t i = 0; i < length; ++i) {
      const std::int64_t t = reversed ? length - 1 - i : i;
      step(d, (t * batch + b) * layer.directions() + d, h, c);
      const std::int64_t place = layer.side_by_side
                                     ? ((t * batch + b) * layer.directions() + d) * n
                                     : ((t * layer.directions() + d) * batch + b) * n;
      std::ranges::copy(h, y.begin() + place);
    }
    std::ranges::copy(h, last.begin() + row * n);
    std::ranges::copy(c, cell.begin() + row * n);
  }

  void step(std::int64_t d, std::int64_t place, Values& h, Values& c) const {
    const std::int64_t n = layer.hidden, columns = layer.gates() * n;
    const Function f = function_of(layer.f), g = function_of(layer.g), out = function_of(layer.h);
    const auto clipped = [&](double x) {
      return layer.clip > 0 ? std::clamp(x, -layer.clip, layer.clip) : x;
    };
    const auto sum = [&](const Values& state, std::int64_t gate, std::int64_t i) {
      double total = at("bias", d * columns + gate * n + i);
      for (std::int64_t k = 0; k < n; ++k)
        total += state[static_cast<std::size_t>(k)] * at("r", (d * n + k) * columns + gate * n + i);
      return total;
    };
    const auto x = [&](std::int64_t gate, std::int64_t i) {
      return at("x", place * columns + gate * n + i);
    };
    const auto peep = [&](std::int64_t which, std::int64_t i) {
      return at("p", d * 3 * n + which * n + i);
    };
    const Values before = h;
    Values seen = before;
    for (std::int64_t i = 0; layer.kind == "gru" && i < n; ++i)
      seen[static_cast<std::size_t>(i)] *= f(clipped(x(1, i) + sum(before, 1, i)));
    for (std::int64_t i = 0; i < n; ++i) {
      double &state = h[static_cast<std::size_t>(i)], &memory = c[static_cast<std::size_t>(i)];
      if (layer.kind == "rnn") state = f(clipped(x(0, i) + sum(before, 0, i)));
      if (layer.kind == "gru") {
        const double update = f(clipped(x(0, i) + sum(before, 0, i)));
        const double inner = layer.linear
                                 ? f(clipped(x(1, i) + sum(before, 1, i))) * sum(before, 2, i)
                                 : sum(seen, 2, i);
        state = (1 - update) * g(clipped(x(2, i) + inner)) +
                update * before[static_cast<std::size_t>(i)];
      }
      if (layer.kind == "lstm") {
        const double in = f(clipped(x(0, i) + sum(before, 0, i) + peep(0, i) * memory));
        const double forget = layer.input_forget
                                  ? 1 - in
                                  : f(clipped(x(2, i) + sum(before, 2, i) + peep(2, i) * memory));
        memory = forget * memory + in * g(clipped(x(3, i) + sum(before, 3, i)));
        state = f(clipped(x(1, i) + sum(before, 1, i) + peep(1, i) * memory)) * out(memory);
      }
    }
  }
};

std::vector<float> random_values(std::int64_t count, double scale, Random& random) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i)
    values.push_back(static_cast<float>(random.real(-0.9, 1.0) * scale));
  return values;
}

Run random_run(const Layer& layer, std::int64_t batch, std::int64_t steps, Random& random) {
  Run run{layer, batch, steps, {}, {}, {}, {}, {}};
  const std::int64_t d = layer.directions(), n = layer.hidden, columns = layer.gates() * n;
  run.floats["x"] = random_values(steps * batch * d * columns, 2, random);
  run.floats["none"] = {0};
  const auto add = [&](bool has, const char* name, std::int64_t count, double scale) {
    if (has) run.floats[name] = random_values(count, scale, random);
  };
  const bool lstm = layer.kind == "lstm";
  add(!layer.constant, "r", d * n * columns, 1.5 / std::sqrt(static_cast<double>(n)));
  add(layer.has_bias, "bias", d * columns, 0.7);
  add(layer.has_h, "h0", d * batch * n, 1);
  add(lstm && layer.has_c, "c0", d * batch * n, 1);
  add(lstm && layer.has_peepholes, "p", d * 3 * n, 0.8);
  for (std::int64_t b = 0; b < batch; ++b)
    run.lengths.push_back(
        static_cast<std::int32_t>(layer.has_lengths ? random.integer(0, steps) : steps));
  return run;
}

Outputs outputs_of(const Graph& graph, const Run& run) {
  const Layer& layer = run.layer;
  const std::int64_t d = layer.directions(), n = layer.hidden, columns = layer.gates() * n;
  const std::map<std::string, Shape> shapes{{"x", {run.steps, run.batch, d * columns}},
                                            {"none", {1}},
                                            {"r", {d, n, columns}},
                                            {"bias", {d, columns}},
                                            {"h0", {d, run.batch, n}},
                                            {"c0", {d, run.batch, n}},
                                            {"p", {d, 3 * n}}};
  NamedTensors inputs;
  for (const auto& [name, values] : run.floats) {
    if (name == "r" && layer.constant) continue;
    inputs.push_back({name, Tensor::view(values, shapes.at(name))});
  }
  if (layer.has_lengths) inputs.push_back({"lengths", Tensor::view(run.lengths, {run.batch})});
  return graph.run(inputs);
}

/// Cells whose gates are not between 0 and 1 make rounding grow from step to step.
double tolerance_of(const Layer& layer) {
  const bool usual = layer.kind == "rnn" || layer.f == "sigmoid";
  return usual && layer.g == "tanh" ? 2e-5 : 2e-4;
}

void check_close(const Tensor& actual, const Values& expected, double tolerance) {
  const auto values = actual.data<float>();
  REQUIRE(values.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double error = std::fabs(static_cast<double>(values[i]) - expected[i]);
    INFO("element ", i, ": ", values[i], " instead of ", expected[i]);
    REQUIRE(error <= tolerance * (1 + std::fabs(expected[i])));
  }
}

/// One row of a run as a run of its own.
Run row_of(const Run& run, std::int64_t row) {
  Run alone{run.layer, 1,  run.steps, run.floats, {run.lengths[static_cast<std::size_t>(row)]},
            {},        {}, {}};
  const auto take = [&](const char* name, std::int64_t outer, std::int64_t inner) {
    const auto found = run.floats.find(name);
    if (found == run.floats.end()) return;
    std::vector<float> values;
    for (std::int64_t i = 0; i < outer; ++i) {
      const auto first = found->second.begin() + (i * run.batch + row) * inner;
      values.insert(values.end(), first, first + inner);
    }
    alone.floats[name] = std::move(values);
  };
  const std::int64_t d = run.layer.directions(), n = run.layer.hidden;
  take("x", run.steps, d * run.layer.gates() * n);
  take("h0", d, n);
  take("c0", d, n);
  return alone;
}

/// The last states of a row, of all directions.
std::vector<float> last_of_row(const Outputs& outputs, const Run& run, std::int64_t row) {
  std::vector<float> values;
  const auto last = outputs["last"].data<float>();
  for (std::int64_t d = 0; d < run.layer.directions(); ++d) {
    const auto first = last.begin() + (d * run.batch + row) * run.layer.hidden;
    values.insert(values.end(), first, first + run.layer.hidden);
  }
  return values;
}

Options options_of(const std::string& isa, int threads) {
  Options options = test_options(isa);
  options.threads = threads;
  return options;
}

using BatchAndSteps = std::vector<std::pair<std::int64_t, std::int64_t>>;

void check_layer(const Layer& layer, const BatchAndSteps& sizes, const std::string& isa,
                 Random& random) {
  const std::string text = text_of(layer);
  CAPTURE(text);
  CAPTURE(layer.hidden);
  std::vector<Graph> graphs;
  for (const int threads : {1, 2, 4})
    graphs.push_back(Graph::from_text(text, options_of(isa, threads)));
  for (const auto& [batch, steps] : sizes) {
    CAPTURE(batch);
    CAPTURE(steps);
    Run run = random_run(layer, batch, steps, random);
    const Outputs outputs = outputs_of(graphs[0], run);
    if (layer.constant) {
      const auto given = outputs["given"].data<float>();
      run.floats["r"].assign(given.begin(), given.end());
    }
    run.expect();
    check_close(outputs["y"], run.y, tolerance_of(layer));
    check_close(outputs["last"], run.last, tolerance_of(layer));
    if (layer.kind == "lstm") check_close(outputs["cell"], run.cell, tolerance_of(layer));
    for (std::size_t i = 1; i < graphs.size(); ++i) {
      const Outputs others = outputs_of(graphs[i], run);
      CHECK(same_bits(others["y"], outputs["y"]));
      CHECK(same_bits(others["last"], outputs["last"]));
    }
    if (batch < 2) continue;
    const std::int64_t row = random.integer(0, batch - 1);
    const Run alone = row_of(run, row);
    CHECK(last_of_row(outputs_of(graphs[0], alone), alone, 0) == last_of_row(outputs, run, row));
  }
  CHECK(graphs[0].kernels_compiled_since_load() == 0);
}

TEST_SUITE("fast") {
  TEST_CASE("recurrent layers of random options and sizes") {
    Random random("recurrence");
    for (const auto& isa : codegen::all_isas()) {
      if (!codegen::cpu_has(isa)) continue;
      CAPTURE(isa.name);
      for (int i = 0, count = test_rounds(30, 3); i < count; ++i)
        check_layer(random_layer(random),
                    {{1, 9},
                     {0, 3},
                     {3, 0},
                     {random.integer(2, 5), 4},
                     {13, 7},
                     {random.integer(14, 40), 30}},
                    isa.name, random);
    }
  }

  TEST_CASE("threads that share the columns of a recurrent layer") {
    Random random("shared columns");
    for (int i = 0, count = test_rounds(12, 3); i < count; ++i) {
      Layer layer = random_layer(random);
      layer.constant = true;
      layer.hidden = random.integer(96, 170);
      check_layer(layer, {{1, 120}, {random.integer(2, 3), 50}}, "", random);
    }
  }

  TEST_CASE("a length of a recurrent layer that is out of range is an error") {
    Layer layer;
    const Graph graph = Graph::from_text(text_of(layer), test_options());
    Random random("lengths out of range");
    Run run = random_run(layer, 3, 5, random);
    CHECK_NOTHROW(outputs_of(graph, run));
    for (const std::int32_t bad : {6, -1, INT32_MAX, INT32_MIN}) {
      run.lengths[1] = bad;
      CHECK_THROWS_AS(outputs_of(graph, run), Error);
    }
  }
}

}  // namespace
}  // namespace dyn::testing
