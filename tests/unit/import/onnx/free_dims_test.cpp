// Freed dims of an ONNX file: the shapes that follow, and the cases that are refused.

#include <doctest/doctest.h>

#include <numeric>

#include "dyn/error.hpp"
#include "graph/text/text.hpp"
#include "src/import/onnx/import.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/unit/import/onnx/values.hpp"

using namespace dyn;
using onnx::FreeDims;
using testing::OnnxFile;
using testing::set;
using testing::set_list;

namespace {

std::string text_of(const OnnxFile& file, const FreeDims& free_dims) {
  const testing::TemporaryFolder folder;
  const std::string path = (folder.path() / "m.onnx").string();
  file.save(path);
  const std::string text = onnx::import_model(path, "w.safetensors", {.free_dims = free_dims}).text;
  CHECK(graph::print(graph::parse(text)) == text);
  return text;
}

void check_has(const std::string& text, const std::string& part) {
  INFO(text);
  CHECK(text.find(part) != std::string::npos);
}

void check_refused(const OnnxFile& file, const FreeDims& free_dims, ErrorKind kind,
                   const std::vector<std::string>& parts) {
  try {
    const std::string text = text_of(file, free_dims);
    INFO(text);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.kind() == kind);
    for (const std::string& part : parts) check_has(error.what(), part);
  }
}

/// y = reshape of x; the names are those of freed dims.
struct Reshape {
  std::vector<std::int64_t> dims;
  std::vector<std::string> words;
  std::vector<std::int64_t> shape;
};

OnnxFile file_of(const Reshape& reshape) {
  OnnxFile file;
  file.input("x", {}).output("y").integers(
      "shape", {static_cast<std::int64_t>(reshape.shape.size())}, reshape.shape);
  for (const std::int64_t dim : reshape.dims)
    file.model.mutable_graph()
        ->mutable_input(0)
        ->mutable_type()
        ->mutable_tensor_type()
        ->mutable_shape()
        ->add_dim()
        ->set_dim_value(dim);
  file.node("Reshape", {"x", "shape"}, {"y"});
  return file;
}

void check_shape(const Reshape& reshape, const std::string& shape) {
  check_has(text_of(file_of(reshape), {{"x", reshape.words}}),
            "  y = reshape(x) shape=" + shape + "\n");
}

void check_refused(const Reshape& reshape, const std::string& reason) {
  check_refused(file_of(reshape), {{"x", reshape.words}}, ErrorKind::unsupported,
                {"Reshape \"Reshape1\"", "freed", reason});
}

}  // namespace

TEST_CASE("dims that the file calls ? are not equal for that") {
  OnnxFile file;
  file.input("x", {"?", "?", "-1", "N"}).input("z", {"?", "N"}).output("y").output("w");
  file.node("Neg", {"x"}, {"y"});
  file.node("Neg", {"z"}, {"w"});
  check_has(text_of(file, {}), "(x: f32[_, _, _, N], z: f32[_, N])");
  check_has(text_of(file, {{"x", {"A", "B", "_", "M"}}}), "(x: f32[A, B, _, M], z: f32[_, M])");
  check_refused(file, {{"x", {"A", "B", "_", "_"}}}, ErrorKind::user, {"dim 3", "called N"});
}

TEST_CASE("sizes of 0 and -1 are not known") {
  OnnxFile file = file_of(Reshape{{0, -1, 3}, {}, {-1, 3}});
  check_has(text_of(file, {}), "(x: f32[_0, _1, 3])");
  check_has(text_of(file, {{"x", {"A", "B", "3"}}}), "(x: f32[A, B, 3])");
}

