#include "tests/unit/import/onnx/values.hpp"

#include <cmath>

#include <doctest/doctest.h>

#include "graph/ir/scalars.hpp"
#include "tests/support/half.hpp"
#include "tests/support/seed.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dyn::testing {

std::mt19937_64& generator() {
  static std::mt19937_64 random(test_seed());
  return random;
}

std::vector<float> random_floats(std::size_t count, float low, float high) {
  std::uniform_real_distribution<float> distribution(low, high);
  std::vector<float> floats(count);
  for (float& each : floats) each = distribution(generator());
  return floats;
}

Options uncached() {
  Options options;
  options.cache_dir = "none";
  options.threads = 1;
  return options;
}

Graph load(const OnnxFile& file, const Options& options) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "m.onnx").string();
  file.save(path);
  return Graph::load(path, options);
}

std::vector<Result> run_all(const Graph& graph, const NamedTensors& inputs) {
  const Outputs outputs = graph.run(inputs);
  std::vector<Result> results;
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    const Tensor& output = outputs[i];
    Result result{output.shape(), {}};
    const bool has_elements = graph::with_element_type(output.dtype(), [&](auto zero) {
      for (const auto each : output.data<decltype(zero)>())
        result.values.push_back(static_cast<double>(each));
    });
    const auto* bits = static_cast<const std::uint16_t*>(output.raw());
    for (std::int64_t j = 0; !has_elements && j < output.size(); ++j)
      result.values.push_back(half_value(output.dtype(), bits[j]));
    results.push_back(std::move(result));
  }
  return results;
}

std::vector<Result> run_all(const OnnxFile& file, const NamedTensors& inputs,
                            const Options& options) {
  return run_all(load(file, options), inputs);
}

Result run(const OnnxFile& file,
           const std::vector<std::pair<std::string, std::pair<std::vector<float>*, Shape>>>& inputs,
           const Options& options) {
  NamedTensors tensors;
  for (const auto& [name, input] : inputs)
    tensors.emplace_back(name, Tensor::view(input.first->data(), input.second));
  return run_all(file, tensors, options).front();
}

double at(const std::vector<float>& values, std::int64_t index) {
  return static_cast<double>(values.at(static_cast<std::size_t>(index)));
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

void check_close(const Values& actual, const Values& expected, double tolerance) {
  REQUIRE(actual.size() == expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    INFO("element " << i);
    CHECK(actual[i] == doctest::Approx(expected[i]).epsilon(tolerance).scale(1));
  }
}

}  // namespace dyn::testing
