// Every program that can be chosen for a convolution, not only the chosen one: blocks within a row
// of windows, across rows and across images, with strips and without.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "dyn/dyn.hpp"
#include "src/runtime/plan/candidates.hpp"
#include "src/runtime/run/call_state.hpp"
#include "targets/llvm/jit/isa.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn;

namespace {

struct Convolution {
  std::int64_t batch, channels, filters;
  std::vector<std::int64_t> sizes, taps, strides, dilations, before, after;  ///< by axis
  std::string image = "x";  ///< what windows slide over, of x and of q: f32[channels]

  Shape shape() const {
    Shape shape{batch};
    shape.insert(shape.end(), sizes.begin(), sizes.end());
    shape.push_back(channels);
    return shape;
  }
};

std::string text_of(const Convolution& of) {
  std::string dims, names, unknown;
  for (std::size_t i = 0; i < of.taps.size(); ++i) {
    dims += fmt::format("dim S{} in {}..64\n", i, of.taps[i]);
    names += fmt::format("S{}, ", i);
    unknown += "_, ";
  }
  return fmt::format(
      "dyn 1\ndim B\n{0}weight w: f32[{1}, {2}, {3}] = random 1\nweight b: f32[{3}] = random 2\n"
      "weight q: f32[{2}] = random 3\ngraph c(x: f32[B, {4}{2}]) -> (y: f32[B, {5}{3}]) {{\n"
      "  y = relu(conv({10}, w) strides=[{6}] dilations=[{7}] before=[{8}] after=[{9}] + b)\n"
      "  return y\n}}\n",
      dims, fmt::join(of.taps, ", "), of.channels, of.filters, names, unknown,
      fmt::join(of.strides, ", "), fmt::join(of.dilations, ", "), fmt::join(of.before, ", "),
      fmt::join(of.after, ", "), of.image);
}

/// Kernels of 1 to 5 taps a side that overlap or touch or, seldom, do not, along two axes or three.
/// Most have one tap along the first of three, which may be padded all the same.
Convolution random_convolution(std::mt19937_64& random) {
  const auto from = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
  };
  Convolution of{};
  of.batch = from(1, 3);
  of.channels = from(1, 20);
  of.filters = from(1, 70);
  const int axes = static_cast<int>(from(2, 3));
  for (int axis = 3 - axes; axis < 3; ++axis) {
    const std::int64_t taps = axis == 0 && from(0, 3) > 0 ? 1 : from(1, 5);
    of.taps.push_back(taps);
    of.strides.push_back(from(0, 5) == 0 ? from(1, 3) : from(1, std::min<std::int64_t>(2, taps)));
    of.dilations.push_back(axis == 1 ? from(1, 2) : 1);
    of.before.push_back(from(0, taps));
    of.after.push_back(from(0, taps));
    of.sizes.push_back(axis == 0   ? from(taps, taps + 2)
                       : axis == 1 ? from(2 * taps, axes == 3 ? 14 : 24)
                                   : from(taps, axes == 3 ? 20 : 40));
  }
  return of;
}

/// The largest difference of any program's result, relative to the largest expected value; -1: a
/// result is NaN.
double worst_difference(const runtime::Model& model, const Convolution& of,
                        std::span<const float> x, std::span<const float> expected,
                        std::size_t& ran) {
  const auto plan = model.plan_uncached(model.bind({{"x", of.shape()}}));
  runtime::CallState call(
      std::shared_ptr<const runtime::Model>(std::shared_ptr<const runtime::Model>(), &model));
  call.set_input(0, Tensor::view(x.data(), of.shape()));
  double worst = 0;
  for (std::size_t group = 0; group < plan->launches.size(); ++group) {
    for (const rkernel::Candidate& program :
         runtime::all_candidates(model.kernel(group), {plan->symbols, model.threads()}).programs) {
      call.use_plan(runtime::with_launch(*plan, group, program.launch, model.threads()));
      call.run();
      ++ran;
      const std::span<const float> got = call.output(0).data<float>();
      if (got.size() != expected.size()) return std::numeric_limits<double>::infinity();
      for (std::size_t i = 0; i < got.size(); ++i) {
        const double difference = std::fabs(got[i] - expected[i]) / (1 + std::fabs(expected[i]));
        if (!(difference < 1e-4))
          MESSAGE(program.program, ": element ", i, " is ", got[i], ", not ", expected[i]);
        if (!(difference < 1e-4)) return std::isnan(difference) ? -1 : difference;
        worst = std::max(worst, difference);
      }
    }
  }
  return worst;
}