TEST_CASE("constant reshapes follow freed dims: renamed and merged") {
  check_shape({{1, 3, 4, 5}, {"N", "3", "H", "W"}, {1, 3, 20}}, "[N, 3, H * W]");
  check_shape({{1, 6, 7, 7}, {"N", "6", "H", "W"}, {1, 294}}, "[N, H * W * 6]");
  check_shape({{1, 6, 7, 7}, {"N", "6", "H", "W"}, {1, -1}}, "[N, H * W * 6]");
  check_shape({{1, 6, 7, 7}, {"N", "6", "H", "W"}, {-1, 294}}, "[N, H * W * 6]");
  check_shape({{1, 6, 7, 7}, {"N", "6", "7", "7"}, {1, 294}}, "[N, 294]");
  check_shape({{1, 6, 7, 7}, {"N", "6", "H", "W"}, {0, 6, -1}}, "[N, 6, H * W]");
  check_shape({{1, 6, 1, 1}, {"N", "6", "H", "W"}, {1, 6}}, "[N, H * W * 6]");
  check_shape({{8, 6, 1, 1}, {"N", "6", "H", "1"}, {8, 6, 1}}, "[N, 6, H]");
  check_shape({{2, 5, 3}, {"B", "S", "3"}, {10, 3}}, "[B * S, 3]");
}

TEST_CASE("constant reshapes follow freed dims: split") {
  check_shape({{1, 12, 28, 28}, {"N", "12", "H", "W"}, {1, 4, 3, 28, 28}}, "[N, 4, 3, H, W]");
  check_shape({{1, 128, 768}, {"B", "S", "768"}, {1, 128, 12, 64}}, "[B, S, 12, 64]");
  check_shape({{12, 128}, {"12", "S"}, {2, 768}}, "[2, S * 6]");
  check_shape({{1, 56}, {"N", "L"}, {1, -1, 8}}, "[N, -1, 8]");
  check_shape({{6, 4, 10}, {"A", "4", "B"}, {24, 5, -1}}, "[A * 4, 5, -1]");
}

TEST_CASE("what was merged is split as it was") {
  const auto there_and_back = [](std::vector<std::int64_t> dims, std::vector<std::int64_t> merged,
                                 std::vector<std::int64_t> split) {
    OnnxFile file = file_of({dims, {}, merged});
    file.integers("back", {static_cast<std::int64_t>(split.size())}, split).output("z");
    file.node("Reshape", {"y", "back"}, {"z"});
    return file;
  };
  const FreeDims both{{"x", {"B", "S", "8"}}};
  check_has(text_of(there_and_back({1, 12, 8}, {-1, 8}, {1, 12, 2, 4}), both),
            "z = reshape(y) shape=[B, S, 2, 4]\n");
  check_has(text_of(there_and_back({3, 12, 8}, {36, 8}, {3, 12, 8}), both),
            "z = reshape(y) shape=[B, S, 8]\n");
  check_has(text_of(there_and_back({3, 12, 8}, {36, 8}, {36, 1, 8}), both),
            "z = reshape(y) shape=[B * S, 1, 8]\n");
  // 12 * 12: which is which?
  check_refused(there_and_back({12, 12, 8}, {144, 8}, {12, 12, 8}), both, ErrorKind::unsupported,
                {"Reshape \"Reshape2\"", "dims 12, 12 of it are B * S, which is 144 in the file"});
}

TEST_CASE("dims of 1 go by order from the front, and are refused where that says nothing") {
  check_shape({{1, 784}, {"N", "784"}, {1, 1, 28, 28}}, "[N, 1, 28, 28]");
  check_shape({{1, 1, 784}, {"N", "1", "784"}, {1, 28, 28}}, "[N, 28, 28]");
  check_shape({{1, 1, 7}, {"1", "N", "7"}, {1, 1, 7, 1}}, "[1, N, 7, 1]");
  check_shape({{1, 5, 7}, {"N", "5", "7"}, {-1, 7}}, "[N * 5, 7]");
  check_refused(Reshape{{1, 5, 7}, {"N", "5", "7"}, {5, 7}},
                "N is 1 in the file, and the shape has no dim for it");
  check_refused(Reshape{{4, 1, 7}, {"4", "K", "7"}, {4, 1, 1, 7}},
                "K is 1 in the file, and the shape has 2 dims of 1 where it could stand");
  check_refused(Reshape{{4, 1, 1, 7}, {"4", "K", "L", "7"}, {4, 1, 7}},
                "of K and L, which are 1 in the file, it keeps 1");
  check_refused(Reshape{{4, 1, 7}, {"4", "K", "7"}, {4, 7}},
                "K is 1 in the file, and the shape has no dim for it");
}

