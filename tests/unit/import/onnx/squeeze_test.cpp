// Squeeze without axes: the sizes of a run decide which dims go.

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "dyn/error.hpp"
#include "src/import/onnx/import.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/unit/import/onnx/values.hpp"

using namespace dyn;
using testing::load;
using testing::OnnxFile;
using testing::random_floats;

namespace {

std::int64_t elements_of(const Shape& shape) {
  std::int64_t product = 1;
  for (const std::int64_t size : shape) product *= size;
  return product;
}

/// The first elements of x.
Tensor tensor_of(const std::vector<float>& x, const Shape& shape) {
  return Tensor::from(std::span(x).first(static_cast<std::size_t>(elements_of(shape))), shape);
}

Shape squeezed(const Shape& shape) {
  Shape rest;
  std::ranges::copy_if(shape, std::back_inserter(rest),
                       [](std::int64_t size) { return size != 1; });
  return rest;
}

/// -x and the sums of its rows, both without their dims of 1.
OnnxFile negated() {
  OnnxFile file;
  file.input("x", {"N", 1, "", 3}).output("y").output("sums");
  file.node("Neg", {"x"}, {"less"});
  file.node("Squeeze", {"less"}, {"y"});
  file.integers("axes", {1}, {3});
  testing::set(file.node("ReduceSum", {"x", "axes"}, {"rows"}), "keepdims", 1);
  file.node("Squeeze", {"rows"}, {"sums"});
  return file;
}

void check_negated(const Tensor& y, const Tensor& sums, const std::vector<float>& x,
                   const Shape& shape) {
  CHECK(y.shape() == squeezed(shape));
  CHECK(sums.shape() == squeezed({shape[0], 1, shape[2]}));
  const auto elements = y.data<float>(), rows = sums.data<float>();
  REQUIRE(elements.size() == x.size());
  for (std::size_t i = 0; i < x.size(); ++i) CHECK(elements[i] == -x[i]);
  for (std::size_t i = 0; i < rows.size(); ++i)
    CHECK(rows[i] == doctest::Approx(x[3 * i] + x[3 * i + 1] + x[3 * i + 2]));
}

const std::vector<Shape> sizes{{2, 1, 5, 3}, {1, 1, 5, 3}, {2, 1, 1, 3}, {1, 1, 1, 3},
                               {4, 1, 2, 3}, {0, 1, 5, 3}, {1, 1, 0, 3}, {1, 1, 7, 3}};

}  // namespace

TEST_CASE("a Squeeze without axes removes what is 1 in each run") {
  const Graph graph = load(negated());
  Call call(graph);
  for (const Shape& shape : sizes) {
    CAPTURE(to_string(shape));
    const std::vector<float> x = random_floats(static_cast<std::size_t>(elements_of(shape)));
    const Tensor tensor = tensor_of(x, shape);
    const auto inferred = graph.infer_shapes({{"x", shape}});
    CHECK(inferred[0].second == squeezed(shape));
    CHECK(inferred[1].second == squeezed({shape[0], 1, shape[2]}));
    graph.prepare({{"x", shape}});
    const Outputs outputs = graph.run({{"x", tensor}});
    check_negated(outputs["y"], outputs["sums"], x, shape);
    call.set_input("x", tensor);
    call.run();
    check_negated(call.output("y"), call.output("sums"), x, shape);
  }
}

TEST_CASE("bound outputs take the rank that a run decides") {
  const Graph graph = load(negated());
  Call call(graph);
  const std::vector<float> x = random_floats(15);
  call.set_input("x", tensor_of(x, {1, 1, 5, 3}));
  std::vector<float> y(15), sums(5);
  call.set_output("y", Tensor::view(y, {5, 3}));
  call.set_output("sums", Tensor::view(sums, {5}));
  call.run();
  CHECK(call.output("y").raw() == y.data());
  check_negated(call.output("y"), call.output("sums"), x, {1, 1, 5, 3});
  call.set_output("y", Tensor::view(y, {1, 5, 3}));
  CHECK_THROWS_WITH_AS(call.run(), doctest::Contains("output 'y'"), Error);
}

TEST_CASE("many threads run a graph at sizes that change its structure") {
  Options options;
  options.structures = 1;
  const Graph graph = load(negated(), options);
  std::vector<std::vector<float>> inputs;
  for (const Shape& shape : sizes)
    inputs.push_back(random_floats(static_cast<std::size_t>(elements_of(shape))));
  std::vector<int> right(sizes.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      threads.emplace_back([&, i] {
        for (int round = 0; round < 3; ++round) {
          const Outputs outputs = graph.run({{"x", tensor_of(inputs[i], sizes[i])}});
          right[i] += outputs["y"].shape() == squeezed(sizes[i]) &&
                      std::ranges::equal(outputs["y"].data<float>(), inputs[i], {}, std::negate());
        }
      });
    }
  }
  CHECK(std::ranges::count(right, 3) == static_cast<std::ptrdiff_t>(sizes.size()));
}