/// Returns how many programs ran.
std::size_t check_programs(const Convolution& of, const Options& options, std::mt19937_64& random) {
  const std::string text = text_of(of);
  CAPTURE(text);
  const std::string sizes = to_string(of.shape());
  CAPTURE(sizes);
  std::normal_distribution<float> normal;
  std::vector<float> x(static_cast<std::size_t>(element_count(of.shape())));
  for (float& value : x) value = normal(random);
  const Graph reference = Graph::from_text(text, dyn::testing::uncached(1, "reference"));
  auto outputs = reference.run({{"x", Tensor::view(x.data(), of.shape())}});
  runtime::LoadRequest request;
  request.text = text;
  const auto model = runtime::Model::load(request, options);
  CHECK(model->problems().size() == 1);
  std::size_t ran = 0;
  const double worst = worst_difference(*model, of, x, outputs["y"].data<float>(), ran);
  CHECK(worst >= 0);
  CHECK(worst < 1e-4);
  return ran;
}

/// On each ISA of this CPU.
template <class Check>
void for_each_isa(const Check& check) {
  for (const dyn::codegen::Isa& isa : dyn::codegen::all_isas()) {
    if (!dyn::codegen::cpu_has(isa)) continue;
    CAPTURE(isa.name);
    check(isa);
  }
}

void check_convolutions(int count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::size_t ran = 0;
  for_each_isa([&](const dyn::codegen::Isa& isa) {
    for (int i = 0; i < count; ++i) {
      Options options = dyn::testing::uncached(1 + i % 2);
      options.isa = isa.name;
      ran += check_programs(random_convolution(random), options, random);
    }
  });
  CHECK(ran > static_cast<std::size_t>(20 * count));
}

}  // namespace

TEST_CASE("every program for a convolution computes what plain loops do") {
  check_convolutions(dyn::testing::test_rounds(24, 4), 1);
}

TEST_CASE("every program for a convolution of a computed image computes what plain loops do") {
  // Blocks of K begin within taps, of windows that lie partly outside.
  const Convolution of{2, 131, 288, {5, 6}, {3, 3}, {1, 1}, {2, 2}, {2, 2}, {2, 2}, "x + q"};
  std::mt19937_64 random(4);
  for_each_isa([&](const dyn::codegen::Isa& isa) {
    Options options = dyn::testing::uncached(1);
    options.isa = isa.name;
    CHECK(check_programs(of, options, random) > 20);
  });
}

TEST_CASE("convolutions that differ in what their code knows alone have code of their own") {
  // Convolutions of 3 and of 5 channels, whose windows touch, so that tiles may read strips, or do
  // not.
  const std::string strips = "  p = conv(x, v)\n", apart = "  q = conv(x, w) strides=[4, 4]\n",
                    wider = "  r = conv(z, u) strides=[4, 4]\n";
  for (const std::string& body :
       {strips + apart + wider, apart + strips + wider, wider + apart + strips}) {
    CAPTURE(body);
    const std::string text =
        "dyn 1\ndim H in 3..64\nweight u: f32[3, 3, 5, 40] = random 1\nweight v: f32[3, 3, 3, 40] "
        "= random 2\nweight w: f32[3, 3, 3, 40] = random 3\n"
        "graph c(x: f32[2, H, H, 3], z: f32[2, H, H, 5]) -> (p: f32[2, _, _, 40], q: f32[2, _, _, "
        "40], r: f32[2, _, _, 40]) {\n" +
        body + "  return p, q, r\n}\n";
    const Graph graph = Graph::from_text(text, dyn::testing::uncached(1)),
                reference = Graph::from_text(text, dyn::testing::uncached(1, "reference"));
    std::mt19937_64 random(3);
    std::normal_distribution<float> normal;
    const auto filled = [&](std::int64_t count) {
      std::vector<float> values(static_cast<std::size_t>(count));
      for (float& value : values) value = normal(random);
      return values;
    };
    const std::vector<float> x = filled(2 * 41 * 41 * 3), z = filled(2 * 41 * 41 * 5);
    const auto run = [&](const Graph& which) {
      return which.run({{"x", Tensor::view(x.data(), {2, 41, 41, 3})},
                        {"z", Tensor::view(z.data(), {2, 41, 41, 5})}});
    };
    auto got = run(graph), expected = run(reference);
    for (const char* name : {"p", "q", "r"}) {
      const std::span<const float> values = got[name].data<float>(),
                                   wanted = expected[name].data<float>();
      REQUIRE(values.size() == wanted.size());
      double worst = 0;
      for (std::size_t i = 0; i < values.size(); ++i)
        worst = std::max(worst, std::isnan(values[i])
                                    ? 1.0
                                    : static_cast<double>(std::fabs(values[i] - wanted[i])));
      CHECK(worst < 1e-4);
    }
  }
}

TEST_SUITE("full") {
  TEST_CASE("every program for many convolutions computes what plain loops do") {
    check_convolutions(dyn::testing::test_rounds(60, 5), 2);
  }
}
