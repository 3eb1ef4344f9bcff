// Shapes as PyTorch's exporter computes them.

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "src/import/onnx/import.hpp"
#include "tests/unit/import/onnx/imported.hpp"
#include "tests/unit/import/onnx/values.hpp"

using namespace dyn;
using testing::OnnxFile;
using testing::random_floats;
using testing::Result;
using testing::run;
using testing::statements_of;
using Doubles = testing::Values;  // not dyn::Values

namespace {

constexpr std::int64_t int64_max = std::numeric_limits<std::int64_t>::max();

/// pads as torch.nn.functional.pad counts them, before and after, from the last axis, become those
/// of ONNX.
void add_pads(OnnxFile& file, const std::string& counted) {
  file.integers("pairs", {2}, {-1, 2})
      .integers("flat", {1}, {-1})
      .integers("zero", {1}, {0})
      .integers("last", {1}, {-1})
      .integers("least", {1}, {-int64_max});
  file.node("Reshape", {counted, "pairs"}, {"matrix"});
  file.node("Slice", {"matrix", "last", "least", "zero", "last"}, {"backwards"});
  testing::set_list(file.node("Transpose", {"backwards"}, {"turned"}), "perm", {1, 0});
  file.node("Reshape", {"turned", "flat"}, {"list"});
  testing::set(file.node("Cast", {"list"}, {"pads"}), "to", onnx::TensorProto::INT64);
}

}  // namespace

TEST_CASE("pads that exporters turn as a matrix decide shapes, and pad by what sizes leave") {
  OnnxFile file;
  file.input("x", {"N", "L"})
      .output("y")
      .integers("one", {1}, {1})
      .integers("two", {1}, {2})
      .integers("rows", {2}, {0, 3});
  file.node("Shape", {"x"}, {"shape"});
  testing::set(file.node("Gather", {"shape", "one"}, {"length"}), "axis", 0);
  file.node("Mod", {"length", "two"}, {"rest"});
  // Columns: 2 before, and as many after as make their number even; rows: none before, 3 after.
  testing::set(file.node("Concat", {"two", "rest", "rows"}, {"counted"}), "axis", 0);
  add_pads(file, "counted");
  file.node("Pad", {"x", "pads"}, {"y"});
  for (const std::int64_t columns : {5, 4}) {
    std::vector<float> x = random_floats(static_cast<std::size_t>(2 * columns));
    const std::int64_t wide = 2 + columns + columns % 2;
    const Result result = run(file, {{"x", {&x, {2, columns}}}});
    CHECK(result.shape == Shape{5, wide});
    Doubles expected(static_cast<std::size_t>(5 * wide));
    for (std::int64_t i = 0; i < 2; ++i)
      for (std::int64_t j = 0; j < columns; ++j)
        expected[static_cast<std::size_t>(i * wide + 2 + j)] =
            static_cast<double>(x[static_cast<std::size_t>(i * columns + j)]);
    CHECK(result.values == expected);
  }
}

TEST_CASE("sizes in matrices keep their places: reshaped, cut along both axes, transposed") {
  OnnxFile file;
  file.input("x", {"A", 5, "C", 7, 11, "F"}).output("y");
  file.integers("dims", {2}, {2, -1}).integers("flat", {1}, {-1});
  file.node("Shape", {"x"}, {"shape"});
  file.node("Reshape", {"shape", "dims"}, {"matrix"});  // A 5 C / 7 11 F
  file.node("Transpose", {"matrix"}, {"turned"});       // A 7 / 5 11 / C F
  // Columns in order, rows from the last backwards by two: C F / A 7
  file.integers("rows", {2}, {1, 0})
      .integers("first", {2}, {0, -1})
      .integers("end", {2}, {int64_max, -int64_max})
      .integers("by", {2}, {1, -2});
  file.node("Slice", {"turned", "first", "end", "rows", "by"}, {"cut"});
  file.node("Reshape", {"cut", "flat"}, {"target"});
  file.node("ConstantOfShape", {"target"}, {"y"});
  const std::string statements = statements_of(file);
  INFO(statements);
  CHECK(statements.find("shape=[C, F, A, 7]") != std::string::npos);
}

