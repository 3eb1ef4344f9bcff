// Dims that a file calls by one name, and that have several sizes in a run.

#include <doctest/doctest.h>

#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "dyn/error.hpp"
#include "src/import/onnx/import.hpp"
#include "src/import/onnx/sizes/shared_names.hpp"
#include "tests/unit/import/onnx/imported.hpp"
#include "tests/unit/import/onnx/values.hpp"

namespace dyn::testing::shared_names {
namespace {

using Floats = std::vector<float>;

/// y = a + b, and z = b - c; the first dims of all have one name.
OnnxFile sums() {
  OnnxFile file;
  file.input("a", {"N", 3}).input("b", {"N", 3}).input("c", {"N", 3}).output("y").output("z");
  file.node("Add", {"a", "b"}, {"y"});
  file.node("Sub", {"b", "c"}, {"z"});
  return file;
}

/// Of q and k of one length, as the file has it: scores [seq, seq].
OnnxFile scores() {
  OnnxFile file;
  file.input("q", {"seq", 5}).input("k", {"seq", 5}).output("y");
  set_list(file.node("Transpose", {"k"}, {"turned"}), "perm", {1, 0});
  file.node("MatMul", {"q", "turned"}, {"y"});
  return file;
}

/// Gathers what the log says; a run may load on any thread.
struct Log {
  std::mutex mutex;
  std::string text;
  Options options() {
    Options options;
    options.log = [this](LogLevel level, std::string_view line) {
      const std::lock_guard lock(mutex);
      if (level == LogLevel::warning) text += std::string(line) + "\n";
    };
    return options;
  }
};

/// [rows, 3]; a row that there is not is the only one.
double at(const Floats& x, std::size_t row, std::size_t column) {
  return static_cast<double>(x[(x.size() == 3 ? 0 : row) * 3 + column]);
}

struct Sizes {
  std::size_t a, b, c;
};

void check_sums(const Graph& graph, const Sizes& sizes) {
  CAPTURE(sizes.a);
  CAPTURE(sizes.b);
  CAPTURE(sizes.c);
  const Floats a = random_floats(3 * sizes.a), b = random_floats(3 * sizes.b),
               c = random_floats(3 * sizes.c);
  const auto tensor = [](const Floats& x) {
    return Tensor::view(x, {static_cast<std::int64_t>(x.size() / 3), 3});
  };
  const std::vector<Result> results =
      run_all(graph, {{"a", tensor(a)}, {"b", tensor(b)}, {"c", tensor(c)}});
  const auto check = [&](const Result& result, const Floats& x, const Floats& y, double sign) {
    const std::size_t rows = x.size() == 3 ? y.size() / 3 : x.size() / 3;
    Values expected;
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t column = 0; column < 3; ++column)
        expected.push_back(at(x, row, column) + sign * at(y, row, column));
    CHECK(result.shape == Shape{static_cast<std::int64_t>(rows), 3});
    check_close(result.values, expected);
  };
  check(results[0], a, b, 1);
  check(results[1], b, c, -1);
}

}  // namespace

TEST_CASE("dims of one name may have several sizes where the operators allow it") {
  Log log;
  const Graph graph = load(sums(), log.options());
  for (int round = 0; round < 2; ++round) {
    check_sums(graph, {4, 4, 4});
    check_sums(graph, {1, 1, 1});
    CHECK((round > 0 || log.text.empty()));
    check_sums(graph, {4, 1, 4});
    check_sums(graph, {7, 1, 5});
    check_sums(graph, {1, 6, 6});
    check_sums(graph, {5, 5, 1});
    check_sums(graph, {1, 1, 2});
  }
  CHECK(log.text.find("dims that the file calls the same have sizes of their own: b (dim 0, "
                      "\"N\")") != std::string::npos);
  CHECK(graph.infer_shapes({{"a", {1, 3}}, {"b", {8, 3}}, {"c", {1, 3}}})[1].second == Shape{8, 3});
  graph.prepare({{"a", {1, 3}}, {"b", {8, 3}}, {"c", {1, 3}}});
}