TEST_CASE("a freed dim that a reshape cuts is refused") {
  check_refused(Reshape{{1, 56, 56, 3}, {"N", "H", "W", "3"}, {1, 8, 7, 8, 7, 3}},
                "dims 8, 7 of it are H, which is 56 in the file");
  check_refused(Reshape{{6, 4}, {"L", "4"}, {2, 12}}, "which is 24 in the file");
  check_refused(Reshape{{6, 4}, {"L", "4"}, {2, 11}},
                "its input has 24 elements, and the shape 22");
  check_refused(Reshape{{1}, {"N"}, {}}, "a scalar has no place");
}

TEST_CASE("reshapes behind dims that the file leaves free and others that are freed") {
  OnnxFile file;
  file.input("x", {"batch", 6, 7, 7}).output("y").integers("shape", {2}, {-1, 294});
  file.node("Reshape", {"x", "shape"}, {"y"});
  check_has(text_of(file, {{"x", {"batch", "6", "H", "W"}}}),
            "reshape(x) shape=[batch, H * W * 6]");
  check_has(text_of(file, {{"x", {"N", "6", "H", "7"}}}),
            "graph net(x: f32[N, 6, H, 7]) -> (y: f32[N, H * 42])");
  check_has(text_of(file, {}), "reshape(x) shape=[-1, 294]");
}

TEST_CASE("a pool of stride 1 that holds whole axes pools all there is, at any size") {
  const auto pool = [](const std::string& op, std::vector<std::int64_t> sizes,
                       std::vector<std::int64_t> pads, std::int64_t stride) {
    OnnxFile file;
    file.input("x", {1, 3, 6, 7}).output("y");
    onnx::NodeProto& node = file.node(op, {"x"}, {"y"});
    set_list(set_list(set_list(node, "kernel_shape", sizes), "pads", pads), "strides",
             {stride, stride});
    return file;
  };
  const FreeDims free{{"x", {"N", "3", "H", "W"}}};
  check_has(text_of(pool("AveragePool", {6, 7}, {0, 0, 0, 0}, 1), free),
            "y = reduce_mean(x) axes=[2, 3]\n");
  check_has(text_of(pool("AveragePool", {7, 7}, {0, 0, 1, 0}, 1), free),
            "y = reduce_mean(x) axes=[2, 3]\n");
  check_has(text_of(pool("MaxPool", {7, 8}, {1, 0, 0, 1}, 1), free),
            "y = reduce_max(x) axes=[2, 3]\n");
  check_has(text_of(pool("AveragePool", {6, 7}, {0, 0, 0, 0}, 1), {{"x", {"N", "3", "6", "7"}}}),
            "average_pool(");
  check_has(text_of(pool("AveragePool", {6, 7}, {0, 0, 0, 0}, 2), free), "average_pool(");
  check_has(text_of(pool("AveragePool", {5, 7}, {0, 0, 0, 0}, 1), free), "average_pool(");
  OnnxFile counted = pool("AveragePool", {7, 7}, {0, 0, 1, 0}, 1);
  set(*counted.model.mutable_graph()->mutable_node(0), "count_include_pad", 1);
  check_has(text_of(counted, free), "average_pool(");
}

