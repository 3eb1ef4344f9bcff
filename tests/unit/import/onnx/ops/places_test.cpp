// Imported operators whose results are places, or stand at computed places, beside plain loops.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "dyn/error.hpp"
#include "tests/unit/import/onnx/values.hpp"

using namespace dyn;
using testing::at;
using testing::check_close;
using testing::OnnxFile;
using testing::random_floats;
using testing::Result;
using testing::run;
using testing::run_all;
using testing::set;
using testing::Values;

namespace {

using Indices = std::vector<std::int64_t>;

/// From low to high, both included.
Indices random_indices(std::size_t count, std::int64_t low, std::int64_t high) {
  std::uniform_int_distribution<std::int64_t> distribution(low, high);
  Indices indices(count);
  for (std::int64_t& each : indices) each = distribution(testing::generator());
  return indices;
}

}  // namespace

TEST_CASE(
    "an imported place of an extremum is the first or the last of equal ones, along any axis") {
  for (int bits = 0; bits < 8; ++bits) {
    const bool greatest = (bits & 1) != 0, last = (bits & 2) != 0, keeps = (bits & 4) != 0;
    CAPTURE(bits);
    OnnxFile file;
    file.input("x", {"N", "M", 4}).output("y");
    set(set(set(file.node(greatest ? "ArgMax" : "ArgMin", {"x"}, {"y"}), "axis", -2),
            "select_last_index", last),
        "keepdims", keeps);
    for (const std::int64_t m : {1, 6}) {
      std::vector<float> x;
      for (const std::int64_t each : random_indices(static_cast<std::size_t>(3 * m * 4), -1, 1))
        x.push_back(static_cast<float>(each));
      Values expected;
      for (std::int64_t i = 0; i < 3; ++i) {
        for (std::int64_t j = 0; j < 4; ++j) {
          std::int64_t best = 0;
          for (std::int64_t k = 1; k < m; ++k) {
            const double now = at(x, (i * m + k) * 4 + j), before = at(x, (i * m + best) * 4 + j);
            if (greatest ? now > before : now < before) best = k;
            if (last && now == before) best = k;
          }
          expected.push_back(static_cast<double>(best));
        }
      }
      const Result result = run_all(file, {{"x", Tensor::view(x.data(), {3, m, 4})}}).front();
      CHECK(result.shape == (keeps ? Shape{3, 1, 4} : Shape{3, 4}));
      CHECK(result.values == expected);
    }
  }
}

TEST_CASE("the place of a NaN is that of an extremum") {
  OnnxFile file;
  file.input("x", {"N"}).output("y");
  file.node("ArgMax", {"x"}, {"y"});
  std::vector<float> x = {1, 5, NAN, 7, NAN};
  CHECK(run_all(file, {{"x", Tensor::view(x.data(), {5})}}).front().values == Values{2});
}

TEST_CASE(
    "an imported hardmax is over one axis from opset 13 on, and over all from its axis before") {
  for (const int opset : {11, 13}) {
    OnnxFile file(opset);
    file.input("x", {"N", 3, "K"}).output("y");
    set(file.node("Hardmax", {"x"}, {"y"}), "axis", 1);
    std::vector<float> x = random_floats(30);
    Values expected(30);
    for (std::size_t i = 0; i < 30; ++i) {
      expected[i] = 1;
      for (std::size_t j = 0; j < 30; ++j) {
        const bool together = opset < 13 ? j / 15 == i / 15 : j / 15 == i / 15 && j % 5 == i % 5;
        if (together && x[j] > x[i]) expected[i] = 0;
      }
    }
    CHECK(run(file, {{"x", {&x, {2, 3, 5}}}}).values == expected);
  }
}

