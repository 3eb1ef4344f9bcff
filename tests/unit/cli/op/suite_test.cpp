// Files of shapes: what their lines stand for, what is wrong in a broken one, and the project's
// own.

#include <algorithm>
#include <functional>
#include <set>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/cli/op/op_model.hpp"
#include "src/cli/op/suite.hpp"
#include "src/cli/op/suite_kinds.hpp"
#include "tests/unit/cli/input/temporary_file.hpp"

using namespace dyn::cli;
using dyn::Shape;
using dyn::testing::TemporaryFile;

namespace {

using Attributes = std::vector<std::pair<std::string, std::string>>;

std::vector<OpCase> cases_of(const std::string& text) {
  const TemporaryFile file(text);
  return read_suite(file.path);
}

Shape shape_of_operand(const OpCase& test, std::size_t operand) {
  return shape_of(test.problem.operands.at(operand), test.values);
}

Shape result_shape(const OpCase& test) { return result_of(test.problem, test.values).shape; }

std::vector<OpCase> cases_of_project(const std::string& name) {
  return read_suite(fmt::format("{}/tests/bench/suites/{}.txt", DYN_SOURCE_DIR, name));
}

struct Interval {
  std::int64_t low, high;
  bool operator==(const Interval&) const = default;
};

Interval interval_of(const std::vector<OpCase>& cases, const std::string& column) {
  Interval interval{INT64_MAX, 0};
  for (const OpCase& test : cases) {
    interval.low = std::min(interval.low, test.row.sizes.at(column));
    interval.high = std::max(interval.high, test.row.sizes.at(column));
  }
  return interval;
}

}  // namespace

TEST_CASE("suites: matmuls") {
  const auto constant = cases_of("# comment\n\nM N K # columns\n 5 768 2304\n16 1 9\n");
  REQUIRE(constant.size() == 2);
  CHECK(constant[0].values == DimMap{{"M", 5}, {"N", 768}, {"K", 2304}});
  CHECK(to_string(constant[0].problem.operands) == "f32[M,2304] x const f32[2304,768]");
  CHECK(shape_of_operand(constant[1], 1) == Shape{9, 1});

  const auto fresh = cases_of("M N K TA TB\n5 7 9 N T\n5 7 9 T N\n");
  REQUIRE(fresh.size() == 2);
  CHECK(to_string(fresh[0].problem.operands) == "f32[M,K] x f32[N,K]");
  CHECK(fresh[0].problem.attributes == Attributes{{"transpose_b", "true"}});
  CHECK(shape_of_operand(fresh[1], 0) == Shape{9, 5});

  const auto batches = cases_of("B M N K TA TB\n3 5 7 9 N T\n3 5 7 9 T N\n");
  REQUIRE(batches.size() == 2);
  CHECK(to_string(batches[0].problem.operands) == "f32[B,M,K] x f32[B,N,K]");
  CHECK(batches[0].names == std::vector<std::string>{"B", "M", "N", "K"});
  CHECK(shape_of_operand(batches[1], 0) == Shape{3, 9, 5});
  for (const OpCase& test : batches) CHECK(result_shape(test) == Shape{3, 5, 7});
}

TEST_CASE("suites: attention") {
  const auto cases = cases_of("B H Q S D DV MASK\n2 3 4 9 8 5 none\n2 3 4 9 8 5 causal\n");
  REQUIRE(cases.size() == 2);
  CHECK(to_string(cases[0].problem.operands) == "f32[B,H,Q,8] x f32[B,H,S,8] x f32[B,H,S,5]");
  CHECK(cases[0].problem.attributes.empty());
  CHECK(cases[1].problem.attributes == Attributes{{"causal", "true"}});
  for (const OpCase& test : cases) CHECK(result_shape(test) == Shape{2, 3, 4, 5});
}

