// Random graphs at random shapes: the numbers are the reference's, whatever is fused and wherever a
// buffer lies.

#include <doctest/doctest.h>

#include "tests/kernels/compare.hpp"
#include "tests/kernels/graph_writer.hpp"
#include "tests/support/graph_text.hpp"
#include "tests/support/seed.hpp"

namespace dyn::testing {
namespace {

constexpr int shapes_per_graph = 8;

Sizes random_sizes(Random& random) {
  static constexpr std::int64_t favourites[] = {0, 1, 2, 7, 8, 16, 17};
  Sizes sizes;
  for (const auto& name : GraphWriter::symbols()) {
    sizes[name] =
        random.chance(0.4) ? random.pick(favourites) : random.integer(1, GraphWriter::largest_size);
  }
  return sizes;
}

// Errors of one operator pass through up to eight others, which may amplify them; terms that cancel
// leave rounding alone.
constexpr Tolerance tolerance{Tolerance::Scale::Values, 2000};

void check_graph(Random& random) {
  GraphWriter writer(random);
  writer.write(static_cast<int>(random.integer(1, 9)));
  const auto text = writer.text();
  CAPTURE(text);
  const Subject subject(text);
  for (int shape = 0; shape < shapes_per_graph; ++shape) {
    const auto sizes = random_sizes(random);
    const auto inputs = subject.make_inputs(sizes, writer.fills(), random);
    CHECK_EQ(subject.check(inputs, tolerance, sizes), "");
  }
}

/// Each graph has draws of its own, so that one can be run alone.
void check_graphs(int first, int count) {
  for (int i = first; i < first + count; ++i) {
    CAPTURE(i);
    Random random("random graph " + std::to_string(i));
    CHECK_NOTHROW(check_graph(random));
  }
}

TEST_SUITE("fast") {
  TEST_CASE("what rounding leaves of terms that cancel is no error") {
    Random random("cancellation");
    const Subject subject(graph_text(
        {"A", "B"}, "x: f32[A, B]", "r: f32[1, B]",
        "y = slice(x) axes=[0] steps=[-1]\n  z = sub(x, y)\n  r = reduce_sum(z) axes=[0]"));
    const Sizes sizes{{"A", 100}, {"B", 17}};
    CHECK_EQ(subject.check(subject.make_inputs(sizes, {}, random), tolerance, sizes), "");
  }

  TEST_CASE("random graphs in short") { check_graphs(0, test_rounds(40)); }
}

TEST_SUITE("full") {
  TEST_CASE("random graphs at length") { check_graphs(40, test_rounds(300, 5)); }
}

}  // namespace
}  // namespace dyn::testing
