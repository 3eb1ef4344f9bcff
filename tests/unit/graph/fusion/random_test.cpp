// Random graphs: fused, lowered and interpreted, they give what the reference gives.

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>

#include "dyn/error.hpp"
#include "tests/support/random_graph.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/graph/fusion/pipeline.hpp"

namespace dyn::testing {
namespace {

int graph_count() {
  const char* given = std::getenv("DYN_GRAPHS");
  return given ? std::atoi(given) : test_rounds(300);
}

/// Describes what is wrong with one graph; empty: nothing.
std::string check(const std::string& text, std::mt19937_64& random,
                  const graph::DecomposeOptions& options, const graph::FuseOptions& fuse_options) {
  try {
    for (const std::string& defect : defects(through_passes(text, options, fuse_options)))
      return defect;
    for (const auto& [a, b] :
         {std::pair<std::int64_t, std::int64_t>{2, 3}, {1, 4}, {3, 1}, {0, 2}}) {
      const std::string difference =
          compare_with_reference(text, {{"A", a}, {"B", b}}, random, options, fuse_options);
      if (!difference.empty())
        return "A=" + std::to_string(a) + " B=" + std::to_string(b) + ": " + difference;
    }
  } catch (const Error& error) { return error.what(); }
  return "";
}

TEST_CASE("random graphs agree with the reference") {
  for (int i = 0; i < graph_count(); ++i) {
    const std::uint64_t seed = test_seed(1) + static_cast<std::uint64_t>(i);
    std::mt19937_64 random(seed);
    const std::string text = random_graph(random, 2 + static_cast<int>(random() % 14));
    CAPTURE(seed);
    CAPTURE(text);
    CHECK(check(text, random, {}, {}) == "");
    CHECK(check(text, random, {.keep_attention = true}, {.place_parts = true}) == "");
    CHECK(check(text, random, {},
                {.gated_columns = 1,
                 .prologue_columns = 1,
                 .image_channels = 1,
                 .columns_apart = true,
                 .share_inputs = true}) == "");
  }
}

}  // namespace
}  // namespace dyn::testing