TEST_CASE(
    "freed dims that weights or constants bind are refused with the node, and what to leave") {
  OnnxFile dense;
  dense.input("x", {1, 2, 3, 4})
      .output("y")
      .integers("shape", {2}, {1, 24})
      .floats("w", {24, 5}, std::vector<float>(120, 0.5F));
  dense.node("Reshape", {"x", "shape"}, {"f"});
  dense.node("Gemm", {"f", "w"}, {"y"});
  check_refused(dense, {{"x", {"N", "2", "H", "W"}}}, ErrorKind::unsupported,
                {"Gemm \"Gemm2\"", "H and W cannot be freed", "leave the file's sizes: x=N,2,3,4"});
  check_has(text_of(dense, {{"x", {"N", "2", "3", "4"}}}), "reshape(x) shape=[N, 24]");

  const auto with = [](const std::string& op, std::vector<std::int64_t> dims) {
    OnnxFile file;
    file.input("x", {1, 7, 6})
        .output("y")
        .floats("w", dims,
                std::vector<float>(static_cast<std::size_t>(std::accumulate(
                    dims.begin(), dims.end(), std::int64_t{1}, std::multiplies()))));
    set(file.node(op, {"x", "w"}, {"y"}), "axis", 2);
    return file;
  };
  check_refused(with("Add", {7, 6}), {{"x", {"N", "S", "6"}}}, ErrorKind::unsupported,
                {"Add \"Add1\"", "S cannot be freed", "x=N,7,6"});
  check_refused(with("Concat", {1, 7, 2}), {{"x", {"N", "_", "6"}}}, ErrorKind::unsupported,
                {"Concat \"Concat1\"", "N", "cannot be freed", "x=1,"});
  check_refused(with("Concat", {1, 7, 2}), {{"x", {"1", "_", "6"}}}, ErrorKind::unsupported,
                {"Concat \"Concat1\"", "dim 1 of x", "x=1,7,6"});
  check_has(text_of(with("Add", {1, 1, 6}), {{"x", {"N", "S", "6"}}}), "(y: f32[N, S, 6])");

  OnnxFile squeezed;
  squeezed.input("x", {1, 7, 1}).output("y").integers("axes", {1}, {0});
  squeezed.node("Squeeze", {"x", "axes"}, {"y"});
  check_refused(squeezed, {{"x", {"N", "7", "1"}}}, ErrorKind::unsupported,
                {"Squeeze \"Squeeze1\"", "N to be 1"});
  squeezed.model.mutable_graph()->mutable_node(0)->mutable_input()->RemoveLast();
  check_refused(squeezed, {{"x", {"N", "7", "1"}}}, ErrorKind::unsupported,
                {"Squeeze \"Squeeze1\"", "removes dims of 1"});
}

TEST_CASE("shapes that an Expand holds as numbers follow") {
  OnnxFile file;
  file.input("x", {2, 1, 6}).output("y").integers("shape", {3}, {2, 4, 6});
  file.node("Expand", {"x", "shape"}, {"y"});
  check_has(text_of(file, {{"x", {"N", "1", "S"}}}), "expand(x) shape=[N, 4, S]");
}

TEST_CASE("words for dims that do not fit the inputs are refused") {
  OnnxFile file;
  file.input("x", {"my dim", 3, 224, ""}).input("z", {224, 225}).output("y");
  file.node("Relu", {"x"}, {"y"});
  const auto refused = [&](const FreeDims& free_dims, const std::string& part) {
    check_refused(file, free_dims, ErrorKind::user, {"m.onnx", part});
  };
  refused({{"q", {"N"}}}, "no such input; its inputs are: x, z");
  refused({{"x", {"N", "3"}}}, "the input x has 4 dims, but 2 are given: N,3");
  refused({{"x", {"N", "4", "H", "W"}}}, "dim 1 of the input x is 3 in the file, not 4");
  refused({{"x", {"N", "3", "H", "7"}}},
          "dim 3 of the input x is without a name in the file, not 7");
  refused({{"x", {"5", "3", "H", "W"}}},
          "dim 0 of the input x is called my dim in the file, not 5");
  refused({{"x", {"_", "3", "H", "W"}}},
          "dim 0 of the input x is called my dim in the file, and free by that");
  refused({{"x", {"N", "3", "min", "W"}}}, "cannot be called \"min\"");
  refused({{"x", {"N", "3", "", "W"}}}, "cannot be called \"\"");
  refused({{"x", {"N", "3", "9a", "W"}}}, "cannot be called \"9a\"");
  refused({{"z", {"S", "S"}}},
          "dim 1 of the input z is 225 in the file and cannot be S, which is 224 there in another "
          "place");
  refused({{"x", {"N", "3", "S", "S"}}, {"z", {"S", "S"}}}, "cannot be S");
}

