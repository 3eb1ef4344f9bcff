// tree_ensemble on the CPU target and on the reference, beside plain loops, on random trees.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <random>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "dyn/graph.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/runtime/load/support.hpp"

namespace dyn::testing::trees {
namespace {

std::mt19937_64& random() {
  static std::mt19937_64 generator(test_seed());
  return generator;
}

std::int32_t drawn(std::int32_t low, std::int32_t high) {
  return std::uniform_int_distribution<std::int32_t>(low, high)(random());
}

/// The operands of tree_ensemble. All numbers are multiples of 1/64, so that sums are exact in any
/// dtype, and some thresholds are met.
struct Trees {
  std::int32_t columns = 3, results = 1;
  std::string aggregate = "sum";
  std::vector<std::int32_t> roots, features, children, targets;
  std::vector<double> thresholds, weights;

  std::int32_t count() const { return static_cast<std::int32_t>(features.size()); }

  void add(std::int32_t feature, double threshold, std::int32_t no, std::int32_t yes) {
    features.push_back(feature);
    thresholds.push_back(threshold);
    children.insert(children.end(), {no, yes});
  }

  void add_leaf() {
    const auto first = static_cast<std::int32_t>(weights.size());
    const std::int32_t entries = results == 1 ? 1 : drawn(0, results);
    for (std::int32_t i = 0; i < entries; ++i) {
      targets.push_back(drawn(0, results - 1));
      weights.push_back(drawn(-64, 64) / 64.0);
    }
    add(-1, 0, first, static_cast<std::int32_t>(weights.size()));
  }

