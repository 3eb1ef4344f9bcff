// Reductions, contractions and movement against values worked out by hand.

#include <cmath>

#include <doctest/doctest.h>

#include "dyn/error.hpp"
#include "tests/unit/reference/evaluate.hpp"

namespace dyn::testing {
namespace {

struct ArrayCase {
  const char* expression;
  const char* result;
  std::vector<Argument> arguments;
  Numbers expected;
};

const Argument six{"f32[2, 3]", {1, -2, 4, 8, 16, -32}};
const Argument cube{"f32[2, 2, 2]", {1, 2, 3, 4, 5, 6, 7, 8}};

const ArrayCase cases[] = {
    {"reduce_sum(a) axes=[1] keepdims=false", "f32[2]", {six}, {3, -8}},
    {"reduce_sum(a) axes=[0] keepdims=true", "f32[1, 3]", {six}, {9, 14, -28}},
    {"reduce_sum(a) axes=[-1, 0] keepdims=false", "f32[]", {six}, {-5}},
    {"reduce_mean(a) axes=[1] keepdims=true", "f32[2, 1]", {six}, {1, -8.0 / 3}},
    {"reduce_max(a) axes=[1] keepdims=false", "f32[2]", {six}, {4, 16}},
    {"reduce_min(a) axes=[1] keepdims=false", "f32[2]", {six}, {-2, -32}},
    {"reduce_prod(a) axes=[1] keepdims=false", "f32[2]", {six}, {-8, -4096}},
    {"reduce_sum(a) axes=[0, 2] keepdims=false", "f32[2]", {cube}, {14, 22}},
    {"reduce_sum(a)", "f32[1, 1]", {six}, {-5}},
    {"reduce_max(a) axes=[0] keepdims=false", "f32[]", {{"f32[3]", {1, nan, 2}}}, {nan}},
    {"reduce_min(a) axes=[0] keepdims=false", "f32[]", {{"f32[3]", {nan, -1, 2}}}, {nan}},
    {"reduce_sum(a) axes=[0] keepdims=false", "f32[2]", {{"f32[0, 2]", {}}}, {0, 0}},
    {"reduce_prod(a) axes=[0] keepdims=false", "f32[2]", {{"f32[0, 2]", {}}}, {1, 1}},
    {"reduce_max(a) axes=[0] keepdims=false", "f32[2]", {{"f32[0, 2]", {}}}, {-inf, -inf}},
    {"reduce_sum(a) axes=[0] keepdims=false", "i64[]", {{"i64[3]", {1, 2, -5}}}, {-2}},
    {"reduce_sum(a) axes=[0] keepdims=false", "u8[]", {{"u8[3]", {200, 50, 10}}}, {4}},
    {"reduce_prod(a) axes=[0] keepdims=false", "i8[]", {{"i8[3]", {16, 4, 3}}}, {-64}},
    {"reduce_max(a) axes=[0] keepdims=false", "i16[]", {{"i16[0]", {}}}, {-32768}},
    {"reduce_min(a) axes=[0] keepdims=false", "u32[]", {{"u32[0]", {}}}, {4294967295.0}},
    {"reduce_max(a) axes=[0] keepdims=false", "bool[]", {{"bool[3]", {0, 1, 0}}}, {1}},
    {"reduce_mean(a) axes=[0] keepdims=false",
     "f64[]",
     {{"f64[2]", {1, 1 + 0x1p-40}}},
     {1 + 0x1p-41}},
    {"less(a, 9223372036854775808)", "bool[2]", {{"u64[2]", {5, 3}}}, {1, 1}},
    {"matmul(a, b)", "u8[1, 1]", {{"u8[1, 2]", {20, 30}}, {"u8[2, 1]", {10, 5}}}, {94}},

    {"softmax(a) axis=-1",
     "f32[2, 2]",
     {{"f32[2, 2]", {0, std::log(3), 5, 5}}},
     {0.25, 0.75, 0.5, 0.5}},
    {"softmax(a) axis=0",
     "f32[2, 2]",
     {{"f32[2, 2]", {0, 1000, std::log(3), 1000}}},
     {0.25, 0.5, 0.75, 0.5}},
    {"softmax(a) axis=-1", "f32[3]", {{"f32[3]", {-inf, 2, -inf}}}, {0, 1, 0}},

    {"layer_norm(a, b, c) epsilon=0",
     "f32[2, 2]",
     {{"f32[2, 2]", {1, 3, -10, 10}}, {"f32[2]", {2, 3}}, {"f32[2]", {0.5, -0.5}}},
     {-1.5, 2.5, -1.5, 2.5}},
    {"layer_norm(a, b, c) epsilon=8",
     "f32[2]",
     {{"f32[2]", {-1, 1}}, {"f32[2]", {3, 6}}, {"f32[2]", {0, 1}}},
     {-1, 3}},
    {"rms_norm(a, b) epsilon=0", "f32[2]", {{"f32[2]", {1, 7}}, {"f32[2]", {5, 10}}}, {1, 14}},

    {"matmul(a, b)", "f32[2, 2]", {six, {"f32[3, 2]", {1, 2, 3, 4, 5, 6}}}, {15, 18, -104, -112}},
    {"matmul(a, b) transpose_b=true",
     "f32[2, 2]",
     {six, {"f32[2, 3]", {1, 3, 5, 2, 4, 6}}},
     {15, 18, -104, -112}},
    {"matmul(a, b) transpose_a=true",
     "f32[2, 2]",
     {{"f32[3, 2]", {1, 8, -2, 16, 4, -32}}, {"f32[3, 2]", {1, 2, 3, 4, 5, 6}}},
     {15, 18, -104, -112}},
    {"matmul(a, b)", "f32[2, 2, 1]", {cube, {"f32[2, 1]", {1, 10}}}, {21, 43, 65, 87}},
    {"matmul(a, b)",
     "f32[2, 1, 1]",
     {{"f32[1, 2]", {1, 2}}, {"f32[2, 2, 1]", {1, 2, 3, 4}}},
     {5, 11}},
    {"matmul(a, b)", "f32[2, 2]", {{"f32[2, 0]", {}}, {"f32[0, 2]", {}}}, {0, 0, 0, 0}},

    {"gather(a, b) axis=0", "f32[2, 1, 3]", {six, {"i64[2, 1]", {1, 0}}}, {8, 16, -32, 1, -2, 4}},
    {"gather(a, b) axis=1", "f32[2, 2]", {six, {"i64[2]", {2, 0}}}, {4, 1, -32, 8}},
    {"concat(a, b) axis=1",
     "f32[2, 4]",
     {six, {"f32[2, 1]", {5, 6}}},
     {1, -2, 4, 5, 8, 16, -32, 6}},
    {"concat(a, b, a) axis=0", "f32[5]", {{"f32[2]", {1, 2}}, {"f32[1]", {9}}}, {1, 2, 9, 1, 2}},
    {"slice(a) axes=[1] starts=[1] ends=[3]", "f32[2, 2]", {six}, {-2, 4, 16, -32}},
    {"slice(a) axes=[0, 1] starts=[1, 0] ends=[2, 2]", "f32[1, 2]", {six}, {8, 16}},
    {"slice(a) axes=[1] starts=[-2]", "f32[2, 2]", {six}, {-2, 4, 16, -32}},
    {"slice(a) axes=[-1] ends=[-2]", "f32[2, 1]", {six}, {1, 8}},
    {"slice(a) axes=[1] steps=[2]", "f32[2, 2]", {six}, {1, 4, 8, -32}},
    {"slice(a) axes=[1] steps=[-1]", "f32[2, 3]", {six}, {4, -2, 1, -32, 16, 8}},
    {"range() end=4", "i64[4]", {}, {0, 1, 2, 3}},
    {"range() start=2 end=9 step=3 dtype=f32", "f32[3]", {}, {2, 5, 8}},
    {"range() start=3 end=-2 step=-2 dtype=i32", "i32[3]", {}, {3, 1, -1}},
    {"range() start=3 end=1", "i64[0]", {}, {}},
    {"pad(a) before=[1, 0] after=[0, 2] value=7",
     "f32[2, 3]",
     {{"f32[1, 1]", {5}}},
     {7, 7, 7, 5, 7, 7}},
    {"reshape(a) shape=[3, 2]", "f32[3, 2]", {six}, {1, -2, 4, 8, 16, -32}},
    {"reshape(a) shape=[-1, 1, 2]", "f32[3, 1, 2]", {six}, {1, -2, 4, 8, 16, -32}},
    {"transpose(a) perm=[1, 0]", "f32[3, 2]", {six}, {1, 8, -2, 16, 4, -32}},
    {"transpose(a) perm=[2, 0, 1]", "f32[2, 2, 2]", {cube}, {1, 3, 5, 7, 2, 4, 6, 8}},
    {"expand(a) shape=[2, 2, 2]",
     "f32[2, 2, 2]",
     {{"f32[2, 1]", {3, 4}}},
     {3, 3, 4, 4, 3, 3, 4, 4}},
};

TEST_SUITE("fast") {
  TEST_CASE("reductions, contractions and movement") {
    for (const auto& item : cases) {
      CAPTURE(item.expression);
      const auto result = evaluate(item.expression, item.result, item.arguments);
      CHECK(close(numbers(result), item.expected, 1e-12));
    }
  }

  TEST_CASE("split's parts follow each other") {
    const auto parts =
        evaluate_all("r, s = split(a) axis=1 sizes=[1, 2]", "r: f32[2, 1], s: f32[2, 2]", {six});
    REQUIRE(parts.size() == 2);
    CHECK(close(numbers(parts[0]), {1, 8}));
    CHECK(close(numbers(parts[1]), {-2, 4, 16, -32}));
  }

  TEST_CASE("a negative index counts from the end; one out of range is an error") {
    CHECK(close(numbers(evaluate("gather(a, b) axis=0", "f32[1, 3]", {six, {"i64[1]", {-1}}})),
                {8, 16, -32}));
    CHECK_THROWS_AS(evaluate("gather(a, b) axis=0", "f32[1, 3]", {six, {"i64[1]", {-3}}}), Error);
  }

  TEST_CASE("a gathered index out of range is an error") {
    CHECK_THROWS_AS(evaluate("gather(a, b) axis=0", "f32[1, 3]", {six, {"i64[1]", {2}}}), Error);
  }

  // Keys with equal scores: the result is the mean of the values that the query sees.
  const Argument query{"f32[1, 2, 1]", {0, 0}}, key{"f32[1, 3, 1]", {1, 2, 3}},
      value{"f32[1, 3, 1]", {1, 5, 30}};

  TEST_CASE("attention without a mask") {
    CHECK(close(numbers(evaluate("attention(a, b, c)", "f32[1, 2, 1]", {query, key, value})),
                {12, 12}, 1e-12));
  }

  TEST_CASE("causal attention with more keys than queries") {
    CHECK(close(
        numbers(evaluate("attention(a, b, c) causal=true", "f32[1, 2, 1]", {query, key, value})),
        {3, 12}, 1e-12));
  }

  TEST_CASE("attention's scale: given, and 1/sqrt(depth)") {
    const Argument q{"f32[1, 1, 4]", {1, 0, 0, 0}},
        k{"f32[1, 2, 4]", {0, 0, 0, 0, std::log(9), 0, 0, 0}}, v{"f32[1, 2, 1]", {0, 1}};
    CHECK(close(numbers(evaluate("attention(a, b, c)", "f32[1, 1, 1]", {q, k, v})), {0.75}, 1e-12));
    CHECK(close(numbers(evaluate("attention(a, b, c) scale=1.0", "f32[1, 1, 1]", {q, k, v})), {0.9},
                1e-12));
  }

  TEST_CASE("attention's mask is added; a row that sees nothing gives 0") {
    const Argument mask{"f32[1, 2, 3]", {0, -inf, 0, -inf, -inf, -inf}};
    CHECK(
        close(numbers(evaluate("attention(a, b, c, d)", "f32[1, 2, 1]", {query, key, value, mask})),
              {15.5, 0}, 1e-12));
  }
}

}  // namespace
}  // namespace dyn::testing
