// Random inputs that make sense to the model.

#include "src/cli/input/inputs.hpp"

#include <cmath>
#include <set>

#include <doctest/doctest.h>

#include "dyn/error.hpp"
#include "dyn/graph.hpp"
#include "graph/text/text.hpp"
#include "src/cli/input/shapes.hpp"

namespace {

constexpr const char* text = R"(dyn 1
dim B in 1..64
dim S in 1..512 hint 128
weight w: f32[50, 3] = random 1
weight k: f32[2, 3] = random 2
graph g(ids: i64[B, S], kinds: i64[B, S], other: i64[B], attention_mask: f32[B, S], x: f32[S, 3]) -> (y: f32[B, S, 3]) {
  words = gather(w, ids) axis=0
  r = reshape(kinds) shape=[B * S]
  both = gather(k, r) axis=0
  z = reshape(both) shape=[B, S, 3]
  n = reshape(cast(other) dtype=f32) shape=[B, 1, 1]
  m = reshape(attention_mask) shape=[B, S, 1]
  y = words + z * m + x + n
  return y
}
)";

}  // namespace

TEST_CASE("inputs: extents of what is indexed") {
  const dyn::graph::Module module = dyn::graph::parse(text);
  CHECK(dyn::cli::index_extent(module, module.inputs[0])->constant() == 50);
  CHECK(dyn::cli::index_extent(module, module.inputs[1])->constant() == 2);
  CHECK_FALSE(dyn::cli::index_extent(module, module.inputs[2]));
  CHECK_FALSE(dyn::cli::index_extent(module, module.inputs[4]));
}

TEST_CASE("inputs: random ones are in range, masks are 1, the same seed gives the same") {
  dyn::Options options;
  options.device = "reference";
  const dyn::Graph graph = dyn::Graph::from_text(text, options);
  const auto& model = *graph.model();
  const std::vector<std::int64_t> symbols = dyn::cli::bind_partial(model, {{"ids", {4, 100}}});
  const std::vector<dyn::Tensor> inputs = dyn::cli::make_inputs(model, symbols, {}, 5);
  REQUIRE(inputs.size() == 5);
  std::set<std::int64_t> words;
  for (const std::int64_t word : inputs[0].data<std::int64_t>()) words.insert(word);
  CHECK(*words.begin() >= 0);
  CHECK(*words.rbegin() < 50);
  CHECK(words.size() > 40);
  for (const std::int64_t kind : inputs[1].data<std::int64_t>()) CHECK((kind == 0 || kind == 1));
  for (const float m : inputs[3].data<float>()) CHECK(m == 1);
  double sum = 0, squares = 0;
  for (const float x : inputs[4].data<float>()) {
    sum += static_cast<double>(x);
    squares += static_cast<double>(x) * static_cast<double>(x);
  }
  CHECK(std::abs(sum / 300) < 0.3);
  CHECK(squares / 300 == doctest::Approx(1).epsilon(0.4));

  const auto again = dyn::cli::make_inputs(model, symbols, {}, 5),
             other = dyn::cli::make_inputs(model, symbols, {}, 6);
  CHECK(std::equal(again[4].data<float>().begin(), again[4].data<float>().end(),
                   inputs[4].data<float>().begin()));
  CHECK_FALSE(std::equal(other[4].data<float>().begin(), other[4].data<float>().end(),
                         inputs[4].data<float>().begin()));
  CHECK_NOTHROW(graph.run({{"ids", inputs[0]},
                           {"kinds", inputs[1]},
                           {"other", inputs[2]},
                           {"attention_mask", inputs[3]},
                           {"x", inputs[4]}}));
}

TEST_CASE("inputs: given ones are taken as they are, and must fit") {
  dyn::Options options;
  options.device = "reference";
  const dyn::Graph graph = dyn::Graph::from_text(text, options);
  const auto& model = *graph.model();
  const std::vector<std::int64_t> symbols = dyn::cli::bind_partial(model, {{"ids", {2, 3}}});
  const dyn::Tensor ids = dyn::Tensor::from<std::int64_t>({1, 2, 3, 4, 5, 6}, {2, 3});
  CHECK(dyn::cli::make_inputs(model, symbols, {{"ids", ids}}, 0)[0].raw() == ids.raw());
  CHECK_THROWS_AS(
      dyn::cli::make_inputs(model, symbols, {{"ids", dyn::Tensor(dyn::DType::i64, {3, 2})}}, 0),
      dyn::Error);
  CHECK_THROWS_AS(
      dyn::cli::make_inputs(model, symbols, {{"ids", dyn::Tensor(dyn::DType::i32, {2, 3})}}, 0),
      dyn::Error);
  CHECK_THROWS_AS(dyn::cli::make_inputs(model, symbols, {{"nothing", ids}}, 0), dyn::Error);
}

TEST_CASE("shapes of some inputs give the dims; contradictions are user errors") {
  dyn::Options options;
  options.device = "reference";
  const dyn::Graph graph = dyn::Graph::from_text(text, options);
  const auto& model = *graph.model();
  const auto shapes = model.input_shapes(dyn::cli::bind_partial(model, {{"ids", {2, 9}}}));
  CHECK(shapes[1].second == dyn::Shape{2, 9});
  CHECK(shapes[4].second == dyn::Shape{9, 3});
  CHECK(model.input_shapes(dyn::cli::bind_partial(model, {{"other", {2}}}))[0].second ==
        dyn::Shape{2, 128});
  CHECK_THROWS_AS(dyn::cli::bind_partial(model, {{"ids", {2, 9}}, {"x", {8, 3}}}), dyn::Error);
  CHECK_THROWS_AS(dyn::cli::bind_partial(model, {{"ids", {2, 9}}, {"x", {9, 4}}}), dyn::Error);
  CHECK_THROWS_AS(dyn::cli::bind_partial(model, {{"ids", {2}}}), dyn::Error);
  CHECK_THROWS_AS(dyn::cli::bind_partial(model, {{"nothing", {2}}}), dyn::Error);
  CHECK_THROWS_AS(dyn::cli::bind_partial(model, {{"ids", {2, 513}}}), dyn::Error);
  CHECK_THROWS_AS(dyn::cli::bind_partial(model, {}), dyn::Error);
}
