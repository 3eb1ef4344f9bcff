// Files that `dynrun quantize` writes, beside the same model whose weights are quantised when it is
// loaded, and beside plain loops.

#include "src/cli/quantize/quantization.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "dyn/error.hpp"
#include "dyn/graph.hpp"
#include "tests/support/seed.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dyn::testing {
namespace {

/// Matmuls by a weight and by a turned one, a convolution, a table that is multiplied too, and a
/// depth of two.
constexpr const char* mixed_text =
    "dyn 1\ndim B in 1..9 hint 2\nweight w: f32[36, 40] = random 1\nweight v: f32[12, 40] = random "
    "2\n"
    "weight f: f32[3, 2, 12, 20] = random 3\nweight t: f32[50, 20] = random 4\n"
    "weight o: f32[2, 5] = random 5\n"
    "graph g(x: f32[B, 36], i: f32[B, 5, 6, 12], ids: i64[B], u: f32[B, 2]) -> "
    "(y: f32[B, 12], c: f32[B, 3, 5, 20], s: f32[B, 50], r: f32[B, 5]) {\n"
    "  h = relu(matmul(x, w))\n  y = matmul(h, v) transpose_b=true\n"
    "  c = conv(i, f)\n  e = gather(t, ids) axis=0\n  s = matmul(e, t) transpose_b=true\n"
    "  r = matmul(u, o)\n  return y, c, s, r\n}\n";

struct QuantizedFile {
  TemporaryFolder folder;
  cli::Arguments arguments;

  QuantizedFile(const std::string& text, const std::string& weights, const std::string& compute) {
    std::ofstream(path("model.dyn")) << text;
    arguments.model = path("model.dyn");
    arguments.quantize.weights = weights;
    arguments.quantize.compute = compute;
    arguments.options.cache_dir = "none";
  }
  std::string path(const std::string& name) const { return (folder.path() / name).string(); }

  /// What was written, with its weights in memory.
  Graph graph(cli::Quantization& quantization) const {
    const cli::ModelText made = quantization.make("w.safetensors");
    Options options;
    options.cache_dir = "none";
    return Graph::from_memory(made.text, {{"w.safetensors", made.held.at("w.safetensors")}},
                              options);
  }
};

NamedTensors mixed_inputs(std::mt19937_64& random) {
  std::uniform_real_distribution<float> number(-1, 2);
  std::uniform_int_distribution<std::int64_t> row(0, 49);
  Tensor x(DType::f32, {3, 36}), i(DType::f32, {3, 5, 6, 12}), ids(DType::i64, {3}),
      u(DType::f32, {3, 2});
  for (Tensor* tensor : {&x, &i, &u}) {
    for (float& element : tensor->mutable_data<float>()) element = number(random);
  }
  for (std::int64_t& element : ids.mutable_data<std::int64_t>()) element = row(random);
  return {{"x", x}, {"i", i}, {"ids", ids}, {"u", u}};
}

double distance(const Tensor& expected, const Tensor& found) {
  cli::RelativeError error;
  error.add(expected, found);
  return error.value();
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a quantised file gives what the model gives that is quantised at load") {
    struct Case {
      const char *weights, *compute, *kept, *precision;
    };
    std::mt19937_64 random(test_seed());
    for (const Case& test : {Case{"i4", "f32", "i4", "f32"}, Case{"i8", "i8", "", "i8"},
                             Case{"i4", "i8", "i4", "i8"}, Case{"i4", "bf16", "i4", "bf16"}}) {
      CAPTURE(test.weights);
      CAPTURE(test.compute);
      QuantizedFile file(mixed_text, test.weights, test.compute);
      constexpr int groups[] = {16, 32, 64};
      file.arguments.quantize.group = groups[random() % std::size(groups)];
      cli::Quantization quantization(file.arguments);
      const Graph written = file.graph(quantization);
      Options at_load, plain;
      at_load.cache_dir = plain.cache_dir = "none";
      at_load.weights = test.kept;
      at_load.weight_group = file.arguments.quantize.group;
      at_load.precision = test.precision;
      const NamedTensors inputs = mixed_inputs(random);
      const Outputs found = written.run(inputs),
                    exact = Graph::from_text(mixed_text, plain).run(inputs),
                    expected = Graph::from_text(mixed_text, at_load).run(inputs);
      // Where a CPU has no instruction for bf16, a model in it is in f32, a file still rounds.
      const double tolerance = std::string(test.compute) == "bf16" ? 0.01 : 1e-5;
      CHECK(distance(expected["y"], found["y"]) < tolerance);
      CHECK(distance(exact["y"], found["y"]) > 1e-4);
      // Convolutions by bytes have weights of i8 in files.
      if (std::string(test.weights) == test.kept && std::string(test.compute) == "i8")
        CHECK(distance(exact["c"], found["c"]) < 0.03);
      else
        CHECK(distance(expected["c"], found["c"]) < tolerance);
      for (const char* kept : {"s", "r"}) CHECK(distance(exact[kept], found[kept]) < 1e-6);
    }
  }