TEST_CASE("a size that equals another one is 1 with it") {
  OnnxFile file;
  file.input("a", {"T", 1}).input("b", {"S", 1}).output("y").output("both");
  file.node("Squeeze", {"a"}, {"y"});
  testing::set(file.node("Concat", {"a", "b"}, {"both"}), "axis", 1);
  const Graph graph = load(file);
  for (const std::int64_t size : {3, 1, 2}) {
    const std::vector<float> a = random_floats(static_cast<std::size_t>(size)),
                             b = random_floats(static_cast<std::size_t>(size));
    const Outputs outputs =
        graph.run({{"a", tensor_of(a, {size, 1})}, {"b", tensor_of(b, {size, 1})}});
    CHECK(outputs["y"].shape() == squeezed({size}));
    CHECK(std::ranges::equal(outputs["y"].data<float>(), a));
    CHECK(outputs["both"].shape() == Shape{size, 2});
    CHECK(outputs["both"].data<float>()[1] == b[0]);
  }
  const std::vector<float> two = random_floats(2);
  for (const std::int64_t size : {1, 2}) {
    CHECK_THROWS_WITH_AS(
        graph.run({{"a", tensor_of(two, {size, 1})}, {"b", tensor_of(two, {3 - size, 1})}}),
        doctest::Contains("'b'"), Error);
  }
}

TEST_CASE("a size that turns out to be 1 always goes always") {
  OnnxFile file;
  file.input("x", {"N", 3}).output("y").output("rows").floats("w", {1, 3}, {1, 2, 3});
  file.node("Squeeze", {"x"}, {"y"});
  testing::set(file.node("Concat", {"x", "w"}, {"rows"}), "axis", 1);
  const Graph graph = load(file);
  CHECK(graph.inputs()[0].shape == "[1, 3]");
  const std::vector<float> x = random_floats(3);
  CHECK(graph.run({{"x", tensor_of(x, {1, 3})}})["y"].shape() == Shape{3});
}

TEST_CASE("what follows a Squeeze may expect the rank that sizes of 1 leave") {
  OnnxFile file;
  file.input("x", {"N", "M"}).output("y");
  file.node("Squeeze", {"x"}, {"row"});
  testing::set_list(file.node("Transpose", {"row"}, {"y"}), "perm", {0, 1, 2});
  CHECK_THROWS_WITH_AS(load(file), doctest::Contains("Transpose"), Error);

  OnnxFile of_row;
  of_row.input("x", {"N", 4}).output("y");
  of_row.node("Squeeze", {"x"}, {"row"});
  testing::set_list(of_row.node("Transpose", {"row"}, {"y"}), "perm", {0});
  const Graph graph = load(of_row);
  const std::vector<float> x = random_floats(8);
  const Outputs outputs = graph.run({{"x", tensor_of(x, {1, 4})}});
  CHECK(outputs["y"].shape() == Shape{4});
  CHECK(std::ranges::equal(outputs["y"].data<float>(), std::span(x).first(4)));
  CHECK_THROWS_WITH_AS(graph.run({{"x", tensor_of(x, {2, 4})}}), doctest::Contains("'x'"), Error);
}

TEST_CASE("a model of sizes of 1 alone has variants for others") {
  OnnxFile file;
  file.input("x", {"N", 4}).input("z", {"M", 3}).output("y").output("w");
  file.node("Squeeze", {"x"}, {"row"});
  testing::set_list(file.node("Transpose", {"row"}, {"y"}), "perm", {0});
  file.node("Squeeze", {"z"}, {"w"});
  const Graph graph = load(file);
  const std::vector<float> x = random_floats(4), z = random_floats(6);
  for (const std::int64_t rows : {2, 1}) {
    const Outputs outputs =
        graph.run({{"x", tensor_of(x, {1, 4})}, {"z", tensor_of(z, {rows, 3})}});
    CHECK(outputs["y"].shape() == Shape{4});
    CHECK(outputs["w"].shape() == squeezed({rows, 3}));
  }
}

TEST_CASE("what is refused for another reason is refused for that") {
  OnnxFile file;
  file.input("x", {"T", 3, 1}).output("y").output("z");
  file.node("Squeeze", {"x"}, {"y"});
  file.integers("zero", {}, {0});
  file.node("Shape", {"x"}, {"shape"});
  file.node("Gather", {"shape", "zero"}, {"axis"});
  file.node("CumSum", {"x", "axis"}, {"z"});
  CHECK_THROWS_WITH_AS(load(file), doctest::Contains("CumSum"), Error);

  OnnxFile broken;
  broken.input("x", {"N", 2}).output("y").output("z").floats("w\xff", {2}, {1, 2});
  broken.node("Squeeze", {"x"}, {"y"});
  broken.node("Add", {"x", "w\xff"}, {"z"});
  CHECK_THROWS_AS(load(broken), Error);
}

TEST_CASE("a dim that is freed must be another size than 1 where it would be squeezed away") {
  OnnxFile file;
  file.input("x", {4, 3}).output("y");
  file.node("Squeeze", {"x"}, {"y"});
  Options options;
  options.free_dims = {{"x", {"B", "3"}}};
  const Graph graph = load(file, options);
  const std::vector<float> x = random_floats(9);
  CHECK(graph.run({{"x", tensor_of(x, {3, 3})}})["y"].shape() == Shape{3, 3});
  CHECK_THROWS_WITH_AS(graph.run({{"x", tensor_of(x, {1, 3})}}),
                       doctest::Contains("B is one in this run"), Error);
}