TEST_CASE("sizes of one name that the operators tie are an error of the run") {
  const Graph graph = load(sums());
  const Floats x = random_floats(15);
  const auto rows = [&](std::int64_t count) {
    return Tensor::from(std::span(x).first(static_cast<std::size_t>(3 * count)), {count, 3});
  };
  CHECK_THROWS_WITH_AS(graph.run({{"a", rows(4)}, {"b", rows(5)}, {"c", rows(5)}}),
                       doctest::Contains("4"), Error);
  check_sums(graph, {4, 4, 4});
}

TEST_CASE("one name for two lengths: scores need not be square") {
  for (const bool strict : {false, true}) {
    Options options;
    options.strict = strict;
    const Graph graph = load(scores(), options);
    const Floats q = random_floats(15), k = random_floats(35);
    const NamedTensors inputs{{"q", Tensor::view(q, {3, 5})}, {"k", Tensor::view(k, {7, 5})}};
    if (strict) {
      CHECK_THROWS_WITH_AS(graph.run(inputs), doctest::Contains("seq"), Error);
      continue;
    }
    const std::vector<Result> results = run_all(graph, inputs);
    Values expected;
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 7; ++j) {
        double sum = 0;
        for (std::size_t d = 0; d < 5; ++d)
          sum += static_cast<double>(q[i * 5 + d]) * static_cast<double>(k[j * 5 + d]);
        expected.push_back(sum);
      }
    CHECK(results[0].shape == Shape{3, 7});
    check_close(results[0].values, expected, 1e-5);
  }
}

TEST_CASE("a Squeeze without axes beside several sizes of one name") {
  OnnxFile file = sums();
  file.output("flat");
  file.node("Squeeze", {"z"}, {"flat"});
  const Graph graph = load(file);
  const Floats x = random_floats(18);
  const auto rows = [&](std::int64_t count) {
    return Tensor::from(std::span(x).first(static_cast<std::size_t>(3 * count)), {count, 3});
  };
  const auto flat = [&](std::int64_t a, std::int64_t b, std::int64_t c) {
    const NamedTensors inputs{{"a", rows(a)}, {"b", rows(b)}, {"c", rows(c)}};
    const Shape shape = run_all(graph, inputs)[2].shape;
    CHECK(graph.infer_shapes({{"a", {a, 3}}, {"b", {b, 3}}, {"c", {c, 3}}})[2].second == shape);
    return shape;
  };
  for (int round = 0; round < 2; ++round) {
    CHECK(flat(4, 4, 4) == Shape{4, 3});
    CHECK(flat(1, 1, 1) == Shape{3});
    CHECK(flat(6, 1, 1) == Shape{3});
    CHECK(flat(1, 1, 5) == Shape{5, 3});
    CHECK(flat(1, 6, 6) == Shape{6, 3});
  }
}

TEST_CASE("values decide the structure of a model whose names have several sizes") {
  OnnxFile file;
  file.input("a", {"N", "M"}).input("b", {"N", "M"}).output("y");
  file.input("axes", {"K"}, onnx::TensorProto::INT64);
  file.node("Mul", {"a", "b"}, {"product"});
  set(file.node("ReduceSum", {"product", "axes"}, {"y"}), "keepdims", 0);
  const Graph graph = load(file);
  const Floats a{1, 2, 3, 4, 5, 6}, b{10, 20}, c{1, 10, 100};
  const auto sums = [&](const Floats& other, const Shape& shape, const std::int64_t axis) {
    return run_all(graph, {{"a", Tensor::view(a, {2, 3})},
                           {"b", Tensor::view(other, shape)},
                           {"axes", Tensor::from(std::span(&axis, 1), {1})}})[0]
        .values;
  };
  for (int round = 0; round < 2; ++round) {
    CHECK(sums(b, {2, 1}, 1) == Values{60, 300});
    CHECK(sums(b, {2, 1}, 0) == Values{90, 120, 150});
    CHECK(sums(c, {1, 3}, 1) == Values{321, 654});
    CHECK(sums(a, {2, 3}, 0) == Values{17, 29, 45});
  }
}

