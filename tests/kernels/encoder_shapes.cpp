// The 2-layer encoder at thousands of shapes.

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <thread>

#include <doctest/doctest.h>

#include "tests/kernels/compare.hpp"
#include "tests/kernels/encoder.hpp"
#include "tests/support/seed.hpp"

namespace dyn::testing {
namespace {

constexpr std::int64_t largest_batch = 8, longest = 1024, longest_of_reference = 256;
/// max |error| / max |expected| of one row of the batch.
constexpr double relative_error = 1e-4;
/// Where the mask hides every key, each score is added to -10000, where f32 has a spacing of 1e-3.
constexpr double relative_error_hidden = 2e-3;

std::vector<Tensor> run(const Graph& graph, const std::vector<Tensor>& inputs) {
  const auto outputs = graph.run({{"ids", inputs[0]}, {"mask", inputs[1]}});
  return {outputs["hidden"], outputs["pooled"]};
}

bool all_finite(const Tensor& tensor) {
  return std::ranges::all_of(tensor.data<float>(),
                             [](float value) { return std::isfinite(value); });
}

void check_near(const Tensor& actual, const reference::Array& expected, const Tensor& mask) {
  REQUIRE(actual.shape() == expected.dims);
  const auto rows = mask.shape()[0], length = mask.shape()[1], size = actual.size() / rows;
  for (std::int64_t row = 0; row < rows; ++row) {
    double error = 0, largest = 0;
    for (auto i = static_cast<std::size_t>(row * size);
         i < static_cast<std::size_t>((row + 1) * size); ++i) {
      error = std::max(
          error, std::fabs(static_cast<double>(actual.data<float>()[i]) - expected.floats[i]));
      largest = std::max(largest, std::fabs(expected.floats[i]));
    }
    CAPTURE(row);
    const bool hidden = mask.data<float>()[static_cast<std::size_t>(row * length)] == 0;
    CHECK(error <= (hidden ? relative_error_hidden : relative_error) * largest);
  }
}

/// Each row of the batch alone gives the bits that it gave among the others.
void check_rows(const Graph& graph, const std::vector<Tensor>& inputs,
                const std::vector<Tensor>& outputs) {
  for (std::int64_t row = 0; row < inputs[0].shape()[0]; ++row) {
    CAPTURE(row);
    const auto alone = run(graph, row_of(inputs, row)), among = row_of(outputs, row);
    for (std::size_t i = 0; i < alone.size(); ++i) CHECK(same_bits(alone[i], among[i]));
  }
}

std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

void check_shapes(Encoder& encoder, int shapes, int with_reference) {
  for (int i = 0; i < shapes; ++i) {
    const bool refer = i < with_reference;
    const auto batch = encoder.random().integer(1, largest_batch);
    const auto length = encoder.random().integer(1, refer ? longest_of_reference : longest);
    CAPTURE(batch);
    CAPTURE(length);
    const auto inputs = encoder.make_inputs(batch, length);
    const auto outputs = run(encoder.graph(), inputs);
    CHECK(outputs[0].shape() == Shape{batch, length, 72});
    CHECK(outputs[1].shape() == Shape{batch, 72});
    for (const auto& output : outputs) CHECK(all_finite(output));
    if (refer) {
      const auto expected = encoder.expect(inputs);
      for (std::size_t output = 0; output < outputs.size(); ++output)
        check_near(outputs[output], expected[output], inputs[1]);
    }
    check_rows(encoder.graph(), inputs, outputs);
  }
  CHECK(encoder.graph().kernels_compiled_since_load() == 0);
}

TEST_SUITE("fast") {
  TEST_CASE("encoder at a few shapes") {
    Encoder encoder("encoder at a few shapes");
    check_shapes(encoder, 12, 8);
  }

  TEST_CASE("four threads on one graph give the bits of one") {
    Encoder encoder("encoder threads");
    std::vector<std::vector<Tensor>> inputs, expected;
    for (int i = 0; i < 12; ++i) {
      inputs.push_back(
          encoder.make_inputs(encoder.random().integer(1, 4), encoder.random().integer(1, 150)));
      expected.push_back(run(encoder.graph(), inputs.back()));
    }
    std::vector<int> wrong(4, 0);
    std::vector<std::thread> threads;
    for (std::size_t thread = 0; thread < wrong.size(); ++thread) {
      threads.emplace_back([&, thread] {
        for (std::size_t i = 0; i < inputs.size() * 4; ++i) {
          const auto at = (i + thread * 3) % inputs.size();
          const auto outputs = run(encoder.graph(), inputs[at]);
          for (std::size_t k = 0; k < outputs.size(); ++k)
            wrong[thread] += !same_bits(outputs[k], expected[at][k]);
        }
      });
    }
    for (auto& thread : threads) thread.join();
    CHECK(wrong == std::vector<int>(4, 0));
  }
}

TEST_SUITE("full") {
  TEST_CASE("encoder at 2000 shapes") {
    Encoder encoder("encoder");
    check_shapes(encoder, test_rounds(2000, 40), test_rounds(200, 20));
  }
}

// All shapes that the model allows, in random order; minutes, so only on request (tests/shapes.sh).
TEST_SUITE("sweep") {
  TEST_CASE("encoder at all 8192 shapes" * doctest::skip()) {
    Encoder encoder("encoder sweep");
    std::vector<std::pair<std::int64_t, std::int64_t>> shapes;
    for (std::int64_t batch = 1; batch <= largest_batch; ++batch) {
      for (std::int64_t length = 1; length <= longest; ++length) shapes.emplace_back(batch, length);
    }
    for (std::size_t i = shapes.size(); i > 1; --i)
      std::swap(shapes[i - 1], shapes[static_cast<std::size_t>(
                                   encoder.random().integer(0, static_cast<std::int64_t>(i) - 1))]);
    // The largest shape comes first: memory that one run needs is not growth.
    std::swap(shapes.front(),
              *std::find(shapes.begin(), shapes.end(),
                         std::pair<std::int64_t, std::int64_t>{largest_batch, longest}));
    constexpr std::size_t warm_shapes = 1024, reference_every = 64;
    std::size_t warm_bytes = 0, referred = 0;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const auto [batch, length] = shapes[i];
      CAPTURE(batch);
      CAPTURE(length);
      const auto inputs = encoder.make_inputs(batch, length);
      const auto outputs = run(encoder.graph(), inputs);
      REQUIRE(outputs[0].shape() == Shape{batch, length, 72});
      REQUIRE(outputs[1].shape() == Shape{batch, 72});
      for (const auto& output : outputs) CHECK(all_finite(output));
      // One row alone: a plan of another shape, which must give the same bits.
      const std::int64_t row = encoder.random().integer(0, batch - 1);
      const auto alone = run(encoder.graph(), row_of(inputs, row)), among = row_of(outputs, row);
      for (std::size_t k = 0; k < alone.size(); ++k) CHECK(same_bits(alone[k], among[k]));
      if (i % reference_every == 0 && length <= longest_of_reference) {
        ++referred;
        const auto expected = encoder.expect(inputs);
        for (std::size_t k = 0; k < outputs.size(); ++k)
          check_near(outputs[k], expected[k], inputs[1]);
      }
      if (i + 1 == warm_shapes) warm_bytes = resident_bytes();
    }
    CHECK(encoder.graph().kernels_compiled_since_load() == 0);
    // Only the plan cache may have grown, within its budget.
    const std::size_t end_bytes = resident_bytes();
    CHECK(end_bytes <= warm_bytes + Options().plan_cache_bytes);
    std::printf(
        "%zu shapes, %zu of them beside the reference; resident %.1f MB after %zu shapes, %.1f MB "
        "at the end\n",
        shapes.size(), referred, static_cast<double>(warm_bytes) / 1e6, warm_shapes,
        static_cast<double>(end_bytes) / 1e6);
  }
}

}  // namespace
}  // namespace dyn::testing
