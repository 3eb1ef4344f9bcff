// Whole models on a GPU's emulator: all groups on the device, nothing crosses but inputs and
// outputs, and the results are those of plain loops. The texts of tests/models/exported are imports
// of what tests/conformance/models/export_models.py writes; weights are random ones.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "src/runtime/load/model.hpp"
#include "tests/kernels/compare.hpp"
#include "tests/kernels/random.hpp"
#include "tests/support/seed.hpp"

using namespace dyn;
using namespace dyn::testing;

namespace {

using Dims = std::map<std::string, std::int64_t>;

struct ExportedModel {
  const char* name;
  std::vector<Dims> shapes;
};

std::vector<ExportedModel> exported_models() {
  const std::vector<Dims> texts{{{"B", 1}, {"S", 1}}, {{"B", 2}, {"S", 7}}, {{"B", 1}, {"S", 33}}};
  const std::vector<Dims> steps{{{"B", 1}, {"S", 1}, {"P", 1}},
                                {{"B", 2}, {"S", 1}, {"P", 23}},
                                {{"B", 1}, {"S", 9}, {"P", 4}}};
  const std::vector<Dims> images{{{"B", 1}, {"H", 32}, {"W", 32}},
                                 {{"B", 2}, {"H", 33}, {"W", 40}},
                                 {{"B", 1}, {"H", 47}, {"W", 32}}};
  return {{"bert", texts},
          {"gpt2-past", steps},
          {"llama-past", steps},
          {"resnet", images},
          {"mobilenet-v3", images},
          {"vit", {{{"B", 1}, {"H", 16}, {"W", 16}}, {{"B", 2}, {"H", 24}, {"W", 32}}}},
          {"unet", {{{"B", 1}, {"H", 16}, {"W", 16}}, {{"B", 2}, {"H", 19}, {"W", 30}}}},
          {"whisper-encoder", {{{"B", 1}}}}};
}

/// A precision, and how far results may be from those of plain loops in f32, over the largest value
/// of an output.
struct ModelPrecision {
  const char* name;
  double tolerance;
};

Graph load(const std::string& name, const std::string& device, const std::string& precision) {
  Options options = test_options();
  options.device = device;
  options.precision = precision;
  options.random_weights = true;
  options.seed = 7;
  return Graph::load(fmt::format(DYN_SOURCE_DIR "/tests/models/exported/{}.dyn", name), options);
}

/// Ids are small, types are two; masks keep all but a few.
void fill_input(Tensor& tensor, const std::string& name, Random& random) {
  if (tensor.dtype() == DType::f32) return fill(tensor, normal_fill, random);
  const bool mask = name.find("mask") != std::string::npos;
  const std::int64_t most = name.find("type") != std::string::npos ? 1 : 39;
  for (std::int64_t& element : tensor.mutable_data<std::int64_t>())
    element = mask ? (random.chance(0.9) ? 1 : 0) : random.integer(0, most);
}

NamedTensors inputs_at(const Graph& graph, Dims dims, Random& random) {
  if (dims.contains("P")) dims["P_S"] = dims["P"] + dims["S"];
  const graph::Module& module = graph.model()->module();
  NamedTensors inputs;
  for (const graph::ValueId id : module.inputs) {
    const graph::Value& value = module.value(id);
    Shape shape;
    for (const graph::Dim dim : value.type.dims)
      shape.push_back(dim.constant() ? *dim.constant() : dims.at(to_string(dim)));
    Tensor tensor(value.type.dtype, shape);
    fill_input(tensor, value.name, random);
    inputs.emplace_back(value.name, std::move(tensor));
  }
  return inputs;
}

/// The largest difference of any element, relative to the largest value of its output.
double worst_difference(const Outputs& actual, const Outputs& expected) {
  double worst = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::span<const float> got = actual[i].data<float>(), wanted = expected[i].data<float>();
    REQUIRE(got.size() == wanted.size());
    double largest = 0, difference = 0;
    for (std::size_t j = 0; j < got.size(); ++j) {
      const double error = std::fabs(static_cast<double>(got[j]) - wanted[j]);
      difference =
          std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(difference, error);
      largest = std::max(largest, std::fabs(static_cast<double>(wanted[j])));
    }
    REQUIRE(largest > 0);
    worst = std::max(worst, difference / largest);
  }
  return worst;
}

void check_is_on_device(const Graph& graph, const std::string& name) {
  const runtime::Model& model = *graph.model();
  for (std::size_t group = 0; group < model.problems().size(); ++group) {
    INFO(name << ": " << model.problems()[group].name);
    CHECK(model.kernel(group).space() == rkernel::Space::Device);
  }
}

