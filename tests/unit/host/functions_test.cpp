// Operators over whole tensors compared with plain loops, on random asymmetric data, on the CPU
// target, on the reference and on a GPU's emulator.

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>

#include "dyn/error.hpp"
#include "dyn/graph.hpp"
#include "tests/support/elements.hpp"
#include "tests/support/seed.hpp"

using namespace dyn;
using testing::elements;
using Integers = std::vector<std::int64_t>;
using Floats = std::vector<float>;

namespace {

std::mt19937_64& generator() {
  static std::mt19937_64 random(testing::test_seed());
  return random;
}

/// Only a few different numbers, so that some are equal.
Floats random_fractions(std::size_t count, int distinct = 1000) {
  Floats floats(count);
  for (float& each : floats)
    each = static_cast<float>(
               std::uniform_int_distribution<int>(-distinct, 2 * distinct)(generator())) /
           64;
  return floats;
}

Integers random_integers(std::size_t count, std::int64_t low, std::int64_t high) {
  Integers integers(count);
  for (std::int64_t& each : integers)
    each = std::uniform_int_distribution<std::int64_t>(low, high)(generator());
  return integers;
}

bool are_equal(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && std::equal(static_cast<const char*>(a.raw()),
                                              static_cast<const char*>(a.raw()) + a.bytes(),
                                              static_cast<const char*>(b.raw()));
}

Options on(const char* device) {
  Options options;
  options.device = device;
  return options;
}

/// Runs the text on all targets, which must agree, and returns the CPU target's outputs.
Outputs run(const std::string& text, const NamedTensors& inputs) {
  Outputs outputs = Graph::from_text(text).run(inputs);
  for (const char* device : {"reference", "emulator"}) {
    CAPTURE(device);
    const Outputs others = Graph::from_text(text, on(device)).run(inputs);
    for (std::size_t i = 0; i < outputs.size(); ++i) CHECK(are_equal(outputs[i], others[i]));
  }
  return outputs;
}

}  // namespace

TEST_CASE("topk takes the k best along an axis, equal ones in their order") {
  for (const bool largest : {true, false}) {
    const std::string text =
        std::string(
            "dyn 1\ndim A\ndim B\ndim C\ngraph g(x: f32[A, B, C]) -> (v: f32[A, C, 3], i: i64[A, "
            "C, 3]) {\n  v, i = topk(transpose(x * 2) perm=[0, 2, 1]) k=3 axis=2") +
        (largest ? "" : " largest=false") + "\n  return v, i\n}\n";
    constexpr std::int64_t rows = 5, columns = 17, depth = 2;
    const Floats x = random_fractions(rows * columns * depth, 5);
    const Outputs outputs = run(text, {{"x", Tensor::view(x, {rows, columns, depth})}});
    CHECK(outputs["v"].shape() == Shape{rows, depth, 3});
    Floats values;
    Integers places;
    for (std::int64_t a = 0; a < rows; ++a) {
      for (std::int64_t c = 0; c < depth; ++c) {
        std::vector<std::pair<float, std::int64_t>> line;
        for (std::int64_t b = 0; b < columns; ++b)
          line.emplace_back(
              2 * x[static_cast<std::size_t>((a * columns + b) * depth + c)] * (largest ? -1 : 1),
              b);
        std::ranges::sort(line);
        for (std::size_t k = 0; k < 3; ++k) {
          values.push_back(line[k].first * (largest ? -1 : 1));
          places.push_back(line[k].second);
        }
      }
    }
    CHECK(elements<float>(outputs["v"]) == values);
    CHECK(elements<std::int64_t>(outputs["i"]) == places);
  }
}

TEST_CASE("cumsum adds up, or multiplies, along an axis, from either end") {
  for (int bits = 0; bits < 8; ++bits) {
    const bool exclusive = (bits & 1) != 0, reverse = (bits & 2) != 0, product = (bits & 4) != 0;
    CAPTURE(bits);
    const std::string text = std::string(
                                 "dyn 1\ndim A\ndim B\ndim C\ngraph g(x: i64[A, B, C]) -> (y: "
                                 "i64[A, B, C]) {\n  y = cumsum(x) axis=1") +
                             (exclusive ? " exclusive=true" : "") +
                             (reverse ? " reverse=true" : "") + (product ? " product=true" : "") +
                             "\n  return y\n}\n";
    const Integers x = random_integers(3 * 7 * 2, -50, 80);
    const Outputs outputs = run(text, {{"x", Tensor::view(x, {3, 7, 2})}});
    Integers expected(x.size());
    for (int a = 0; a < 3; ++a) {
      for (int b = 0; b < 7; ++b) {
        for (int c = 0; c < 2; ++c) {
          std::int64_t result = product ? 1 : 0;
          for (int other = 0; other < 7; ++other) {
            const bool before = reverse ? other > b : other < b;
            if (!before && (other != b || exclusive)) continue;
            const std::int64_t element = x[static_cast<std::size_t>((a * 7 + other) * 2 + c)];
            result = product ? result * element : result + element;
          }
          expected[static_cast<std::size_t>((a * 7 + b) * 2 + c)] = result;
        }
      }
    }
    CHECK(elements<std::int64_t>(outputs["y"]) == expected);
  }
}

