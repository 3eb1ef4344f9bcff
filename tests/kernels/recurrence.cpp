// Recurrent layers with random options and sizes, beside plain loops in double; their bits on
// several threads, and of a row by itself.

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <vector>

#include <doctest/doctest.h>

#include "dyn/error.hpp"
#include "dyn/graph.hpp"
#include "src/runtime/load/model.hpp"
#include "targets/llvm/jit/isa.hpp"
#include "tests/kernels/compare.hpp"
#include "tests/kernels/recurrence_layer.hpp"
#include "tests/support/seed.hpp"

namespace dyn::testing {
namespace {

using Values = std::vector<double>;
using Function = std::function<double(double)>;

Function function_of(const Activation& activation) {
  const std::string& name = activation.name;
  const double alpha = activation.alpha, beta = activation.beta;
  if (name == "sigmoid") return [](double x) { return 1 / (1 + std::exp(-x)); };
  if (name == "relu") return [](double x) { return std::max(x, 0.0); };
  if (name == "affine") return [=](double x) { return alpha * x + beta; };
  if (name == "leaky_relu") return [=](double x) { return x < 0 ? alpha * x : x; };
  if (name == "thresholded_relu") return [=](double x) { return x >= alpha ? x : 0; };
  if (name == "scaled_tanh") return [=](double x) { return alpha * std::tanh(beta * x); };
  if (name == "hard_sigmoid")
    return [=](double x) { return std::max(0.0, std::min(1.0, alpha * x + beta)); };
  if (name == "elu") return [=](double x) { return x < 0 ? alpha * (std::exp(x) - 1) : x; };
  if (name == "softsign") return [](double x) { return x / (1 + std::fabs(x)); };
  if (name == "softplus") return [](double x) { return std::log1p(std::exp(x)); };
  return [](double x) { return std::tanh(x); };
}

/// What stands for a state where weights are integers: as DynamicQuantizeLinear makes it of a row,
/// in f32.
Values quantised(const Values& state) {
  float least = 0, greatest = 0;
  for (const double x : state) {
    least = std::min(least, static_cast<float>(x));
    greatest = std::max(greatest, static_cast<float>(x));
  }
  const float reach = (greatest - least) / 255, scale = reach == 0 ? 1 : reach;
  const float zero = std::nearbyint(-least / scale);
  Values codes;
  for (const double x : state) {
    const float code = std::nearbyint(static_cast<float>(x) / scale) + zero;
    codes.push_back(
        (static_cast<double>(std::clamp(code, 0.0f, 255.0f)) - static_cast<double>(zero)) *
        static_cast<double>(scale));
  }
  return codes;
}

/// The inputs of one run, by name, and what plain loops make of them.
struct Run {
  const Layer& layer;
  std::int64_t batch, steps;
  std::map<std::string, std::vector<float>> floats;
  std::vector<std::int32_t> lengths;
  Values y, last, cell;
  double nearest_jump = std::numeric_limits<double>::infinity();  ///< of a function's argument

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
    nearest_jump = std::numeric_limits<double>::infinity();
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

  /// The function, which tells `nearest_jump` what it is asked for where it has a jump.
  Function watched(const Activation& activation) {
    Function plain = function_of(activation);
    if (activation.name != "thresholded_relu") return plain;
    return [this, plain, jump = activation.alpha](double x) {
      nearest_jump = std::min(nearest_jump, std::fabs(x - jump));
      return plain(x);
    };
  }