TEST_CASE("a computed size is 1 where its inputs make it so") {
  OnnxFile file;
  file.input("x", {"T"}).input("p", {"P"}).output("y");
  file.node("Shape", {"p"}, {"first"});
  file.integers("end", {1}, {1000});
  file.node("Slice", {"x", "first", "end"}, {"rest"});
  file.node("Squeeze", {"rest"}, {"y"});
  const Graph graph = load(file);
  const std::vector<float> x = random_floats(9);
  for (const auto& [length, first] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {9, 3}, {9, 8}, {5, 4}, {1, 0}, {4, 4}, {3, 2}}) {
    const Outputs outputs =
        graph.run({{"x", tensor_of(x, {length})}, {"p", tensor_of(x, {first})}});
    CHECK(outputs["y"].shape() == squeezed({length - first}));
    CHECK(std::ranges::equal(outputs["y"].data<float>(),
                             std::span(x).subspan(static_cast<std::size_t>(first),
                                                  static_cast<std::size_t>(length - first))));
  }
}

TEST_CASE("a size that data decide stays, and must not be 1") {
  OnnxFile file;
  file.input("x", {"N"}).output("y");
  file.node("NonZero", {"x"}, {"places"});
  file.node("Squeeze", {"places"}, {"y"});
  const Graph graph = load(file);
  const std::vector<float> x{0, 3, 0, 4};
  const Outputs outputs = graph.run({{"x", tensor_of(x, {4})}});
  CHECK(outputs["y"].shape() == Shape{2});
  CHECK(outputs["y"].data<std::int64_t>()[1] == 3);
  CHECK(graph.run({{"x", tensor_of(x, {1})}})["y"].shape() == Shape{0});
  CHECK_THROWS_WITH_AS(graph.run({{"x", tensor_of(x, {3})}}),
                       doctest::Contains("must be another size"), Error);
}

TEST_CASE("a text that stands alone refuses the sizes that it does not hold for") {
  const dyn::testing::TemporaryFolder folder;
  const std::string path = (folder.path() / "m.onnx").string();
  negated().save(path);
  const onnx::Imported imported = onnx::import_model(path, "w", {.alone = true});
  CHECK(imported.unlike_ones.all() == onnx::Ones{"N", "_0"});
  const Graph graph = Graph::from_text(imported.text);
  const std::vector<float> x = random_floats(30);
  CHECK(graph.run({{"x", tensor_of(x, {2, 1, 5, 3})}})["y"].shape() == Shape{2, 5, 3});
  CHECK_THROWS_WITH_AS(graph.run({{"x", tensor_of(x, {1, 1, 5, 3})}}),
                       doctest::Contains("must be another size"), Error);
}

TEST_CASE("values and sizes decide a structure together") {
  OnnxFile file;
  file.input("x", {"A", "B", 2}).input("axes", {1}, onnx::TensorProto::INT64).output("y");
  testing::set(file.node("ReduceSum", {"x", "axes"}, {"sum"}), "keepdims", 1);
  file.node("Squeeze", {"sum"}, {"y"});
  const Graph graph = load(file);
  const std::vector<float> x = random_floats(12);
  for (const Shape& shape : {Shape{3, 2, 2}, Shape{1, 3, 2}, Shape{3, 1, 2}, Shape{1, 1, 2}}) {
    for (const std::int64_t axis : {0, 1, 2}) {
      Shape sum = shape;
      sum[static_cast<std::size_t>(axis)] = 1;
      const std::vector<std::int64_t> axes{axis};
      const Outputs outputs =
          graph.run({{"x", tensor_of(x, shape)},
                     {"axes", Tensor::from(std::span<const std::int64_t>(axes), {1})}});
      CHECK(outputs["y"].shape() == squeezed(sum));
      double all = 0, expected = 0;
      for (const float element : outputs["y"].data<float>()) all += static_cast<double>(element);
      for (std::int64_t i = 0; i < elements_of(shape); ++i) expected += testing::at(x, i);
      CHECK(all == doctest::Approx(expected));
    }
  }
}

TEST_CASE("shapes that do not fit are told as ever") {
  const Graph graph = load(negated());
  const std::vector<float> x = random_floats(12);
  CHECK_THROWS_WITH_AS(graph.run({{"x", tensor_of(x, {1, 4, 3})}}), doctest::Contains("'x'"),
                       Error);
  CHECK_THROWS_WITH_AS(graph.run({{"x", tensor_of(x, {1, 2, 2, 3})}}), doctest::Contains("'x'"),
                       Error);
  CHECK_THROWS_WITH_AS(graph.infer_shapes({{"z", {1, 1, 4, 3}}}), doctest::Contains("'z'"), Error);
  CHECK_THROWS_WITH_AS(graph.infer_shapes({}), doctest::Contains("missing"), Error);
}
