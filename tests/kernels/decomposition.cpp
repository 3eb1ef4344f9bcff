// Passes keep the numbers: the reference gives the same for a module as parsed and after
// decomposing and simplifying.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "graph/fusion/group.hpp"
#include "graph/ir/op.hpp"
#include "graph/passes/pipeline.hpp"
#include "graph/text/text.hpp"
#include "tests/kernels/cases.hpp"
#include "tests/kernels/graph_writer.hpp"
#include "tests/support/relative.hpp"

namespace dyn::testing {
namespace {

std::vector<reference::Array> run(const graph::Module& module, const std::vector<Tensor>& inputs) {
  std::vector<reference::Array> arrays;
  std::vector<std::vector<std::int64_t>> dims;
  for (const auto& input : inputs) {
    arrays.push_back(reference::from_tensor(input));
    dims.push_back(input.shape());
  }
  const auto no_weight = [](graph::ValueId) -> reference::Array {
    throw Error(ErrorKind::internal, "no weights here");
  };
  return reference::run(module, reference::bind_symbols(module, dims), arrays, no_weight,
                        reference::Precision::f64);
}

bool near(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b)) ||
         std::fabs(a - b) <= rounding * (1 + std::fabs(a));
}

void check_passes(const std::string& text, const std::vector<Sizes>& shapes,
                  const std::vector<Fill>& fills, Random& random) {
  CAPTURE(text);
  const auto parsed = graph::parse(text);
  auto passed = graph::parse(text);
  graph::run_pipeline(
      passed, {}, [](const graph::Pass&, const graph::Module& module) { graph::verify(module); });
  for (const auto& sizes : shapes) {
    const auto inputs = make_inputs(parsed, sizes, fills, random);
    const auto before = run(parsed, inputs), after = run(passed, inputs);
    REQUIRE(before.size() == after.size());
    for (std::size_t i = 0; i < before.size(); ++i) {
      CHECK(before[i].dims == after[i].dims);
      CHECK(before[i].integers == after[i].integers);
      CHECK(std::ranges::equal(before[i].floats, after[i].floats, near));
    }
  }
}

TEST_SUITE("fast") {
  TEST_CASE("decomposing and simplifying the operators' cases keeps the numbers") {
    Random random("decomposed cases");
    for (const auto& cases : {elementwise_cases(), reduction_cases(), matmul_cases(),
                              attention_cases(), movement_cases(), conv_pool_cases()}) {
      for (const auto& item : cases) check_passes(text_of(item), item.sizes, item.fills, random);
    }
  }

  TEST_CASE("decomposing and simplifying random graphs keeps the numbers") {
    Random random("decomposed graphs");
    for (int i = 0; i < 200; ++i) {
      GraphWriter writer(random);
      writer.write(static_cast<int>(random.integer(1, 9)));
      std::vector<Sizes> shapes(4);
      for (auto& sizes : shapes) {
        for (const auto& name : GraphWriter::symbols())
          sizes[name] = random.integer(0, GraphWriter::largest_size);
      }
      check_passes(writer.text(), shapes, writer.fills(), random);
    }
  }
}

}  // namespace
}  // namespace dyn::testing
