// --dims and --shapes.

#include "src/cli/input/ranges.hpp"

#include <doctest/doctest.h>

#include "dyn/error.hpp"
#include "src/cli/input/shapes.hpp"

using dyn::cli::parse_dim_values;
using dyn::cli::parse_shapes;
using Values = std::vector<std::int64_t>;

TEST_CASE("--dims: lists, ranges, steps and factors") {
  struct Case {
    const char* text;
    Values values;
  };
  const Case cases[] = {
      {"S=37", {37}},
      {"S=0", {0}},
      {"S=1,8,64", {1, 8, 64}},
      {"S=3..6", {3, 4, 5, 6}},
      {"S=5..5", {5}},
      {"S=1..512*2", {1, 2, 4, 8, 16, 32, 64, 128, 256, 512}},
      {"S=1..500*3", {1, 3, 9, 27, 81, 243}},
      {"S=16..100+16", {16, 32, 48, 64, 80, 96}},
      {"S=0..4+2", {0, 2, 4}},
      {"S=1,2..4,10..40*2", {1, 2, 3, 4, 10, 20, 40}},
      {"S=9223372036854775800..9223372036854775807+5", {9223372036854775800, 9223372036854775805}},
      {"S=4611686018427387904..9223372036854775807*2", {4611686018427387904}},
  };
  for (const Case& test : cases) {
    CAPTURE(test.text);
    const dyn::cli::DimValues dim = parse_dim_values(test.text);
    CHECK(dim.name == "S");
    CHECK(dim.values == test.values);
  }
}

TEST_CASE("--dims: what is malformed is a user error that quotes the text") {
  for (const char* text : {"",
                           "S",
                           "=3",
                           "S=",
                           "S=a",
                           "S=-1",
                           "S=1.5",
                           "S=1,",
                           "S=,1",
                           "S=5..3",
                           "S=0..8*2",
                           "S=1..8*1",
                           "S=1..8*0",
                           "S=1..8+0",
                           "S=1..",
                           "S=..3",
                           "S=1..8*",
                           "S=1..8/2",
                           "S=99999999999999999999",
                           "S=1..9000000000",
                           "S= 3"}) {
    CAPTURE(text);
    try {
      parse_dim_values(text);
      FAIL("accepted");
    } catch (const dyn::Error& error) {
      CHECK(error.kind() == dyn::ErrorKind::user);
      CHECK(std::string(error.what()).find(text) != std::string::npos);
    }
  }
}

TEST_CASE("values: what is wrong is said without where") {
  CHECK(dyn::cli::parse_values("1,4..8*2") == Values{1, 4, 8});
  CHECK_THROWS_WITH_AS(dyn::cli::parse_values("5..3"), "the range is empty", dyn::Error);
}

TEST_CASE("--dims: several multiply, the last one varying fastest") {
  const dyn::cli::DimValues dims[] = {{"B", {1, 8}}, {"S", {2, 3, 5}}};
  const auto combinations = dyn::cli::product(dims);
  REQUIRE(combinations.size() == 6);
  CHECK(combinations[1].at("B") == 1);
  CHECK(combinations[1].at("S") == 3);
  CHECK(combinations[3].at("B") == 8);
  CHECK(combinations[3].at("S") == 2);
  CHECK(dyn::cli::product({}).size() == 1);
}

TEST_CASE("--dims: a name given twice, and too many combinations, are user errors") {
  const dyn::cli::DimValues twice[] = {{"S", {1}}, {"S", {2}}};
  CHECK_THROWS_AS(dyn::cli::product(twice), dyn::Error);
  const dyn::cli::DimValues many[] = {{"A", Values(2000, 1)}, {"B", Values(2000, 1)}};
  CHECK_THROWS_AS(dyn::cli::product(many), dyn::Error);
}

TEST_CASE("--shapes: names, sizes and scalars") {
  const auto shapes = parse_shapes("ids=1x37,mask=0x5x2,t=scalar,v=7");
  REQUIRE(shapes.size() == 4);
  CHECK(shapes[0] == std::pair<std::string, dyn::Shape>("ids", {1, 37}));
  CHECK(shapes[1] == std::pair<std::string, dyn::Shape>("mask", {0, 5, 2}));
  CHECK(shapes[2] == std::pair<std::string, dyn::Shape>("t", {}));
  CHECK(shapes[3] == std::pair<std::string, dyn::Shape>("v", {7}));
  for (const char* text : {"", "ids", "=1x2", "ids=", "ids=1x", "ids=x1", "ids=1X2", "ids=-1x2",
                           "ids=1x2,", "ids=1xx2"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_shapes(text), dyn::Error);
  }
}