TEST_CASE("an open dim of a reshape is found beside free ones") {
  OnnxFile file;
  file.input("x", {"B", "S", 48})
      .output("y")
      .output("z")
      .output("w")
      .integers("axis", {1}, {0})
      .integers("zero", {}, {0})
      .integers("one", {}, {1})
      .integers("rest", {2}, {-1, 12});
  file.integers("open", {1}, {-1}).integers("wide", {2}, {-1, 32});
  file.node("Shape", {"x"}, {"shape"});
  for (const std::string dim : {"zero", "one"}) {
    file.node("Gather", {"shape", dim}, {"size_" + dim});
    file.node("Unsqueeze", {"size_" + dim, "axis"}, {"list_" + dim});
  }
  testing::set(file.node("Concat", {"list_zero", "list_one", "rest"}, {"split"}), "axis", 0);
  testing::set(file.node("Concat", {"list_zero", "list_one", "open"}, {"joined"}), "axis", 0);
  file.node("Reshape", {"x", "split"}, {"y"});
  file.node("Reshape", {"y", "joined"}, {"z"});
  testing::set(file.node("Concat", {"list_zero", "wide"}, {"mixed"}), "axis", 0);
  file.node("Reshape", {"x", "mixed"}, {"w"});
  std::vector<float> x = random_floats(2 * 4 * 48);
  const auto at = [&](std::int64_t batch, std::int64_t length) {
    return run_all(file, {{"x", Tensor::view(x.data(), {batch, length, 48})}});
  };
  const std::vector<Result> results = at(2, 4);
  CHECK(results[0].shape == Shape{2, 4, 4, 12});
  CHECK(results[1].shape == Shape{2, 4, 48});
  CHECK(results[2].shape == Shape{2, 6, 32});
  CHECK(results[2].values == Doubles(x.begin(), x.end()));
  // A batch of 0 leaves no element, and yet there is only one answer.
  CHECK(at(0, 4)[0].shape == Shape{0, 4, 4, 12});
  CHECK(at(0, 4)[2].shape == Shape{0, 6, 32});
  CHECK_THROWS_AS(at(2, 3), Error);
}

TEST_CASE("positions cut to the length that is asked for are as many as that") {
  OnnxFile file;
  file.input("x", {"S", 3})
      .floats("places", {40, 3}, random_floats(120))
      .output("y")
      .integers("zero", {1}, {0});
  file.node("Shape", {"x"}, {"shape"});
  testing::set(file.node("Gather", {"shape", "zero"}, {"length"}), "axis", 0);
  file.node("Slice", {"places", "zero", "length", "zero"}, {"cut"});
  file.node("Add", {"x", "cut"}, {"y"});
  const testing::Folder folder;
  file.save(folder.path("m.onnx"));
  const std::string text = onnx::import_model(folder.path("m.onnx"), "w").text;
  INFO(text);
  CHECK(text.find("(y: f32[S, 3])") != std::string::npos);
  std::vector<float> x = random_floats(41 * 3);
  CHECK(run(file, {{"x", {&x, {40, 3}}}}).shape == Shape{40, 3});
  CHECK(run(file, {{"x", {&x, {0, 3}}}}).shape == Shape{0, 3});
  CHECK_THROWS_AS(run(file, {{"x", {&x, {41, 3}}}}), Error);
}

TEST_CASE("a length that is negated takes the last elements, and is not 0") {
  for (const std::string op : {"Neg", "Sub"}) {
    OnnxFile file;
    file.input("x", {"P"})
        .input("new", {"S"})
        .output("y")
        .output("z")
        .integers("axis", {1}, {0})
        .integers("end", {1}, {int64_max});
    testing::set(file.node("Concat", {"x", "new"}, {"all"}), "axis", 0);
    file.node("Shape", {"new"}, {"length"});
    if (op == "Neg")
      file.node("Neg", {"length"}, {"back"});
    else
      file.node("Sub", {"axis", "length"}, {"back"});
    file.node("Slice", {"all", "back", "end", "axis"}, {"y"});
    file.node("Identity", {"back"}, {"z"});
    std::vector<float> x = random_floats(5), added = random_floats(3);
    const auto at = [&](std::int64_t old_length, std::int64_t length) {
      return run_all(file, {{"x", Tensor::view(x.data(), {old_length})},
                            {"new", Tensor::view(added.data(), {length})}});
    };
    CHECK(at(5, 3)[0].values == Doubles(added.begin(), added.end()));
    CHECK(at(5, 3)[1].values == Doubles{-3});
    CHECK(at(0, 2)[0].shape == Shape{2});
    CHECK_THROWS_AS(at(5, 0), Error);
  }
}

