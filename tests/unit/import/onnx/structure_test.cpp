// Models whose structure the values of some inputs decide.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "dyn/device.hpp"
#include "dyn/error.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/unit/import/onnx/values.hpp"

using namespace dyn;
using testing::OnnxFile;
using testing::random_floats;

namespace {

Graph load(const OnnxFile& file, const testing::TemporaryFolder& folder,
           const Options& options = {}) {
  const std::string path = (folder.path() / "m.onnx").string();
  file.save(path);
  return Graph::load(path, options);
}

Tensor integers(std::vector<std::int64_t> values) {
  return Tensor::from(std::span<const std::int64_t>(values),
                      {static_cast<std::int64_t>(values.size())});
}

/// y = sum of x over the axes that an input holds.
OnnxFile sum_over_axes() {
  OnnxFile file;
  file.input("x", {"A", "B", "C"}).input("axes", {"K"}, onnx::TensorProto::INT64).output("y");
  testing::set(file.node("ReduceSum", {"x", "axes"}, {"y"}), "keepdims", 0);
  return file;
}

/// The sum of 2 x 3 x 5 elements over the axes that `reduced` marks.
std::vector<double> expected_sums(const std::vector<float>& x, const std::array<bool, 3>& reduced) {
  const std::array<std::size_t, 3> dims{2, 3, 5};
  std::array<std::size_t, 3> strides{};
  std::size_t count = 1;
  for (std::size_t i = 3; i-- > 0;) {
    if (!reduced[i]) strides[i] = std::exchange(count, count * dims[i]);
  }
  std::vector<double> sums(count);
  for (std::size_t a = 0; a < 2; ++a) {
    for (std::size_t b = 0; b < 3; ++b) {
      for (std::size_t c = 0; c < 5; ++c)
        sums[a * strides[0] + b * strides[1] + c * strides[2]] +=
            static_cast<double>(x[(a * 3 + b) * 5 + c]);
    }
  }
  return sums;
}

void check_sums(const Tensor& y, const std::vector<float>& x, const std::array<bool, 3>& reduced,
                const Shape& shape) {
  CHECK(y.shape() == shape);
  testing::check_close({y.data<float>().begin(), y.data<float>().end()}, expected_sums(x, reduced));
}

}  // namespace

TEST_CASE("axes that an input holds are those of each run") {
  const testing::TemporaryFolder folder;
  const Graph graph = load(sum_over_axes(), folder);
  REQUIRE(graph.inputs().size() == 2);
  CHECK(graph.inputs()[0].shape == "[A, B, C]");
  REQUIRE(graph.outputs().size() == 1);
  CHECK(graph.outputs()[0].name == "y");
  const std::vector<float> x = random_floats(30);
  const Tensor tensor = Tensor::view(x, {2, 3, 5});
  Call call(graph);
  for (int round = 0; round < 2; ++round) {
    check_sums(graph.run({{"x", tensor}, {"axes", integers({1})}})["y"], x, {false, true, false},
               {2, 5});
    check_sums(graph.run({{"x", tensor}, {"axes", integers({0, -1})}})["y"], x, {true, false, true},
               {3});
    call.set_input("x", tensor);
    call.set_input("axes", integers({round}));
    call.run();
    check_sums(call.output("y"), x, {round == 0, round == 1, false},
               round == 0 ? Shape{3, 5} : Shape{2, 5});
  }
  std::vector<std::jthread> threads;
  for (std::int64_t axis = 0; axis < 3; ++axis) {
    threads.emplace_back([&, axis] {
      const Outputs outputs = graph.run({{"x", tensor}, {"axes", integers({axis})}});
      check_sums(outputs["y"], x, {axis == 0, axis == 1, axis == 2},
                 axis == 0   ? Shape{3, 5}
                 : axis == 1 ? Shape{2, 5}
                             : Shape{2, 3});
    });
  }
  threads.clear();
  CHECK_THROWS_WITH_AS(graph.run({{"x", tensor}, {"axes", integers({3})}}),
                       doctest::Contains("ReduceSum"), Error);
  CHECK_THROWS_WITH_AS(graph.infer_shapes({{"x", {2, 3, 5}}, {"axes", {1}}}),
                       doctest::Contains("axes decide the structure"), Error);
}

TEST_CASE("structures of a file share the device that its load opens: tensors and streams there") {
  const testing::TemporaryFolder folder;
  Options options;
  options.device = "emulator";
  options.cache_dir = "none";
  options.device_memory = 1 << 16;
  const Graph graph = load(sum_over_axes(), folder, options);
  const Device device(graph);
  const Stream stream = device.make_stream();
  const std::vector<float> x = random_floats(30);
  Call call(graph);
  call.set_input("x", device.upload(Tensor::view(x, {2, 3, 5})));
  call.set_output("y", device);
  const auto check_axes = [&](std::vector<std::int64_t> axes, std::array<bool, 3> reduced,
                              const Shape& shape) {
    call.set_input("axes", device.upload(integers(std::move(axes))));
    call.run();
    call.wait();
    check_sums(device.download(call.output("y")), x, reduced, shape);
  };
  check_axes({1}, {false, true, false}, {2, 5});
  call.set_stream(stream);
  check_axes({0, -1}, {true, false, true}, {3});
  check_axes({1}, {false, true, false}, {2, 5});
  CHECK_THROWS_WITH_AS(
      Call(load(sum_over_axes(), folder, options)).set_input("x", device.allocate(DType::f32, {1})),
      doctest::Contains("input 'x' is on another device (emulated a100) than the graph"), Error);
}

