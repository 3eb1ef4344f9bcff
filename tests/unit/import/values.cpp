#include "tests/unit/import/values.hpp"

#include <doctest/doctest.h>

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

Result run(const OnnxFile& file, const std::vector<std::pair<std::string, std::pair<std::vector<float>*, Shape>>>& inputs) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "m.onnx").string();
  file.save(path);
  const Graph graph = Graph::load(path);
  NamedTensors tensors;
  for (const auto& [name, input] : inputs) tensors.emplace_back(name, Tensor::view(input.first->data(), input.second));
  const Outputs outputs = graph.run(tensors);
  const Tensor& output = outputs[graph.outputs()[0].name];
  Result result{output.shape(), {}};
  for (const float each : output.data<float>()) result.values.push_back(each);
  return result;
}

void check_close(const Values& actual, const Values& expected, double tolerance) {
  REQUIRE(actual.size() == expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    INFO("element " << i);
    CHECK(actual[i] == doctest::Approx(expected[i]).epsilon(tolerance).scale(1));
  }
}

}  // namespace dyn::testing