  TEST_CASE("errors are those of the values, layer by layer and of the outputs") {
    QuantizedFile file(mixed_text, "i4", "f32");
    file.arguments.quantize.exclude = {"v"};
    cli::Quantization quantization(file.arguments);
    file.graph(quantization);
    const std::vector<cli::Row> layers = quantization.layer_rows(),
                                outputs = quantization.output_rows();
    const auto cell = [](const cli::Row& row, const std::string& name) {
      const auto found = std::ranges::find(row, name, &std::pair<std::string, cli::Cell>::first);
      REQUIRE(found != row.end());
      return found->second;
    };
    const auto number = [&](const cli::Row& row) {
      return std::get<double>(cell(row, "relative_error"));
    };
    REQUIRE(layers.size() == 5);
    for (const cli::Row& layer : layers) {
      const auto weight = std::get<std::string>(cell(layer, "weight"));
      CAPTURE(weight);
      CHECK(std::get<std::string>(cell(layer, "format")) ==
            (weight == "w" || weight == "f" ? "i4 in 32" : "f32"));
      const bool is_exact = weight == "t" || weight == "o";
      if (is_exact)
        CHECK(number(layer) < 1e-6);
      else
        CHECK((number(layer) > 0.01 && number(layer) < 0.2));
    }
    REQUIRE(outputs.size() == 4);
    CHECK(number(outputs[0]) == doctest::Approx(number(layers[1])));
    CHECK(number(outputs[1]) == doctest::Approx(number(layers[2])));
  }

  TEST_CASE("samples decide how far left sides reach, once and for all") {
    const std::string text =
        "dyn 1\ndim B in 1..9\nweight w: f32[8, 4] = random 7\n"
        "graph g(x: f32[B, 8]) -> (y: f32[B, 4]) {\n  h = x * 2\n  y = matmul(h, w)\n  return "
        "y\n}\n";
    QuantizedFile file(text, "i8", "i8");
    std::filesystem::create_directories(file.folder.path() / "a");
    std::filesystem::create_directories(file.folder.path() / "b");
    Tensor low(DType::f32, {2, 8}), high(DType::f32, {1, 8});
    std::ranges::fill(low.mutable_data<float>(), -0.5F);
    std::ranges::fill(high.mutable_data<float>(), 1.5F);
    cli::write_npy(file.path("a/x.npy"), low);
    cli::write_npy(file.path("b/x.npy"), high);
    file.arguments.quantize.calibrate = file.folder.path().string();
    cli::Quantization quantization(file.arguments);
    const Graph graph = file.graph(quantization);
    // h reaches 3 in the samples: 10 is cut off there, whatever else the row holds.
    std::vector<float> row(8, 0.0F);
    row[0] = 5;
    const Tensor cut = graph.run({{"x", Tensor::view(row, {1, 8})}})["y"];
    row[0] = 1.5;
    const Tensor whole = graph.run({{"x", Tensor::view(row, {1, 8})}})["y"];
    CHECK(distance(whole, cut) < 1e-6);
    row[0] = 0.75;
    const Tensor half = graph.run({{"x", Tensor::view(row, {1, 8})}})["y"];
    for (std::size_t i = 0; i < 4; ++i)
      CHECK(half.data<float>()[i] ==
            doctest::Approx(whole.data<float>()[i] * 64 / 127).epsilon(1e-4));
  }

  TEST_CASE("what cannot be quantised so is an error that says why") {
    const auto message_of = [](QuantizedFile& file) -> std::string {
      try {
        cli::Quantization quantization(file.arguments);
        file.graph(quantization);
      } catch (const Error& error) { return error.message(); }
      return "no error";
    };
    const auto has = [](const std::string& text, const std::string& part) {
      INFO(text);
      CHECK(text.find(part) != std::string::npos);
    };
    QuantizedFile bytes(mixed_text, "i8", "f32");
    has(message_of(bytes), "--compute i8");
    QuantizedFile excluded(mixed_text, "i4", "f32");
    excluded.arguments.quantize.exclude = {"nowhere*"};
    has(message_of(excluded), "no layer and no weight has such a name");
    excluded.arguments.quantize.exclude = {"*"};
    has(message_of(excluded), "no product of f32 by a constant weight");
    QuantizedFile samples(mixed_text, "i4", "f32");
    samples.arguments.quantize.calibrate = samples.path("nowhere");
    has(message_of(samples), "--calibrate");
    samples.arguments.quantize.calibrate = samples.folder.path().string();
    has(message_of(samples), "there is no NAME.npy");
    QuantizedFile infinite(
        "dyn 1\ndim B in 1..9 hint 1\nweight w: f32[4, 4] = splat inf\n"
        "graph g(x: f32[B, 4]) -> (y: f32[B, 4]) {\n  y = matmul(x, w)\n  return y\n}\n",
        "i4", "f32");
    has(message_of(infinite), "not finite");
  }
}

}  // namespace dyn::testing