TEST_CASE("an import takes names apart that cannot be one size") {
  OnnxFile file;
  file.input("a", {"n", "n"}).output("y").floats("w", {2, 3}, {1, 2, 3, 4, 5, 6});
  file.floats("v", {4, 1}, {1, 1, 1, 1});
  file.node("MatMul", {"a", "w"}, {"b"});
  file.node("Add", {"b", "v"}, {"y"});
  const Folder folder;
  file.save(folder.path("m.onnx"));
  const onnx::Imported imported = onnx::import_model(folder.path("m.onnx"), "w.safetensors");
  REQUIRE(imported.warnings.size() == 1);
  CHECK(imported.warnings.front().find("a (dim 1, \"n\")") != std::string::npos);
  CHECK(imported.text.find("a: f32[n, 2]") != std::string::npos);
}

TEST_CASE("words for an input's dims may tell apart what the file calls the same") {
  const Folder folder;
  sums().save(folder.path("m.onnx"));
  const auto text_with = [&](const onnx::FreeDims& words) {
    return onnx::import_model(folder.path("m.onnx"), "w.safetensors", {.free_dims = words}).text;
  };
  const std::string text = text_with({{"a", {"A", "3"}}, {"b", {"B", "3"}}, {"c", {"B", "3"}}});
  CHECK(text.find("a: f32[A, 3], b: f32[B, 3], c: f32[B, 3]") != std::string::npos);
  CHECK_THROWS_WITH_AS(text_with({{"a", {"A", "3"}}, {"b", {"B", "3"}}}),
                       doctest::Contains("called N in the file, which cannot be both A and B"),
                       Error);
}

TEST_CASE("which dims of a name stay together follows from a run's sizes") {
  onnx::SharedNames names;
  for (std::size_t input = 0; input < 4; ++input) names.add("N", {input, 0});
  names.add("M", {0, 1});
  names.keep_shared();
  const auto splits = [&](std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
    const std::vector<Shape> shapes{{a, 9}, {b}, {c}, {d}};
    const std::vector<const Shape*> views{&shapes[0], &shapes[1], &shapes[2], &shapes[3]};
    return onnx::numbers_of(names.at(views));
  };
  using Numbers = std::map<onnx::DimPlace, int>;
  CHECK(splits(5, 5, 5, 5).empty());
  CHECK(splits(1, 1, 1, 1).empty());
  CHECK(splits(5, 5, 1, 5) == Numbers{{{2, 0}, 0}});
  CHECK(splits(1, 5, 5, 5) == Numbers{{{0, 0}, 0}});
  CHECK(splits(5, 6, 5, 6) == Numbers{{{1, 0}, 1}, {{3, 0}, 1}});
  CHECK(splits(5, 6, 1, 0) == Numbers{{{1, 0}, 1}, {{2, 0}, 0}, {{3, 0}, 2}});
  CHECK(onnx::numbers_of(names.all()) == Numbers{{{1, 0}, 1}, {{2, 0}, 2}, {{3, 0}, 3}});
}

TEST_CASE("many threads run a model whose names have several sizes") {
  Options options;
  options.structures = 1;
  const Graph graph = load(sums(), options);
  const std::vector<Sizes> sizes{{4, 4, 4}, {1, 3, 3}, {5, 1, 2}, {6, 6, 1}};
  std::vector<int> rows(sizes.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < sizes.size(); ++i)
      threads.emplace_back([&, i] {
        const Floats x(18, 1.5F);
        const auto tensor = [&](std::size_t count) {
          return Tensor::from(std::span(x).first(3 * count), {static_cast<int>(count), 3});
        };
        for (int round = 0; round < 3; ++round) {
          const Outputs outputs = graph.run(
              {{"a", tensor(sizes[i].a)}, {"b", tensor(sizes[i].b)}, {"c", tensor(sizes[i].c)}});
          rows[i] += static_cast<int>(outputs["y"].shape()[0]);
        }
      });
  }
  for (std::size_t i = 0; i < sizes.size(); ++i)
    CHECK(rows[i] == static_cast<int>(3 * std::max(sizes[i].a, sizes[i].b)));
}

}  // namespace dyn::testing::shared_names