TEST_CASE("suites: convolutions, of which the batch may be free") {
  const auto cases =
      cases_of("N IC IH IW OC KH KW SH SW PT PL PB PR G\n2 6 9 8 4 3 5 2 1 1 0 1 4 2\n");
  REQUIRE(cases.size() == 1);
  CHECK(cases[0].problem.operands[0].dims == std::vector<std::string>{"N", "IH", "IW", "6"});
  CHECK(shape_of(cases[0].problem.operands[1], {}) == Shape{3, 5, 3, 4});
  CHECK(result_shape(cases[0]) == Shape{2, 5, 8, 4});
  const auto free = cases_of("IC IH IW OC KH KW SH SW PT PL PB PR G\n6 9 8 4 3 5 2 1 1 0 1 4 2\n");
  CHECK(free.at(0).problem == cases[0].problem);
  CHECK_FALSE(free[0].values.contains("N"));
}

TEST_CASE("suites: a line stands for the product of its columns, and columns may be tied") {
  const auto cases = cases_of("B M N K TA TB\n6 1..4*2,9 =M 64,3 N T\n");
  REQUIRE(cases.size() == 8);
  CHECK(cases[0].values == DimMap{{"B", 6}, {"M", 1}, {"N", 1}, {"K", 64}});
  CHECK(cases[1].values == DimMap{{"B", 6}, {"M", 1}, {"N", 1}, {"K", 3}});
  CHECK(cases[7].values == DimMap{{"B", 6}, {"M", 9}, {"N", 9}, {"K", 3}});
  for (const OpCase& test : cases) CHECK(result_shape(test)[1] == result_shape(test)[2]);
}

TEST_CASE("suites: broken ones name file, line and text") {
  struct Case {
    const char* text;
    const char* part;
  };
  const Case cases[] = {
      {"M N K\n5 7\n", ":2: expected 3 words (M N K), but there are 2\n  5 7"},
      {"M N K\n5 7 x9\n", ":2: K is \"x9\", which is neither sizes"},
      {"M N K\n5 -7 9\n", ":2: N is \"-7\""},
      {"M N K\n5 9..7 9\n",
       "N is \"9..7\", which is neither sizes (7 or 1,8 or 1..512*2 or "
       "16..128+16) nor = and an earlier column: the range is empty"},
      {"M N K\n5 =K 9\n", ":2: N is \"=K\", but there is no size K before it"},
      {"M N K\n5 =N 9\n", "no size N before it"},
      {"M N K\n=M 5 9\n", "no size M before it"},
      {"M N K TA TB\n5 =M =N N N\n", "no size N before it"},
      {"M N K\n1..2000 1..2000 9\n", ":2: the line stands for more than a million problems"},
      {"#\nA B\n5 7\n",
       ":2: the columns are those of no problem; these are known:\n    M N K  "
       "(matmuls with a constant weight)"},
      {"M N K TA TB\n5 7 9 N Q\n", ":2: TB is \"Q\", which is none of N, T\n  5 7 9 N Q"},
      {"B H Q S D DV MASK\n1 1 3 2 8 8 causal\n", ":2: under a causal mask Q may be at most S"},
      {"M N K\n", "no problem"},
      {"softmax M N\n5 7\n", ":1: the columns are those of no problem"},
      {"IC IH IW OC KH KW SH SW PT PL PB PR G\n3 1 1 4 1 1 1 1 0 0 0 0 2\n",
       "G is 2, which does not divide IC"},
  };
  for (const Case& test : cases) {
    CAPTURE(test.text);
    const TemporaryFile file(test.text);
    CHECK_THROWS_WITH_AS(read_suite(file.path), doctest::Contains(test.part), dyn::Error);
    CHECK_THROWS_WITH_AS(read_suite(file.path), doctest::Contains(file.path.c_str()), dyn::Error);
  }
  CHECK_THROWS_WITH_AS(read_suite("/nonexistent/suite.txt"),
                       doctest::Contains("/nonexistent/suite.txt: cannot be read"), dyn::Error);
}

