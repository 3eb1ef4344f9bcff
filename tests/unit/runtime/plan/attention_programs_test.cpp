// Every program that can be chosen for attention, and who has one.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "dyn/dyn.hpp"
#include "src/rkernel/target/same_program.hpp"
#include "src/runtime/plan/candidates.hpp"
#include "src/runtime/run/call_state.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn;
using rkernel::Policy;

namespace {

std::string text_of(bool causal) {
  return fmt::format(
      "dyn 1\ndim H\ndim Q\ndim S\ngraph a(q: f32[H, Q, 40], k: f32[H, S, 40], v: f32[H, S, 24]) "
      "-> (y: f32[H, Q, 24]) {{\n  y = attention(q, k, v) causal={}\n  return y\n}}\n",
      causal);
}

std::shared_ptr<const runtime::Model> loaded(const std::string& text, int threads) {
  runtime::LoadRequest request;
  request.text = text;
  return runtime::Model::load(request, testing::uncached(threads));
}

std::size_t attention_group(const runtime::Model& model) {
  const auto& problems = model.problems();
  const auto found = std::ranges::find_if(
      problems, [](const rkernel::Problem& problem) { return problem.attention.has_value(); });
  REQUIRE(found != problems.end());
  return static_cast<std::size_t>(found - problems.begin());
}

std::vector<float> normal_values(std::int64_t count, std::mt19937_64& random) {
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

struct Sizes {
  std::int64_t heads, queries, keys;

  std::vector<Shape> shapes() const {
    return {{heads, queries, 40}, {heads, keys, 40}, {heads, keys, 24}};
  }
  std::map<std::string, std::int64_t> dims() const {
    return {{"H", heads}, {"Q", queries}, {"S", keys}};
  }
};

double largest_difference(std::span<const float> got, std::span<const float> expected) {
  if (got.size() != expected.size()) return std::numeric_limits<double>::infinity();
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double difference = std::fabs(double{got[i]} - double{expected[i]});
    worst = std::max(worst, std::isnan(difference) ? 1.0 : difference);
  }
  return worst;
}

/// Runs all of dyn's programs at these sizes; gives their number.
std::size_t check_programs(const Graph& reference,
                           const std::shared_ptr<const runtime::Model>& model, const Sizes& sizes,
                           std::mt19937_64& random) {
  const std::size_t group = attention_group(*model);
  const std::vector<Shape> shapes = sizes.shapes();
  std::vector<std::vector<float>> data;
  for (const Shape& shape : shapes) data.push_back(normal_values(element_count(shape), random));
  const auto input = [&](std::size_t i) { return Tensor::view(data[i].data(), shapes[i]); };
  auto outputs = reference.run({{"q", input(0)}, {"k", input(1)}, {"v", input(2)}});
  const std::span<const float> expected = outputs["y"].data<float>();
  runtime::CallState call(model);
  for (std::size_t i = 0; i < shapes.size(); ++i) call.set_input(i, input(i));
  const auto plan = model->plan_uncached(model->bind_dims(sizes.dims()));
  const rkernel::PlanRequest request{plan->symbols, model->threads()};
  const rkernel::Choices choices = model->kernel(group).choices(request, Policy::Dyn);
  REQUIRE(choices.chosen < choices.candidates.size());
  CHECK(rkernel::same_program(choices.candidates[choices.chosen].launch,
                              model->kernel(group).plan(request)));
  for (const rkernel::Candidate& program : choices.candidates) {
    CAPTURE(program.program);
    CHECK(program.predicted_seconds.value_or(0) > 0);
    call.use_plan(runtime::with_launch(*plan, group, program.launch, model->threads()));
    call.run();
    CHECK(largest_difference(call.output(0).data<float>(), expected) < 1e-5);
  }
  return choices.candidates.size();
}

}  // namespace

TEST_CASE("every program for attention computes what the reference does; dyn's is the plan's") {
  const Sizes all[] = {{3, 1, 700}, {2, 300, 300}, {5, 37, 1100}, {1, 600, 700}};
  std::mt19937_64 random(testing::test_seed(5));
  std::size_t programs = 0;
  for (const bool causal : {false, true}) {
    CAPTURE(causal);
    const Graph reference = Graph::from_text(text_of(causal), testing::uncached(1, "reference"));
    for (const int threads : {1, 2}) {
      CAPTURE(threads);
      const auto model = loaded(text_of(causal), threads);
      for (const Sizes& sizes : all) {
        CAPTURE(sizes.queries);
        programs += check_programs(reference, model, sizes, random);
      }
    }
  }
  CHECK(programs > 30);
}

TEST_CASE("no paper's policy has a program for attention, and each says so") {
  const auto model = loaded(text_of(false), 1);
  const std::size_t group = attention_group(*model);
  const rkernel::Kernel& kernel = model->kernel(group);
  const auto symbols = model->bind_dims({{"H", 2}, {"Q", 3}, {"S", 4}});
  for (const rkernel::PolicyInfo& info : rkernel::all_policies()) {
    CAPTURE(info.name);
    const rkernel::Choices choices = kernel.choices({symbols, 1}, info.policy);
    CHECK(choices.candidates.empty() == (info.policy != Policy::Dyn));
    CHECK(choices.none_reason.empty() == (info.policy == Policy::Dyn));
    for (const bool remembered : {false, true})
      kernel.choose_only({symbols, 1}, info.policy, remembered);
  }
  CHECK(kernel.choices({symbols, 1}, Policy::DietCode).none_reason ==
        "the paper defines no choice for attention (DietCode, equation 3 and section 4.3); in a "
        "model dyn's choice runs");
  Options options = testing::uncached(1);
  options.policy = "mikpoly";
  runtime::LoadRequest request;
  request.text = text_of(false);
  const auto other = runtime::Model::load(request, options);
  CHECK(other->kernel(attention_group(*other))
            .explain({other->bind_dims({{"H", 2}, {"Q", 3}, {"S", 4}}), 1})
            .find("policy mikpoly has none: the paper defines no choice for attention") !=
        std::string::npos);
  const auto empty = model->bind_dims({{"H", 2}, {"Q", 0}, {"S", 4}});
  CHECK(kernel.choices({empty, 1}, Policy::Dyn).none_reason ==
        "there is nothing to compute: the output is empty");
}