TEST_CASE("imported ones among zeros: at indices, and along a diagonal") {
  OnnxFile file;
  file.input("i", {"N", "M"}, onnx::TensorProto::INT64)
      .integers("depth", {}, {5})
      .floats("values", {2}, {-1.5F, 2.5F})
      .output("y");
  set(file.node("OneHot", {"i", "depth", "values"}, {"y"}), "axis", 1);
  Indices indices = {0, 4, -1, -5, 5, -6};
  const Result result = run_all(file, {{"i", Tensor::view(indices.data(), {2, 3})}}).front();
  CHECK(result.shape == Shape{2, 5, 3});
  for (std::size_t i = 0; i < result.values.size(); ++i) {
    const std::int64_t index = indices[i / 15 * 3 + i % 3],
                       place = static_cast<std::int64_t>(i / 3 % 5);
    CHECK(result.values[i] == (index == place || index + 5 == place ? 2.5 : -1.5));
  }
  OnnxFile eye;
  eye.input("x", {"N", "M"}).output("y");
  set(eye.node("EyeLike", {"x"}, {"y"}), "k", -1);
  std::vector<float> x = random_floats(12);
  CHECK(run(eye, {{"x", {&x, {4, 3}}}}).values == Values{0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1});
}

TEST_CASE("imported elements by indices along one axis, which may count from the end") {
  OnnxFile file;
  file.input("x", {"N", "M", 4}).input("i", {"A", "B", "C"}, onnx::TensorProto::INT64).output("y");
  set(file.node("GatherElements", {"x", "i"}, {"y"}), "axis", 1);
  for (const std::int64_t m : {1, 5}) {
    std::vector<float> x = random_floats(static_cast<std::size_t>(3 * m * 4));
    Indices indices = random_indices(2 * 7 * 3, -m, m - 1);
    Values expected;
    for (std::int64_t i = 0; i < 2 * 7 * 3; ++i) {
      const std::int64_t index = indices[static_cast<std::size_t>(i)];
      expected.push_back(at(x, (i / 21 * m + (index < 0 ? index + m : index)) * 4 + i % 3));
    }
    const NamedTensors inputs = {{"x", Tensor::view(x.data(), {3, m, 4})},
                                 {"i", Tensor::view(indices.data(), {2, 7, 3})}};
    const Result result = run_all(file, inputs).front();
    CHECK(result.shape == Shape{2, 7, 3});
    CHECK(result.values == expected);
    for (const std::int64_t outside : {m, -m - 1}) {
      indices[5] = outside;
      CHECK_THROWS_AS(run_all(file, inputs), Error);
    }
  }
}

TEST_CASE("imported slices by tuples of indices, of each batch its own") {
  for (const std::int64_t batch : {0, 1}) {
    OnnxFile file;
    file.input("x", {"N", "M", "K", 2});
    if (batch == 0)
      file.input("i", {"A", 3}, onnx::TensorProto::INT64);
    else
      file.input("i", {"N", "A", 2}, onnx::TensorProto::INT64);
    file.output("y");
    set(file.node("GatherND", {"x", "i"}, {"y"}), "batch_dims", batch);
    std::vector<float> x = random_floats(2 * 3 * 5 * 2);
    Indices indices;
    Values expected;
    for (std::int64_t i = 0; i < 4; ++i) {
      const std::int64_t n = batch == 0 ? random_indices(1, -2, 1)[0] : i / 2,
                         m = random_indices(1, -3, 2)[0], k = random_indices(1, -5, 4)[0];
      if (batch == 0) indices.push_back(n);
      indices.insert(indices.end(), {m, k});
      for (std::int64_t c = 0; c < 2; ++c)
        expected.push_back(at(x, (((n + 2) % 2 * 3 + (m + 3) % 3) * 5 + (k + 5) % 5) * 2 + c));
    }
    const NamedTensors inputs = {
        {"x", Tensor::view(x.data(), {2, 3, 5, 2})},
        {"i", Tensor::view(indices.data(), batch == 0 ? Shape{4, 3} : Shape{2, 2, 2})}};
    CHECK(run_all(file, inputs).front().values == expected);
    indices.back() = 5;
    CHECK_THROWS_AS(run_all(file, inputs), Error);
  }
}