  /// Nodes of a tree in the order in which they are drawn; now and then two nodes have one child.
  void add_tree(std::int32_t inner, bool is_chain) {
    roots.push_back(count());
    std::int32_t open = 1, end = count() + 1;
    for (std::int32_t i = 0; i < inner; ++i) {
      const std::int32_t feature = drawn(0, columns - 1), yes = is_chain ? end + 1 : end;
      const bool shares = !is_chain && open > 1 && drawn(0, 9) == 0;
      const std::int32_t no = shares ? count() + 1 : is_chain ? end : end + 1;
      add(drawn(0, 3) == 0 ? -2 - feature : feature, drawn(-8, 8) / 4.0, no, yes);
      end += shares ? 1 : 2;
      open += shares ? 0 : 1;
      if (is_chain && i + 1 < inner) {
        add_leaf();
        --open;
      }
    }
    for (; open > 0; --open) add_leaf();
  }
};

template <class T>
std::string bytes_of(const std::vector<T>& list) {
  return {reinterpret_cast<const char*>(list.data()), list.size() * sizeof(T)};
}

template <class T>
std::string file_of(const Trees& trees) {
  const char* number = sizeof(T) == 4 ? "F32" : "F64";
  std::string header, data;
  const auto add = [&](const char* name, const char* dtype, const std::string& shape,
                       const std::string& bytes) {
    header += fmt::format(R"({}"{}":{{"dtype":"{}","shape":{},"data_offsets":[{},{}]}})",
                          header.empty() ? "{" : ",", name, dtype, shape, data.size(),
                          data.size() + bytes.size());
    data += bytes;
  };
  const std::string nodes = fmt::format("[{}]", trees.count()),
                    entries = fmt::format("[{}]", trees.weights.size());
  const auto numbers = [](const std::vector<double>& list) {
    return bytes_of(std::vector<T>(list.begin(), list.end()));
  };
  add("thresholds", number, nodes, numbers(trees.thresholds));
  add("weights", number, entries, numbers(trees.weights));
  add("roots", "I32", fmt::format("[{}]", trees.roots.size()), bytes_of(trees.roots));
  add("features", "I32", nodes, bytes_of(trees.features));
  add("children", "I32", fmt::format("[{},2]", trees.count()), bytes_of(trees.children));
  add("targets", "I32", entries, bytes_of(trees.targets));
  return safetensors_file(header + "}", data);
}

template <class T>
Graph load(const Trees& trees, const Options& options) {
  const std::string number = sizeof(T) == 4 ? "f32" : "f64", file = file_of<T>(trees);
  const std::string text = fmt::format(
      "dyn 1\ndim B in 0..10000\ndim F\nweights \"w.safetensors\"\ngraph g(x: {0}[B, F]) -> (y: "
      "{0}[B, {1}]) {{\n  y = tree_ensemble(x, roots: i32[{2}], features: i32[{3}], thresholds: "
      "{0}[{3}], children: i32[{3}, 2], targets: i32[{4}], weights: {0}[{4}]) results={1} "
      "aggregate={5}\n  return y\n}}\n",
      number, trees.results, trees.roots.size(), trees.count(), trees.weights.size(),
      trees.aggregate);
  return Graph::from_memory(text, {{"w.safetensors", file}}, options);
}

template <class T>
std::vector<T> drawn_rows(std::int64_t rows, std::int64_t columns) {
  std::vector<T> x(static_cast<std::size_t>(rows * columns));
  for (T& each : x)
    each =
        drawn(0, 9) == 0 ? std::numeric_limits<T>::quiet_NaN() : static_cast<T>(drawn(-10, 10)) / 4;
  return x;
}

template <class T>
std::vector<T> expected(const Trees& trees, const std::vector<T>& x, std::int64_t rows,
                        std::int64_t columns) {
  std::vector<T> y;
  for (std::int64_t row = 0; row < rows; ++row) {
    std::vector<std::vector<double>> given(static_cast<std::size_t>(trees.results));
    for (std::int32_t node : trees.roots) {
      while (trees.features[static_cast<std::size_t>(node)] != -1) {
        const auto at = static_cast<std::size_t>(node);
        const std::int32_t feature = trees.features[at];
        const auto of = [&](std::int32_t column) {
          return static_cast<double>(x[static_cast<std::size_t>(row * columns + column)]);
        };
        const double asked = feature >= 0 ? of(feature) : -of(-2 - feature);
        node = trees.children[2 * at + (asked <= trees.thresholds[at] ? 1 : 0)];
      }
      const auto at = static_cast<std::size_t>(node);
      for (std::int32_t e = trees.children[2 * at]; e < trees.children[2 * at + 1]; ++e)
        given[static_cast<std::size_t>(trees.targets[static_cast<std::size_t>(e)])].push_back(
            trees.weights[static_cast<std::size_t>(e)]);
    }
    for (const std::vector<double>& numbers : given) {
      double result = 0;
      if (trees.aggregate == "sum")
        for (const double each : numbers) result += each;
      else if (!numbers.empty())
        result = trees.aggregate == "min" ? *std::ranges::min_element(numbers)
                                          : *std::ranges::max_element(numbers);
      y.push_back(static_cast<T>(result));
    }
  }
  return y;
}

Options on_device(const std::string& device) {
  Options options;
  options.device = device;
  return options;
}

template <class T>
void check(const Trees& trees) {
  const Graph graph = load<T>(trees, {}), reference = load<T>(trees, on_device("reference"));
  for (const std::int64_t rows : {1, 0, 5, 16, 33, 600}) {
    CAPTURE(rows);
    const std::int64_t columns = trees.columns + rows % 2;
    const std::vector<T> x = drawn_rows<T>(rows, columns);
    const std::vector<T> y = expected(trees, x, rows, columns);
    for (const Graph* each : {&graph, &reference}) {
      if (each == &reference && rows > 40) continue;
      const Outputs outputs = each->run({{"x", Tensor::view(x, {rows, columns})}});
      CHECK(outputs[0].shape() == Shape{rows, trees.results});
      const auto data = outputs[0].data<T>();
      CHECK(std::vector<T>(data.begin(), data.end()) == y);
    }
  }
}

}  // namespace

TEST_CASE("random trees are walked like plain loops do, by any number of rows") {
  const int rounds = test_rounds(60, 4);
  for (int round = 0; round < rounds; ++round) {
    CAPTURE(round);
    Trees trees;
    trees.columns = drawn(1, 9);
    trees.results = drawn(0, 1) == 0 ? 1 : drawn(2, 5);
    trees.aggregate =
        std::vector<std::string>{"sum", "sum", "min", "max"}[static_cast<std::size_t>(drawn(0, 3))];
    const std::int32_t count = drawn(1, 40);
    for (std::int32_t i = 0; i < count; ++i) trees.add_tree(drawn(0, 30), drawn(0, 3) == 0);
    check<float>(trees);
    check<double>(trees);
  }
}

TEST_CASE("a tree of more nodes and columns than 32 bits address together is walked too") {
  Trees trees;
  trees.columns = 1 << 17;
  trees.roots = {0};
  for (std::int32_t i = 0; i < trees.columns; ++i)
    trees.add(i, drawn(-8, 8) / 4.0, 2 * i + 1, 2 * i + 2);
  for (std::int32_t i = 0; i <= trees.columns; ++i) trees.add_leaf();
  const std::vector<float> x = drawn_rows<float>(3, trees.columns);
  const Outputs outputs = load<float>(trees, {}).run({{"x", Tensor::view(x, {3, trees.columns})}});
  const auto y = outputs[0].data<float>();
  CHECK(std::vector<float>(y.begin(), y.end()) == expected(trees, x, 3, trees.columns));
}

TEST_CASE("threads share the rows, of which there may be more than a cache holds") {
  constexpr std::int64_t rows = 9001;
  Trees trees;
  trees.results = 2;
  for (int i = 0; i < 50; ++i) trees.add_tree(40, i % 5 == 0);
  const std::vector<float> x = drawn_rows<float>(rows, 3), y = expected(trees, x, rows, 3);
  Options one, several;
  one.threads = 1;
  several.threads = 4;
  const auto run = [&](const Options& options) {
    const Outputs outputs = load<float>(trees, options).run({{"x", Tensor::view(x, {rows, 3})}});
    const auto data = outputs[0].data<float>();
    return std::vector<float>(data.begin(), data.end());
  };
  CHECK(run(one) == y);
  CHECK(run(several) == y);
}

TEST_CASE("trees that are not as they are documented are an error of the run") {
  Trees sound;
  for (int i = 0; i < 3; ++i) sound.add_tree(5, false);
  const std::vector<float> x(6, 0.5F);
  const std::vector<std::pair<const char*, std::function<void(Trees&)>>> breaks{
      {"a child before its parent", [](Trees& trees) { trees.children[2] = 0; }},
      {"a child beyond all nodes", [](Trees& trees) { trees.children[1] = trees.count(); }},
      {"a negative child", [](Trees& trees) { trees.children[0] = -7; }},
      {"a node of two trees", [](Trees& trees) { trees.roots[1] = trees.roots[0]; }},
      {"a negative root", [](Trees& trees) { trees.roots[0] = -1; }},
      {"a root beyond all nodes", [](Trees& trees) { trees.roots[0] = trees.count(); }},
      {"a column that x does not have", [](Trees& trees) { trees.features[0] = 3; }},
      {"a negated one", [](Trees& trees) { trees.features[0] = -5; }},
      {"a target beyond the results", [](Trees& trees) { std::ranges::fill(trees.targets, 1); }},
      {"a leaf beyond the weights",
       [](Trees& trees) { std::ranges::fill(trees.features, -1), trees.children[1] = 1000; }},
      {"a leaf that ends before it begins",
       [](Trees& trees) {
         std::ranges::fill(trees.features, -1), trees.children[0] = 3, trees.children[1] = 2;
       }},
  };
  CHECK_NOTHROW(load<float>(sound, {}).run({{"x", Tensor::view(x, {2, 3})}}));
  for (const auto& [name, edit] : breaks) {
    CAPTURE(name);
    Trees broken = sound;
    edit(broken);
    const Graph graph = load<float>(broken, {});
    for (int run = 0; run < 2; ++run)
      CHECK_THROWS_WITH_AS(graph.run({{"x", Tensor::view(x, {2, 3})}}),
                           doctest::Contains("out of range"), Error);
  }
}

TEST_CASE("fewer columns than the trees ask for are an error of that run alone") {
  Trees trees;
  trees.add_tree(9, false);
  trees.features[0] = 2;
  const Graph graph = load<float>(trees, {});
  const std::vector<float> x(6, 0.5F);
  CHECK_THROWS_AS(graph.run({{"x", Tensor::view(x, {3, 2})}}), Error);
  CHECK_NOTHROW(graph.run({{"x", Tensor::view(x, {2, 3})}}));
}

TEST_CASE("operands of tree_ensemble that do not fit are errors of the load") {
  const auto message_of = [](const std::string& call) {
    try {
      Graph::from_text(
          "dyn 1\ndim B\nweights \"w.safetensors\"\ngraph g(x: f32[B, 3], r: i32[1]) -> (y: f32[B, "
          "1]) {\n  y "
          "= " +
          call + "\n  return y\n}\n");
    } catch (const Error& error) { return std::string(error.what()); }
    return std::string();
  };
  const auto contains = [](const std::string& text, const char* part) {
    INFO(text);
    CHECK(text.find(part) != std::string::npos);
  };
  const std::string rest = "f: i32[5], t: f32[5], c: i32[5, 2], g: i32[3], w: f32[3]) results=";
  contains(message_of("tree_ensemble(x, r, " + rest + "1"),
           "r is computed or an input; it must be a weight");
  contains(message_of("tree_ensemble(x, q: i32[1], " + rest + "0"),
           "results is 0; it must be 1 or more");
  contains(message_of("tree_ensemble(x, q: i32[1], " + rest + "1 aggregate=mean"),
           "sum, min or max, not mean");
  contains(message_of("tree_ensemble(x, q: i64[1], " + rest + "1"), "q must be i32");
  contains(message_of("tree_ensemble(x, q: i32[1], f: i32[5], t: f64[5], c: i32[5, 2], g: i32[3], "
                      "w: f32[3]) results=1"),
           "t must be f32");
  contains(message_of("tree_ensemble(x, q: i32[1], f: i32[5], t: f32[4], c: i32[5, 2], g: i32[3], "
                      "w: f32[3]) results=1"),
           "the number of nodes");
  contains(message_of("tree_ensemble(x, q: i32[1], f: i32[5], t: f32[5], c: i32[5, 3], g: i32[3], "
                      "w: f32[3]) results=1"),
           "the number of children");
}

}  // namespace dyn::testing::trees
