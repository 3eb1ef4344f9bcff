#pragma once
// Runs imported models on random asymmetric data.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "dyn/graph.hpp"
#include "tests/unit/import/onnx/onnx_file.hpp"

namespace dyn::testing {

using Values = std::vector<double>;

/// One for the process, from the tests' seed.
std::mt19937_64& generator();
std::vector<float> random_floats(std::size_t count, float low = -2.5F, float high = 3);

struct Result {
  Shape shape;
  Values values;
};

/// Of all that the type has, but for 32 bits 70000 in magnitude at most.
template <class T>
std::vector<T> random_integers(std::size_t count) {
  std::uniform_int_distribution<std::int64_t> distribution(
      std::max<std::int64_t>(std::numeric_limits<T>::min(), -70000),
      std::min<std::int64_t>(std::numeric_limits<T>::max(), 70000));
  std::vector<T> integers(count);
  for (T& each : integers) each = static_cast<T>(distribution(generator()));
  return integers;
}

/// The first output of the model at these inputs.
Result run(const OnnxFile& file,
           const std::vector<std::pair<std::string, std::pair<std::vector<float>*, Shape>>>& inputs,
           const Options& options = {});

/// One thread, and no cache directory.
Options uncached();
Graph load(const OnnxFile& file, const Options& options = {});

/// All outputs, whatever their dtypes.
std::vector<Result> run_all(const Graph& graph, const NamedTensors& inputs);
std::vector<Result> run_all(const OnnxFile& file, const NamedTensors& inputs,
                            const Options& options = {});

/// An element, as the doubles that a test computes with.
double at(const std::vector<float>& values, std::int64_t index);

double sigmoid(double x);

void check_close(const Values& actual, const Values& expected, double tolerance = 2e-6);

}  // namespace dyn::testing