TEST_CASE("a part between two places from the end has a size, which is not -1") {
  OnnxFile file;
  file.input("x", {"N"})
      .output("y")
      .integers("from", {1}, {-4})
      .integers("to", {1}, {-2})
      .integers("minus", {1}, {-1})
      .integers("one", {1}, {1})
      .integers("axis", {1}, {0});
  file.node("Slice", {"x", "from", "to", "axis"}, {"part"});
  file.node("Shape", {"part"}, {"size"});
  file.node("Equal", {"size", "minus"}, {"open"});
  file.node("Where", {"open", "one", "size"}, {"target"});
  file.node("Expand", {"part", "target"}, {"y"});
  std::vector<float> x = random_floats(7);
  for (const std::int64_t size : {0, 1, 2, 3, 4, 7}) {
    const Result result = run(file, {{"x", {&x, {size}}}});
    Doubles expected;
    for (std::int64_t i = std::max<std::int64_t>(size - 4, 0); i < size - 2; ++i)
      expected.push_back(static_cast<double>(x[static_cast<std::size_t>(i)]));
    CHECK(result.values == expected);
  }
}

TEST_CASE("a size divided by another is a size, and an error where that is 0") {
  OnnxFile file;
  file.input("x", {"N", 6}).input("rows", {"R"}).output("y").integers("axis", {1}, {0});
  file.node("Size", {"x"}, {"all"});
  file.node("Size", {"rows"}, {"count"});
  file.node("Div", {"all", "count"}, {"columns"});
  file.node("Unsqueeze", {"count", "axis"}, {"first"});
  file.node("Unsqueeze", {"columns", "axis"}, {"second"});
  testing::set(file.node("Concat", {"first", "second"}, {"shape"}), "axis", 0);
  file.node("Reshape", {"x", "shape"}, {"y"});
  std::vector<float> x = random_floats(24), rows = random_floats(8);
  const auto at = [&](std::int64_t count) {
    return run_all(file, {{"x", Tensor::view(x.data(), {4, 6})},
                          {"rows", Tensor::view(rows.data(), {count})}});
  };
  CHECK(at(8)[0].shape == Shape{8, 3});
  CHECK(at(8)[0].values == Doubles(x.begin(), x.end()));
  CHECK_THROWS_AS(at(7), Error);
  CHECK_THROWS_AS(at(0), Error);
}

TEST_CASE("sizes that go through floats of the file are known") {
  OnnxFile file;
  file.input("x", {"N", 49})
      .output("y")
      .output("z")
      .integers("open", {1}, {-1})
      .integers("axis", {1}, {2});
  file.floats("count", {1}, {49})
      .floats("half", {}, {0.5F})
      .floats("start", {1}, {3.9F})
      .floats("end", {1}, {-2.5F});
  const auto cast = [&](const std::string& from, const std::string& to) {
    testing::set(file.node("Cast", {from}, {to}), "to", onnx::TensorProto::INT64);
  };
  file.node("Pow", {"count", "half"}, {"root"});
  cast("root", "side");
  testing::set(file.node("Concat", {"open", "side", "side"}, {"shape"}), "axis", 0);
  file.node("Reshape", {"x", "shape"}, {"square"});
  // Floats become integers towards 0.
  cast("start", "from");
  cast("end", "to");
  file.node("Slice", {"square", "from", "to", "axis"}, {"y"});
  file.node("Floor", {"end"}, {"floor"});
  cast("floor", "below");
  file.node("Slice", {"square", "from", "below", "axis"}, {"z"});
  CHECK(statements_of(file) ==
        "  square = reshape(x) shape=[-1, 7, 7]\n  y = slice(square) axes=[2] starts=[3] ends=[5] "
        "steps=[1]\n"
        "  z = slice(square) axes=[2] starts=[3] ends=[4] steps=[1]\n  return y, z\n");
}

TEST_CASE("arithmetic on floats of the file is that of f32") {
  OnnxFile file;
  file.input("x", {"N"})
      .output("y")
      .floats("few", {3}, {0.1F, -2.7F, 3.3F})
      .floats("third", {}, {1.0F / 3})
      .floats("none", {0}, {});
  file.node("Mul", {"few", "third"}, {"product"});
  file.node("Sub", {"third", "product"}, {"difference"});
  file.node("Div", {"difference", "few"}, {"quotient"});
  file.node("Abs", {"quotient"}, {"size"});
  file.node("Sqrt", {"size"}, {"root"});
  file.node("Add", {"none", "third"}, {"nothing"});
  file.node("Neg", {"root"}, {"minus"});
  testing::set(file.node("Concat", {"minus", "nothing"}, {"all"}), "axis", 0);
  file.node("Add", {"x", "all"}, {"y"});
  std::vector<float> x{0};
  Doubles expected;
  for (const float each : {0.1F, -2.7F, 3.3F}) {
    const float difference = 1.0F / 3 - each * (1.0F / 3);
    expected.push_back(static_cast<double>(-std::sqrt(std::abs(difference / each))));
  }
  CHECK(run(file, {{"x", {&x, {1}}}}).values == expected);
}