TEST_CASE("imported sequences are turned round up to their own lengths") {
  for (const bool batch_first : {false, true}) {
    OnnxFile file;
    file.input("x", {"A", "B", 3}).input("n", {"S"}, onnx::TensorProto::INT64).output("y");
    set(set(file.node("ReverseSequence", {"x", "n"}, {"y"}), "batch_axis", batch_first ? 0 : 1),
        "time_axis", batch_first ? 1 : 0);
    const std::int64_t batch = 4, time = 6;
    std::vector<float> x = random_floats(batch * time * 3);
    Indices lengths = {6, 1, 0, 4};
    Values expected;
    for (std::int64_t i = 0; i < batch * time * 3; ++i) {
      const std::int64_t outer = i / 3 / (batch_first ? time : batch),
                         inner = i / 3 % (batch_first ? time : batch);
      const std::int64_t b = batch_first ? outer : inner, t = batch_first ? inner : outer,
                         length = lengths[static_cast<std::size_t>(b)];
      const std::int64_t from = t < length ? length - 1 - t : t;
      expected.push_back(at(x, (batch_first ? b * time + from : from * batch + b) * 3 + i % 3));
    }
    const NamedTensors inputs = {
        {"x", Tensor::view(x.data(), batch_first ? Shape{batch, time, 3} : Shape{time, batch, 3})},
        {"n", Tensor::view(lengths.data(), {batch})}};
    CHECK(run_all(file, inputs).front().values == expected);
    lengths[1] = 7;
    CHECK_THROWS_AS(run_all(file, inputs), Error);
  }
}

TEST_CASE("an imported loss weighs each target by its class, and ignores what it is told to") {
  for (int bits = 0; bits < 24; ++bits) {
    const bool weighs = (bits & 1) != 0, ignores = (bits & 2) != 0, softmax = (bits & 4) != 0;
    const std::string reduction =
        std::vector<std::string>{"none", "sum", "mean"}[static_cast<std::size_t>(bits) / 8];
    CAPTURE(bits);
    OnnxFile file;
    file.input("x", {"N", 3, "K"}).input("t", {"N", "K"}, onnx::TensorProto::INT64).output("y");
    std::vector<float> x = random_floats(2 * 3 * 5), weights = random_floats(3, 0.2F);
    file.floats("w", {3}, weights);
    onnx::NodeProto& node = file.node(
        softmax ? "SoftmaxCrossEntropyLoss" : "NegativeLogLikelihoodLoss", {"x", "t"}, {"y"});
    if (weighs) node.add_input("w");
    if (ignores) set(node, "ignore_index", -7);
    testing::set_word(node, "reduction", reduction);
    if (softmax) {
      node.add_output("p");
      file.output("p");
    }
    Indices targets = random_indices(10, 0, 2);
    if (ignores) targets[3] = targets[7] = -7;
    Values losses, probabilities(30);
    double sum = 0, weight_sum = 0;
    for (std::int64_t i = 0; i < 10; ++i) {
      const std::int64_t n = i / 5, k = i % 5, target = targets[static_cast<std::size_t>(i)];
      double total = 0;
      for (std::int64_t c = 0; c < 3; ++c) total += std::exp(at(x, (n * 3 + c) * 5 + k));
      for (std::int64_t c = 0; c < 3; ++c) {
        const std::int64_t place = (n * 3 + c) * 5 + k;
        probabilities[static_cast<std::size_t>(place)] =
            softmax ? at(x, place) - std::log(total) : at(x, place);
      }
      const double weight = target < 0 ? 0 : weighs ? at(weights, target) : 1;
      losses.push_back(
          target < 0 ? 0
                     : -weight * probabilities[static_cast<std::size_t>((n * 3 + target) * 5 + k)]);
      sum += losses.back();
      weight_sum += weight;
    }
    const std::vector<Result> results = run_all(
        file,
        {{"x", Tensor::view(x.data(), {2, 3, 5})}, {"t", Tensor::view(targets.data(), {2, 5})}});
    check_close(results[0].values,
                reduction == "none" ? losses : Values{reduction == "sum" ? sum : sum / weight_sum},
                1e-5);
    if (softmax) check_close(results[1].values, probabilities, 1e-5);
  }
}