TEST_CASE("suites: the project's have the counts that their papers state, and all have results") {
  struct Case {
    const char* name;
    std::size_t count;
  };
  const Case suites[] = {
      {"gemm-transformer", 136},
      {"gemm-cnn", 102},
      {"gemm-gnn", 38},
      {"gemm-deepbench", 84},
      {"conv-deepbench", 192},
      {"conv-cnn", 86},
      {"attention", 39},
      {"papers/vortex-transformer", 192},
      {"papers/vortex-gnn", 150},
      {"papers/vortex-cnn", 80},
      {"papers/vortex-conv-deepbench", 107},
      {"papers/vortex-conv-cnn", 584},
      {"papers/vortex-lengths", 96},
      {"papers/vortex-engines", 48},
      {"papers/vortex-overhead", 7},
      {"papers/mikpoly-deepbench", 166},
      {"papers/mikpoly-conv", 5485},
      {"papers/mikpoly-lengths", 8192},
      {"papers/mikpoly-llama2", 52},
      {"papers/ftuner-dense", 128},
      {"papers/ftuner-batch-matmul", 8},
      {"papers/dietcode-dense", 8},
      {"papers/dietcode-batch-matmul-nt", 8},
      {"papers/dietcode-batch-matmul-nn", 8},
      {"papers/tscompiler-dense", 2 * 62},
      {"papers/tscompiler-batch-matmul-nt", 25},
      {"papers/tscompiler-batch-matmul-nn", 25},
  };
  constexpr std::size_t examined = 40;
  for (const Case& suite : suites) {
    CAPTURE(suite.name);
    auto cases = cases_of_project(suite.name);
    CHECK(cases.size() == suite.count);
    for (std::size_t i = 0; i < cases.size(); i += 1 + cases.size() / examined) {
      cases[i].values.try_emplace("N", 1);  // the batch, where it is free
      CHECK(dyn::element_count(result_shape(cases[i])) > 0);
    }
  }
  // gemm-deepbench is also the first row of Vortex's table 3.
  CHECK(84 + 192 + 80 + 150 + 107 + 584 == 1197);
}

TEST_CASE("suites: those of the papers have the ranges that their papers state") {
  const auto transformer = cases_of_project("papers/vortex-transformer");
  CHECK(interval_of(transformer, "M") == Interval{1, 476});
  CHECK(interval_of(transformer, "N") == Interval{768, 4096});
  CHECK(interval_of(transformer, "K") == Interval{768, 4096});
  const auto gnn = cases_of_project("papers/vortex-gnn");
  CHECK(interval_of(gnn, "M") == Interval{2708, 1888584});
  CHECK(interval_of(gnn, "N") == Interval{2, 121});
  CHECK(interval_of(gnn, "K") == Interval{8, 3703});
  const auto cnn = cases_of_project("papers/vortex-cnn");
  CHECK(interval_of(cnn, "M") == Interval{1, 128});
  CHECK(interval_of(cnn, "K") == Interval{80, 25088});
  CHECK(interval_of(cnn, "N") == Interval{10, 4096});
  const auto deepbench = cases_of_project("gemm-deepbench");
  CHECK(interval_of(deepbench, "M") == Interval{35, 8448});
  CHECK(interval_of(deepbench, "N") == Interval{1, 6000});
  CHECK(interval_of(deepbench, "K") == Interval{128, 500000});
  const auto conv = cases_of_project("papers/vortex-conv-cnn");
  CHECK(interval_of(conv, "N") == Interval{1, 64});
  CHECK(interval_of(conv, "IH") == Interval{4, 768});
  CHECK(interval_of(conv, "KH") == Interval{1, 11});
  CHECK(interval_of(conv, "IC") == Interval{3, 832});
  CHECK(interval_of(conv, "OC") == Interval{16, 512});
  const auto mikpoly = cases_of_project("papers/mikpoly-conv");
  CHECK(interval_of(mikpoly, "N") == Interval{1, 128});
  CHECK(interval_of(mikpoly, "IH").high == 640);
  const auto dense = cases_of_project("papers/ftuner-dense");
  CHECK(interval_of(dense, "M") == Interval{16, 2048});
}

TEST_CASE("suites: no case stands twice in those that count distinct ones") {
  for (const char* name :
       {"gemm-deepbench", "papers/vortex-transformer", "papers/vortex-gnn", "papers/vortex-cnn",
        "papers/vortex-conv-cnn", "papers/mikpoly-deepbench", "papers/mikpoly-conv"}) {
    CAPTURE(name);
    const auto cases = cases_of_project(name);
    std::set<DimMap> distinct;
    for (const OpCase& test : cases) distinct.insert(test.row.sizes);
    CHECK(distinct.size() == cases.size());
  }
}