void check_model(const ExportedModel& item, const ModelPrecision& precision, std::size_t shapes) {
  const Graph device = load(item.name, "emulator", precision.name);
  const Graph reference = load(item.name, "reference", "f32");
  check_is_on_device(device, item.name);
  Random random(item.name);
  double worst = 0;
  for (std::size_t i = 0; i < std::min(shapes, item.shapes.size()); ++i) {
    const auto inputs = inputs_at(device, item.shapes[i], random);
    worst = std::max(worst, worst_difference(device.run(inputs), reference.run(inputs)));
  }
  MESSAGE(fmt::format("{} in {}: {:.2g}", item.name, precision.name, worst));
  CHECK_MESSAGE(worst <= precision.tolerance, std::string(item.name));
}

/// Codes as convolutions of a quantised image network and as a linear layer that quantises its rows
/// itself have them. Scales are powers of two: floats round where both sides do.
constexpr const char* quantised_text = R"(dyn 1
dim B in 1..4
dim H in 8..40
dim W in 8..40
graph quantised(image: u8[B, H, W, 3]) -> (codes: u8[B, H, W, 32], y: f32[B, H * W, 40]) {
  s0 = conv(image, w0: i8[3, 3, 3, 16]) before=[1, 1] after=[1, 1] value=114
  a0 = cast(minimum(maximum(round((cast(s0 + b0: i32[16]) dtype=f32) * 0.00390625) + 5, 0), 255)) dtype=u8
  s1 = conv(a0, w1: i8[3, 3, 16, 16]) before=[1, 1] after=[1, 1] value=5
  a1 = cast(minimum(maximum(round((cast(s1 + b1: i32[16]) dtype=f32) * 0.0009765625) + 9, 0), 255)) dtype=u8
  s2 = conv(a1, w2: i8[1, 1, 16, 32]) value=9
  codes = cast(minimum(maximum(round((cast(s2 + b2: i32[32]) dtype=f32) * 0.00390625) + 128, 0), 255)) dtype=u8
  x = reshape((cast(codes) dtype=f32) - 128) shape=[B, H * W, 32]
  reach = reduce_max(abs(x)) axes=[2] keepdims=true
  rows = cast(round(x * (127 / maximum(reach, 1))) + 128) dtype=u8
  sums = matmul(rows, w3: i8[32, 40]) - c3: i32[40]
  y = (cast(sums) dtype=f32) * (maximum(reach, 1) * 0.0078125)
  return codes, y
}
)";

Graph quantised_on(const std::string& device) {
  Options options = test_options();
  options.device = device;
  options.random_weights = true;
  return Graph::from_text(quantised_text, options);
}

int products_of_bytes(const Graph& graph) {
  const auto& problems = graph.model()->problems();
  return static_cast<int>(std::ranges::count_if(problems, [](const rkernel::Problem& problem) {
    return problem.contraction &&
           problem.operands[static_cast<std::size_t>(problem.contraction->b)].dtype == DType::i8;
  }));
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a quantised model runs on the emulator as on the CPU, its products in bytes") {
    Random random("quantised model");
    const Graph device = quantised_on("emulator"), host = quantised_on("cpu");
    check_is_on_device(device, "quantised");
    CHECK(products_of_bytes(device) == 4);
    for (const Shape& shape : {Shape{1, 8, 11, 3}, Shape{2, 13, 9, 3}}) {
      Tensor image(DType::u8, shape);
      fill(image, uniform(0, 255), random);
      const Outputs found = device.run({{"image", image}}), expected = host.run({{"image", image}});
      const auto codes = found["codes"].data<std::uint8_t>();
      CHECK(std::ranges::equal(codes, expected["codes"].data<std::uint8_t>()));
      CHECK(std::ranges::count(codes, std::uint8_t{0}) * 2 < std::ssize(codes));
      const auto y = found["y"].data<float>(), wanted = expected["y"].data<float>();
      REQUIRE(y.size() == wanted.size());
      for (std::size_t i = 0; i < y.size(); ++i) REQUIRE(y[i] == wanted[i]);
    }
  }
}

TEST_SUITE("full") {
  TEST_CASE("whole models run on the emulator without the host") {
    Sweep sweep(4);
    for (const ExportedModel& item : exported_models())
      if (sweep.takes()) check_model(item, {"f32", 1e-4}, 3);
  }

  TEST_CASE("whole models run on the emulator in 16 bits") {
    Sweep sweep(8);
    for (const ExportedModel& item : exported_models())
      for (const ModelPrecision& precision : {ModelPrecision{"bf16", 4e-2}, {"f16", 5e-3}})
        if (sweep.takes()) check_model(item, precision, 1);
  }
}