TEST_CASE(
    "names of freed dims are the same dim wherever they stand, and the file's sizes are hints") {
  OnnxFile file;
  file.input("x", {"my dim", 3, ""}).input("z", {5, "my dim"}).output("y").output("w");
  file.node("Relu", {"x"}, {"y"});
  file.node("Relu", {"z"}, {"w"});
  check_has(text_of(file, {{"x", {"N", "C", "S"}}, {"z", {"S", "N"}}}), "dim S hint 5\n");
  check_has(text_of(file, {{"x", {"N", "C", "S"}}, {"z", {"S", "N"}}}),
            "graph net(x: f32[N, C, S], z: f32[S, N])");
  check_has(text_of(file, {{"x", {"N", "_", "_"}}}), "graph net(x: f32[N, _, _], z: f32[5, N])");
  check_has(text_of(file, {{"z", {"my_dim", "N"}}}),
            "graph net(x: f32[N, 3, _], z: f32[my_dim, N])");
}

TEST_CASE("a freed model computes at any shape what loops compute") {
  // Channels shuffled, pooled as a whole, and a dense layer, as ShuffleNet ends.
  constexpr std::int64_t groups = 2, channels = 4, outputs = 3;
  std::vector<float> weights = testing::random_floats(channels * outputs);
  OnnxFile file;
  file.input("x", {1, channels, 2, 3}).output("y").floats("w", {channels, outputs}, weights);
  file.integers("apart", {5}, {1, groups, channels / groups, 2, 3})
      .integers("together", {4}, {1, channels, 2, 3})
      .integers("flat", {2}, {1, channels});
  file.node("Reshape", {"x", "apart"}, {"a"});
  set_list(file.node("Transpose", {"a"}, {"t"}), "perm", {0, 2, 1, 3, 4});
  file.node("Reshape", {"t", "together"}, {"s"});
  set_list(file.node("AveragePool", {"s"}, {"p"}), "kernel_shape", {2, 3});
  file.node("Reshape", {"p", "flat"}, {"f"});
  file.node("Gemm", {"f", "w"}, {"y"});
  Options options;
  options.free_dims = {{"x", {"N", "4", "H", "W"}}};
  for (const auto& [n, h, w] : {std::tuple<std::int64_t, std::int64_t, std::int64_t>{1, 2, 3},
                                {3, 5, 4},
                                {2, 1, 1},
                                {5, 16, 7}}) {
    std::vector<float> x = testing::random_floats(static_cast<std::size_t>(n * channels * h * w));
    const testing::Result result = testing::run(file, {{"x", {&x, {n, channels, h, w}}}}, options);
    CHECK(result.shape == Shape{n, outputs});
    testing::Values expected(static_cast<std::size_t>(n * outputs));
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t c = 0; c < channels; ++c) {
        const std::int64_t from = c % groups * (channels / groups) + c / groups;
        double mean = 0;
        for (std::int64_t p = 0; p < h * w; ++p)
          mean +=
              static_cast<double>(x[static_cast<std::size_t>((i * channels + from) * h * w + p)]) /
              static_cast<double>(h * w);
        for (std::int64_t o = 0; o < outputs; ++o)
          expected[static_cast<std::size_t>(i * outputs + o)] +=
              mean * static_cast<double>(weights[static_cast<std::size_t>(c * outputs + o)]);
      }
    }
    testing::check_close(result.values, expected);
  }
}

TEST_CASE("free_dims of a model that is no ONNX file is refused") {
  Options options;
  options.free_dims = {{"x", {"N"}}};
  CHECK_THROWS_WITH(
      Graph::from_text("dyn 1\ngraph g(x: f32[3]) -> (y: f32[3]) {\n  y = relu(x)\n  return y\n}\n",
                       options),
      doctest::Contains("no ONNX file"));
}