  void step(std::int64_t d, std::int64_t place, Values& h, Values& c) {
    const std::int64_t n = layer.hidden, columns = layer.gates() * n;
    const Function f = watched(layer.f), g = watched(layer.g), out = watched(layer.h);
    const auto clipped = [&](double x) {
      return layer.clip > 0 ? std::clamp(x, -layer.clip, layer.clip) : x;
    };
    const auto sum = [&](const Values& state, std::int64_t gate, std::int64_t i) {
      const std::int64_t column = d * columns + gate * n + i;
      const Values read = layer.quantised ? quantised(state) : state;
      double total = 0;
      for (std::int64_t k = 0; k < n; ++k)
        total += read[static_cast<std::size_t>(k)] * at("r", (d * n + k) * columns + gate * n + i);
      return total * (layer.quantised ? at("s", column) : 1) + at("bias", column);
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
  add(layer.quantised, "s", d * columns, 0.015 / std::sqrt(static_cast<double>(n)));
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
                                            {"p", {d, 3 * n}},
                                            {"s", {d, columns}}};
  NamedTensors inputs;
  for (const auto& [name, values] : run.floats) {
    if (name == "r" && layer.constant) continue;
    inputs.push_back({name, Tensor::view(values, shapes.at(name))});
  }
  if (layer.has_lengths) inputs.push_back({"lengths", Tensor::view(run.lengths, {run.batch})});
  return graph.run(inputs);
}

/// Where states are quantised, a rounding decides between neighbours, unless they are given.
bool has_neighbours(const Layer& layer, std::int64_t steps) {
  const bool given = steps <= 1 && (layer.kind != "gru" || layer.linear);
  return layer.quantised && !given;
}

/// Cells whose gates are not between 0 and 1 make rounding grow from step to step.
double tolerance_of(const Layer& layer, std::int64_t steps) {
  if (has_neighbours(layer, steps)) return 2e-2;
  const bool usual = layer.kind == "rnn" || layer.f.name == "sigmoid";
  return usual && layer.g.name == "tanh" ? 2e-5 : 3e-4;
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

Options options_of(const Layer& layer, const std::string& isa, int threads) {
  Options options = test_options(isa);
  options.threads = threads;
  options.random_weights = layer.quantised;
  return options;
}

using BatchAndSteps = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// How far off the argument of a function may be: a few roundings of its sum, and what its states
/// are off.
double argument_error(const Layer& layer, std::int64_t steps) {
  const bool given = steps <= 1 && !has_neighbours(layer, steps);
  return given ? 4e-6 : tolerance_of(layer, steps);
}

/// Whether the layer turns a few roundings into more than a tenth of what is tolerated, as where a
/// function jumps there. Unbounded gates can be a chaotic map, whose results no arithmetic in f32
/// gives.
bool is_shaken(const Run& run) {
  if (run.nearest_jump < argument_error(run.layer, run.steps)) return true;
  Run moved = run;
  std::vector<float>& x = moved.floats["x"];
  for (std::size_t i = 0; i < x.size(); ++i) x[i] *= i % 2 == 0 ? 1 + 0x1p-22f : 1 - 0x1p-22f;
  moved.expect();
  for (std::size_t i = 0; i < run.y.size(); ++i) {
    const double tolerated = tolerance_of(run.layer, run.steps) * (1 + std::fabs(run.y[i]));
    if (!(std::fabs(moved.y[i] - run.y[i]) <= tolerated / 10)) return true;
  }
  return false;
}

/// Compares with the layer in double, unless it is shaken; false then.
bool is_compared(Run& run, const Outputs& outputs) {
  const Layer& layer = run.layer;
  if (layer.constant) {
    const auto given = outputs["given"].data<float>();
    run.floats["r"].assign(given.begin(), given.end());
  }
  run.expect();
  if (is_shaken(run)) return false;
  const double tolerance = tolerance_of(layer, run.steps);
  check_close(outputs["y"], run.y, tolerance);
  check_close(outputs["last"], run.last, tolerance);
  if (layer.kind == "lstm") check_close(outputs["cell"], run.cell, tolerance);
  return true;
}

/// Returns how many runs were compared with the layer in double: all but the shaken ones.
int check_layer(const Layer& layer, const BatchAndSteps& sizes, const std::string& isa,
                Random& random) {
  const std::string text = text_of(layer);
  CAPTURE(text);
  CAPTURE(layer.hidden);
  std::vector<Graph> graphs;
  for (const int threads : {1, 2, 4})
    graphs.push_back(Graph::from_text(text, options_of(layer, isa, threads)));
  Options plain = options_of(layer, "", 1);
  plain.device = "reference";
  const Graph reference = Graph::from_text(text, plain);
  int compared = 0;
  for (const auto& [batch, steps] : sizes) {
    CAPTURE(batch);
    CAPTURE(steps);
    Run run = random_run(layer, batch, steps, random);
    const Outputs outputs = outputs_of(graphs[0], run);
    if (is_compared(run, outputs)) {
      ++compared;
      if (batch <= 3)
        check_close(outputs_of(reference, run)["y"], run.y, tolerance_of(layer, steps));
    }
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
  return compared;
}

void check_all_on_device(const Graph& graph) {
  const runtime::Model& model = *graph.model();
  for (std::size_t group = 0; group < model.problems().size(); ++group) {
    INFO(model.problems()[group].name);
    CHECK(model.kernel(group).space() == rkernel::Space::Device);
  }
}

/// As check_layer(), on the emulator, in f32.
int check_on_gpu(const Layer& layer, const BatchAndSteps& sizes, Random& random) {
  const std::string text = text_of(layer);
  CAPTURE(text);
  CAPTURE(layer.hidden);
  Options options = options_of(layer, "", 2);
  options.device = "emulator";
  const Graph graph = Graph::from_text(text, options);
  check_all_on_device(graph);
  int compared = 0;
  for (const auto& [batch, steps] : sizes) {
    CAPTURE(batch);
    CAPTURE(steps);
    Run run = random_run(layer, batch, steps, random);
    const Outputs outputs = outputs_of(graph, run);
    compared += is_compared(run, outputs) ? 1 : 0;
    if (batch < 2) continue;
    const std::int64_t row = random.integer(0, batch - 1);
    const Run alone = row_of(run, row);
    CHECK(last_of_row(outputs_of(graph, alone), alone, 0) == last_of_row(outputs, run, row));
  }
  return compared;
}

TEST_SUITE("fast") {
  TEST_CASE("recurrent layers of random options and sizes") {
    Random random("recurrence");
    for (const auto& isa : codegen::all_isas()) {
      if (!codegen::cpu_has(isa)) continue;
      CAPTURE(isa.name);
      int compared = 0;
      const int count = test_rounds(30, 3);
      for (int i = 0; i < count; ++i)
        compared += check_layer(random_layer(random),
                                {{1, 9},
                                 {0, 3},
                                 {3, 0},
                                 {random.integer(2, 3), 4},
                                 {13, 7},
                                 {random.integer(14, 40), 30}},
                                isa.name, random);
      CHECK(compared >= 2 * count);  // runs without rows or steps are always
    }
  }

  TEST_CASE("recurrent layers of random options and sizes on a GPU") {
    Random random("recurrence on a GPU");
    int compared = 0;
    const int count = test_rounds(40, 6);
    for (int i = 0; i < count; ++i)
      compared += check_on_gpu(random_layer(random),
                               {{1, 5}, {0, 3}, {3, 0}, {random.integer(2, 40), 7}}, random);
    // More columns than threads, and more rows than one block has.
    for (const char* kind : {"lstm", "gru", "rnn"}) {
      Layer layer;
      layer.kind = kind;
      layer.direction = "bidirectional";
      layer.hidden = 259;
      compared += check_on_gpu(layer, {{2, 3}}, random);
      layer.hidden = 3;
      compared += check_on_gpu(layer, {{150, 4}}, random);
      // Threads have several rows.
      layer.hidden = 21;
      compared += check_on_gpu(layer, {{1500, 2}, {3000, 2}}, random);
    }
    CHECK(compared >= 2 * count + 9);  // runs without rows or steps are always
  }

  TEST_CASE("recurrent layers by weights of i8, whose states are quantised") {
    Random random("quantised recurrence");
    for (const auto& isa : codegen::all_isas()) {
      if (!codegen::cpu_has(isa)) continue;
      CAPTURE(isa.name);
      int compared = 0;
      const int count = test_rounds(30, 4);
      for (int i = 0; i < count; ++i) {
        Layer layer = random_layer(random);
        layer.constant = layer.quantised = true;
        layer.symbolic = false;
        if (i % 4 == 3) layer.hidden = random.integer(96, 170);  // threads share its columns
        compared += check_layer(
            layer, {{1, 1}, {random.integer(2, 20), 1}, {1, 9}, {0, 3}, {13, 7}}, isa.name, random);
      }
      CHECK(compared >= 2 * count);  // runs of one step, and those without rows, nearly always
    }
  }

  TEST_CASE("threads that share the columns of a recurrent layer") {
    Random random("shared columns");
    int compared = 0;
    for (int left = test_rounds(12, 3); left > 0; left = compared > 0 ? left - 1 : left) {
      Layer layer = random_layer(random);
      layer.symbolic = false;
      layer.hidden = random.integer(96, 170);
      compared += check_layer(layer, {{1, 120}, {random.integer(2, 3), 50}}, "", random);
    }
  }

  TEST_CASE("recurrent layers in 16 bits, and with narrow weights") {
    Random random("narrow recurrence");
    const auto check = [&](const Layer& layer, const std::string& precision, double tolerance) {
      Options options = test_options();
      options.weights = precision;
      const std::string text = text_of(layer);
      CAPTURE(text);
      CAPTURE(precision);
      const Graph graph = Graph::from_text(text, options);
      for (const std::int64_t batch : {1, 9}) {
        Run run = random_run(layer, batch, 6, random);
        const Outputs outputs = outputs_of(graph, run);
        if (layer.constant) {
          const auto given = outputs["given"].data<float>();
          run.floats["r"].assign(given.begin(), given.end());
        }
        run.expect();
        check_close(outputs["y"], run.y, tolerance);
      }
    };
    Layer layer;
    layer.hidden = 35;
    for (const char* kind : {"lstm", "gru", "rnn"}) {
      layer.kind = kind;
      for (const bool constant : {true, false}) {
        layer.constant = constant;
        layer.dtype = "f16";
        check(layer, "f32", 4e-3);
        layer.dtype = "bf16";
        check(layer, "f32", 4e-2);
        layer.dtype = "f32";
      }
      layer.constant = true;
      for (const char* precision : {"f16", "bf16", "i8"}) check(layer, precision, 2e-2);
    }
  }

  TEST_CASE("a length of a recurrent layer that is out of range is an error") {
    Layer layer;
    Random random("lengths out of range");
    for (const char* device : {"cpu", "emulator"}) {
      CAPTURE(device);
      Options options = test_options();
      options.device = device;
      const Graph graph = Graph::from_text(text_of(layer), options);
      Run run = random_run(layer, 3, 5, random);
      CHECK_NOTHROW(outputs_of(graph, run));
      for (const std::int32_t bad : {6, -1, INT32_MAX, INT32_MIN}) {
        run.lengths[1] = bad;
        CHECK_THROWS_AS(outputs_of(graph, run), Error);
      }
    }
  }
}

}  // namespace
}  // namespace dyn::testing