TEST_CASE("a file's model and its variants share a device") {
  const testing::TemporaryFolder folder;
  OnnxFile file;
  file.input("x", {"A", "B"}).output("y");
  file.node("Add", {"x", "x"}, {"z"});
  file.node("Squeeze", {"z"}, {"y"});
  Options options;
  options.device = "emulator";
  options.cache_dir = "none";
  const Graph graph = load(file, folder, options);
  const Device device(graph);
  const std::vector<float> x = random_floats(15);
  Call call(graph);
  call.set_output("y", device);
  call.set_stream(device.make_stream());
  for (const std::int64_t rows : {3, 1, 3}) {
    call.set_input("x", device.upload(Tensor::view(x.data(), {rows, 5})));
    call.run();
    call.wait();
    const Tensor y = device.download(call.output("y"));
    CHECK(y.shape() == (rows == 1 ? Shape{5} : Shape{rows, 5}));
    for (std::size_t i = 0; i < static_cast<std::size_t>(rows * 5); ++i)
      CHECK(y.data<float>()[i] == 2 * x[i]);
  }
}

TEST_CASE("a GPU that is not there is an error of the load, whatever decides the structure") {
  const testing::TemporaryFolder folder;
  Options options;
  options.device = "emulator";
  options.gpu = "abacus";
  CHECK_THROWS_WITH_AS(load(sum_over_axes(), folder, options), doctest::Contains("abacus"), Error);
  options.gpu = "";
  options.precision = "i8";
  CHECK_THROWS_WITH_AS(load(sum_over_axes(), folder, options),
                       doctest::Contains("has no kernels for precision 'i8'"), Error);
}

TEST_CASE("a model whose runs decide its structure needs the names of its files at load alone") {
  testing::TemporaryFolder folder, elsewhere;
  const std::filesystem::path before = std::filesystem::current_path();
  OnnxFile file = sum_over_axes();
  file.output("z").floats("w", {2}, {3, 4});
  onnx::TensorProto& w = *file.model.mutable_graph()->mutable_initializer(0);
  w.clear_raw_data();
  w.clear_float_data();
  w.set_data_location(onnx::TensorProto::EXTERNAL);
  onnx::StringStringEntryProto& location = *w.add_external_data();
  location.set_key("location");
  location.set_value("w.bin");
  file.node("Neg", {"w"}, {"z"});
  const std::filesystem::path weights = folder.path() / "w.bin", model = folder.path() / "m.onnx";
  const std::array<float, 2> elements{3, 4};
  std::ofstream(weights, std::ios::binary)
      .write(reinterpret_cast<const char*>(elements.data()), sizeof elements);
  file.save(model.string());
  std::filesystem::current_path(folder.path());
  const Graph graph = Graph::load("m.onnx");
  std::filesystem::current_path(elsewhere.path());
  // One is removed, the other replaced by something else.
  std::filesystem::remove(model);
  std::ofstream(elsewhere.path() / "new.bin") << "8 bytes!";
  std::filesystem::rename(elsewhere.path() / "new.bin", weights);
  std::filesystem::current_path(before);
  const std::vector<float> x = random_floats(30);
  const Outputs outputs = graph.run({{"x", Tensor::view(x, {2, 3, 5})}, {"axes", integers({1})}});
  check_sums(outputs["y"], x, {false, true, false}, {2, 5});
  CHECK(std::ranges::equal(outputs["z"].data<float>(), std::array<float, 2>{-3, -4}));
}

TEST_CASE("a file that was written to since its model was loaded is not mixed with it") {
  const testing::TemporaryFolder folder;
  const Graph graph = load(sum_over_axes(), folder);
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  OnnxFile other = sum_over_axes();
  other.output("z");
  other.node("Neg", {"x"}, {"z"});
  other.save((folder.path() / "m.onnx").string());
  const std::vector<float> x = random_floats(30);
  CHECK_THROWS_WITH_AS(graph.run({{"x", Tensor::view(x, {2, 3, 5})}, {"axes", integers({1})}}),
                       doctest::Contains("has changed since the model was loaded; load it again"),
                       Error);
}

TEST_CASE("a structure that is known at load holds for runs with the same values alone") {
  const testing::TemporaryFolder folder;
  Options options;
  options.known_inputs.emplace("axes", integers({2}));
  options.known_inputs.emplace("unheard_of", integers({2}));
  const Graph graph = load(sum_over_axes(), folder, options);
  CHECK(graph.infer_shapes({{"x", {2, 3, 5}}, {"axes", {1}}}).front().second == Shape{2, 3});
  const std::vector<float> x = random_floats(30);
  const Tensor tensor = Tensor::view(x, {2, 3, 5});
  check_sums(graph.run({{"x", tensor}, {"axes", integers({2})}})["y"], x, {false, false, true},
             {2, 3});
  CHECK_THROWS_WITH_AS(graph.run({{"x", tensor}, {"axes", integers({1})}}),
                       doctest::Contains("input 'axes' differs from the value"), Error);
}

TEST_CASE(
    "shapes follow from inputs through arithmetic, and no more models are kept than "
    "Options::structures") {
  const testing::TemporaryFolder folder;
  OnnxFile file;
  file.input("x", {"N", 6}).input("rows", {1}, onnx::TensorProto::INT64).output("y");
  file.integers("rest", {1}, {-1});
  testing::set(file.node("Concat", {"rows", "rest"}, {"shape"}), "axis", 0);
  file.node("Reshape", {"x", "shape"}, {"y"});
  Options options;
  options.structures = 1;
  const Graph graph = load(file, folder, options);
  const std::vector<float> x = random_floats(12);
  for (const std::int64_t rows : {3, 4, 3}) {
    const Outputs outputs = graph.run({{"x", Tensor::view(x, {2, 6})}, {"rows", integers({rows})}});
    CHECK(outputs["y"].shape() == Shape{rows, 12 / rows});
    CHECK(std::ranges::equal(outputs["y"].data<float>(), x));
  }
}