TEST_CASE("scatter_elements and scatter_nd update elements and slices") {
  const std::map<std::string, float (*)(float, float)> reductions{
      {"none", [](float, float by) { return by; }},
      {"add", [](float a, float by) { return a + by; }},
      {"mul", [](float a, float by) { return a * by; }},
      {"max", [](float a, float by) { return std::max(a, by); }},
      {"min", [](float a, float by) { return std::min(a, by); }}};
  for (const auto& [name, reduce] : reductions) {
    CAPTURE(name);
    const Floats data = random_fractions(6 * 5), updates = random_fractions(4 * 3);
    const Integers indices = random_integers(4 * 3, -5, 4);
    Floats expected = data;
    for (int r = 0; r < 4; ++r) {
      for (int c = 0; c < 3; ++c) {
        const std::int64_t index = indices[static_cast<std::size_t>(r * 3 + c)];
        float& element =
            expected[static_cast<std::size_t>(r * 5 + (index < 0 ? index + 5 : index))];
        element = reduce(element, updates[static_cast<std::size_t>(r * 3 + c)]);
      }
    }
    const std::string text =
        "dyn 1\ndim A\ndim B\ndim C\ndim R\ngraph g(d: f32[A, B], i: i64[R, C], u: f32[R, C]) -> "
        "(y: f32[A, B]) {\n  y = scatter_elements(d, i, u) axis=1 reduction=" +
        name + "\n  return y\n}\n";
    CHECK(elements<float>(run(text, {{"d", Tensor::view(data, {6, 5})},
                                     {"i", Tensor::view(indices, {4, 3})},
                                     {"u", Tensor::view(updates, {4, 3})}})["y"]) == expected);

    const Integers rows = random_integers(4, -6, 5);
    const Floats slices = random_fractions(4 * 5);
    expected = data;
    for (int r = 0; r < 4; ++r) {
      const std::int64_t row = rows[static_cast<std::size_t>(r)];
      for (int c = 0; c < 5; ++c) {
        float& element = expected[static_cast<std::size_t>((row < 0 ? row + 6 : row) * 5 + c)];
        element = reduce(element, slices[static_cast<std::size_t>(r * 5 + c)]);
      }
    }
    const std::string nd =
        "dyn 1\ndim A\ndim B\ndim R\ngraph g(d: f32[A, B], i: i64[R, 1], u: f32[R, B]) -> (y: "
        "f32[A, B]) {\n  y = scatter_nd(d, i, u) reduction=" +
        name + "\n  return y\n}\n";
    CHECK(elements<float>(run(nd, {{"d", Tensor::view(data, {6, 5})},
                                   {"i", Tensor::view(rows, {4, 1})},
                                   {"u", Tensor::view(slices, {4, 5})}})["y"]) == expected);
  }
}

TEST_CASE("scatter_elements adds rows of one index, and rows of several") {
  constexpr int outer = 3, data_rows = 4, rows = 9, columns = 37;
  const Floats data = random_fractions(outer * data_rows * columns),
               updates = random_fractions(outer * rows * columns);
  Integers indices;
  for (int row = 0; row < outer * rows; ++row) {
    const Integers one = random_integers(1, -data_rows, data_rows - 1);
    Integers several = random_integers(columns, -data_rows, data_rows - 1);
    if (row % 3 == 0) several.assign(columns, one[0]);
    if (row % 3 == 1) several.assign(columns, one[0]), several.back() = 0;
    indices.insert(indices.end(), several.begin(), several.end());
  }
  Floats expected = data;
  for (int row = 0; row < outer * rows; ++row) {
    for (int c = 0; c < columns; ++c) {
      const auto from = static_cast<std::size_t>(row * columns + c);
      const std::int64_t index = indices[from] < 0 ? indices[from] + data_rows : indices[from];
      expected[static_cast<std::size_t>((row / rows * data_rows + index) * columns + c)] +=
          updates[from];
    }
  }
  const auto check = [&](const char* dtype, const Tensor& given) {
    const std::string text =
        std::string("dyn 1\ndim O\ndim A\ndim R\ndim C\ngraph g(d: f32[O, A, C], i: ") + dtype +
        "[O, R, C], u: f32[O, R, C]) -> (y: f32[O, A, C]) {\n  y = scatter_elements(d, i, u) "
        "axis=1 "
        "reduction=add\n  return y\n}\n";
    CHECK(elements<float>(run(text, {{"d", Tensor::view(data, {outer, data_rows, columns})},
                                     {"i", given},
                                     {"u", Tensor::view(updates, {outer, rows, columns})}})["y"]) ==
          expected);
  };
  check("i64", Tensor::view(indices, {outer, rows, columns}));
  const std::vector<std::int32_t> narrow(indices.begin(), indices.end());
  check("i32", Tensor::view(narrow, {outer, rows, columns}));
}

namespace {

void check_wrong_indices(const char* device) {
  CAPTURE(device);
  const Graph graph = Graph::from_text(
      "dyn 1\ndim A\ndim R\ngraph g(d: f32[A], i: i64[R], u: f32[R]) -> (y: f32[A]) {\n  y = "
      "scatter_elements(d, i, u)\n  return y\n}\n",
      on(device));
  const Floats d = random_fractions(4), u = random_fractions(2);
  for (const std::int64_t wrong : {4, -5}) {
    const Integers bad{0, wrong}, good{-4, 3};
    CHECK_THROWS_WITH_AS(graph.run({{"d", Tensor::view(d, {4})},
                                    {"i", Tensor::view(bad, {2})},
                                    {"u", Tensor::view(u, {2})}}),
                         doctest::Contains("out of range"), Error);
    CHECK(elements<float>(graph.run({{"d", Tensor::view(d, {4})},
                                     {"i", Tensor::view(good, {2})},
                                     {"u", Tensor::view(u, {2})}})["y"]) ==
          Floats{u[0], d[1], d[2], u[1]});
  }
}

}  // namespace

TEST_CASE("an index that the data do not have is an error, and the model runs on") {
  check_wrong_indices("cpu");
  check_wrong_indices("emulator");
}
