// Shape inference and errors of each operator.

#include <algorithm>

#include <doctest/doctest.h>

#include "tests/unit/graph/ir/module_builder.hpp"

using namespace dyn::graph;
using dyn::DType;

namespace {

struct OpFixture : ModuleBuilder {
  Dim B = symbol("B"), S = symbol("S"), P = symbol("P", 0, 256);
  ValueId x = input("x", {B, S, c(8)}), w = input("w", dims({8})),
          flag = input("flag", {S, c(1)}, DType::boolean);
  ValueId ids = input("ids", {B, S}, DType::i64), half = input("half", {S}, DType::f16),
          p = input("p", {P});
  std::vector<Dim> list(std::initializer_list<Dim> values) { return values; }
};

}  // namespace

TEST_CASE("every operator's number has one definition, under its name") {
  REQUIRE(all_ops().size() == op_count);
  for (std::size_t i = 0; i < op_count; ++i) {
    const auto id = static_cast<OpId>(i);
    const OpDef* op = find_op(name_of(id));
    REQUIRE(op != nullptr);
    CHECK(op->id == id);
  }
}

TEST_CASE("the registry is sorted and documented") {
  for (const OpDef& op : all_ops()) {
    CAPTURE(op.name);
    CHECK(find_op(op.name) == &op);
    CHECK(bool(op.infer != nullptr));
    for (const std::string* text : {&op.summary, &op.shapes, &op.dtypes, &op.errors})
      CHECK(!text->empty());
    for (const AttrDef& attr : op.attrs) CHECK(!attr.doc.empty());
  }
  CHECK(std::ranges::is_sorted(all_ops(), {}, &OpDef::name));
  CHECK(find_op("relu6") == nullptr);
}

TEST_CASE_FIXTURE(OpFixture,
                  "16-bit floats are taken wherever f32 is, and give the same dtype as f32 does") {
  int taken = 0;
  for (const OpDef& op : all_ops()) {
    if (op.op_class == OpClass::View || op.min_inputs == 0 || op.outputs != 1) continue;
    std::vector<std::string> results;
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      OpFixture each;
      const ValueId given = each.input("given", each.dims({1, 1, 1}), dtype);
      std::vector<Attr> attrs;
      if (op.name == "cast") attrs = {{"dtype", std::string("i32")}};
      if (op.name.ends_with("_pool") || op.name == "window_matmul")
        attrs = {{"sizes", each.dims({1})}};
      if (op.name == "windows") attrs = {{"axes", each.dims({0})}, {"sizes", each.dims({1})}};
      if (op.name == "pad")
        attrs = {{"before", each.dims({0, 0, 0})}, {"after", each.dims({0, 0, 0})}};
      if (op.name == "cumsum") attrs = {{"axis", each.c(0)}};
      if (op.find_attr("count") != nullptr) attrs = {{"count", each.P}};
      results.push_back(each.infer(
          op.name, std::vector<ValueId>(static_cast<std::size_t>(op.min_inputs), given), attrs));
    }
    CAPTURE(op.name);
    taken += results[0].starts_with("f32[");
    for (std::size_t i = 1; i < results.size(); ++i) {
      const std::string name = i == 1 ? "f16" : "bf16";
      if (results[0].find("does not take f32") != std::string::npos) {
        CHECK(contains(results[i], "does not take " + name));
        continue;
      }
      std::string expected = results[0];
      if (const std::size_t at = expected.find("f32"); at != std::string::npos)
        expected.replace(at, 3, name);
      CHECK(results[i] == expected);
    }
  }
  CHECK(taken > 40);
}

TEST_CASE_FIXTURE(OpFixture, "unary") {
  SUBCASE("same") { CHECK(infer("exp", {x}) == "f32[B, S, 8]"); }
  SUBCASE("integers") { CHECK(infer("neg", {ids}) == "i64[B, S]"); }
  SUBCASE("isnan") { CHECK(infer("isnan", {x}) == "bool[B, S, 8]"); }
  SUBCASE("not") { CHECK(infer("logical_not", {flag}) == "bool[S, 1]"); }
  SUBCASE("cast") { CHECK(infer("cast", {ids}, {{"dtype", std::string("f32")}}) == "f32[B, S]"); }
  SUBCASE("cast to nothing") {
    CHECK(contains(infer("cast", {ids}, {{"dtype", std::string("f33")}}), "no dtype f33"));
  }
  SUBCASE("cast to f16") {
    CHECK(infer("cast", {ids}, {{"dtype", std::string("f16")}}) == "f16[B, S]");
  }
  SUBCASE("dtype") {
    CHECK(contains(infer("exp", {ids}), "exp does not take i64: ids must be f32"));
  }
}

TEST_CASE_FIXTURE(OpFixture, "binary") {
  SUBCASE("vector") { CHECK(infer("add", {x, w}) == "f32[B, S, 8]"); }
  SUBCASE("scalar") { CHECK(infer("mul", {scalar(2), x}) == "f32[B, S, 8]"); }
  SUBCASE("both grow") {
    CHECK(infer("logical_and", {flag, input("g", {c(1), B}, DType::boolean)}) == "bool[S, B]");
  }
  SUBCASE("compare") { CHECK(infer("less", {ids, ids}) == "bool[B, S]"); }
  SUBCASE("equality of bool") { CHECK(infer("equal", {flag, flag}) == "bool[S, 1]"); }
  SUBCASE("order of bool") {
    CHECK(contains(infer("less", {flag, flag}), "less does not take bool"));
  }
  SUBCASE("dtypes differ") {
    CHECK(contains(infer("add", {x, ids}), "x is f32 and ids is i64; use cast"));
  }
  SUBCASE("dims differ") {
    CHECK(contains(infer("add", {w, input("v", dims({7}))}), "w (dim 0) is 8, but v (dim 0) is 7"));
  }
  SUBCASE("a dim that may be one") {
    CHECK(infer("add", {w, p}) == "f32[8]");
    REQUIRE(module.constraints.size() == 1);
    CHECK(module.constraints[0].kind == Constraint::Kind::EqualOrOne);
  }
  SUBCASE("a dim that must be one") {
    CHECK(infer("add", {input("v", dims({700})), p}) == "f32[700]");
    CHECK(type(p) == "f32[1]");
  }
  SUBCASE("dims that may be zero") {
    CHECK(infer("add", {p, input("t", {S})}) == "f32[min(1, P) * max(S, P)]");
  }
}

TEST_CASE_FIXTURE(OpFixture, "where") {
  SUBCASE("broadcast") { CHECK(infer("where", {flag, w, scalar(0)}) == "f32[S, 8]"); }
  SUBCASE("condition") {
    CHECK(contains(infer("where", {x, w, w}), "where does not take f32: x must be bool"));
  }
  SUBCASE("dtypes") { CHECK(contains(infer("where", {flag, w, ids}), "needs one dtype")); }
}

TEST_CASE_FIXTURE(OpFixture, "reductions") {
  SUBCASE("one axis") { CHECK(infer("reduce_sum", {x}, {{"axes", dims({-1})}}) == "f32[B, S, 1]"); }
  SUBCASE("without dims") {
    CHECK(infer("reduce_max", {ids}, {{"axes", dims({0})}, {"keepdims", false}}) == "i64[S]");
  }
  SUBCASE("all") { CHECK(infer("reduce_prod", {x}, {{"keepdims", false}}) == "f32[]"); }
  SUBCASE("all kept") { CHECK(infer("reduce_min", {x}) == "f32[1, 1, 1]"); }
  SUBCASE("mean of integers") {
    CHECK(contains(infer("reduce_mean", {ids}), "reduce_mean does not take i64"));
  }
  SUBCASE("axis") {
    CHECK(contains(infer("reduce_sum", {x}, {{"axes", dims({3})}}), "axes 3 is outside"));
  }
  SUBCASE("twice") {
    CHECK(contains(infer("reduce_sum", {x}, {{"axes", dims({2, -1})}}), "names axis 2 twice"));
  }
}

TEST_CASE_FIXTURE(OpFixture, "numbers in blocks") {
  const ValueId codes = input("codes", dims({3, 4, 8}), DType::u8),
                scales = input("scales", dims({3, 4}), DType::f16),
                zeros = input("zeros", dims({3, 4}), DType::u8);
  SUBCASE("whole") {
    CHECK(infer("unpack_blocks", {codes, scales}, {{"size", c(64)}}) == "f32[3, 64]");
  }
  SUBCASE("zeros") {
    CHECK(infer("unpack_blocks", {codes, scales, zeros}, {{"size", c(51)}}) == "f32[3, 51]");
  }
  SUBCASE("too large") {
    CHECK(contains(infer("unpack_blocks", {codes, scales}, {{"size", c(65)}}), "65"));
  }
  SUBCASE("negative") {
    CHECK(contains(infer("unpack_blocks", {codes, scales}, {{"size", c(-1)}}), "size"));
  }
  SUBCASE("few scales") {
    CHECK(contains(infer("unpack_blocks", {codes, input("few", dims({3, 3}))}, {{"size", c(9)}}),
                   "few (dim 1) is 3"));
  }
  SUBCASE("zeros that are floats") {
    CHECK(contains(infer("unpack_blocks", {codes, scales, scales}, {{"size", c(64)}}), "u8"));
  }
  SUBCASE("codes that are floats") {
    CHECK(contains(infer("unpack_blocks", {scales, scales}, {{"size", c(64)}}), "u8"));
  }
  SUBCASE("no axis of blocks") {
    CHECK(contains(infer("unpack_blocks", {zeros, scales}, {{"size", c(4)}}), "1 dims"));
  }
}

TEST_CASE_FIXTURE(OpFixture, "normalizations and activations") {
  SUBCASE("softmax") { CHECK(infer("softmax", {x}, {{"axis", c(1)}}) == "f32[B, S, 8]"); }
  SUBCASE("softmax axis") {
    CHECK(contains(infer("softmax", {x}, {{"axis", c(-4)}}), "axis -4 is outside"));
  }
  SUBCASE("softmax of a scalar") {
    CHECK(contains(infer("softmax", {scalar(1)}), "1 dims or more"));
  }
  SUBCASE("layer_norm") { CHECK(infer("layer_norm", {x, w, w}) == "f32[B, S, 8]"); }
  SUBCASE("layer_norm size") {
    CHECK(contains(infer("layer_norm", {x, w, input("b", dims({9}))}),
                   "b (dim 0) is 9, but x (dim 2) is 8"));
  }
  SUBCASE("layer_norm rank") {
    CHECK(contains(infer("layer_norm", {x, x, w}), "needs x to have 1 dims"));
  }
  SUBCASE("epsilon") {
    CHECK(contains(infer("rms_norm", {x, w}, {{"epsilon", -1.0}}), "epsilon must not be negative"));
  }
  SUBCASE("rms_norm") { CHECK(infer("rms_norm", {x, w}, {{"epsilon", 1e-6}}) == "f32[B, S, 8]"); }
  SUBCASE("gelu") {
    CHECK(infer("gelu", {x}, {{"approximate", std::string("tanh")}}) == "f32[B, S, 8]");
  }
  SUBCASE("gelu word") {
    CHECK(contains(infer("gelu", {x}, {{"approximate", std::string("erf")}}),
                   "must be none or tanh"));
  }
  SUBCASE("silu") { CHECK(infer("silu", {w}) == "f32[8]"); }
}

TEST_CASE_FIXTURE(OpFixture, "matmul") {
  SUBCASE("shared right side") {
    CHECK(infer("matmul", {x, weight("m", dims({8, 5}))}) == "f32[B, S, 5]");
  }
  SUBCASE("transposed right") {
    CHECK(infer("matmul", {x, weight("m", dims({5, 8}))}, {{"transpose_b", true}}) ==
          "f32[B, S, 5]");
  }
  SUBCASE("transposed left") {
    CHECK(infer("matmul", {x, input("y", {B, S, c(3)})}, {{"transpose_a", true}}) ==
          "f32[B, 8, 3]");
  }
  SUBCASE("batches grow") {
    CHECK(infer("matmul", {input("y", {c(4), c(1), S, c(2)}), input("z", {B, c(2), S})}) ==
          "f32[4, B, S, S]");
  }
  SUBCASE("K") {
    CHECK(contains(infer("matmul", {x, weight("m", dims({9, 5}))}),
                   "x (dim 2) is 8, but m (dim 0) is 9"));
  }
  SUBCASE("rank") { CHECK(contains(infer("matmul", {x, w}), "2 dims or more")); }
  SUBCASE("integers") {
    CHECK(infer("matmul", {ids, ids}, {{"transpose_b", true}}) == "i64[B, B]");
  }
  SUBCASE("bytes by numbers") {
    const ValueId bytes = input("bytes", {B, S, c(8)}, DType::u8), m = weight("m", dims({8, 5}));
    CHECK(infer("matmul", {bytes, m}, {{"zero", c(128)}}) == "f32[B, S, 5]");
    CHECK(contains(infer("matmul", {x, m}, {{"zero", c(128)}}),
                   "zero must be 0 where x is f32 and m is f32"));
  }
  SUBCASE("results of integers have a dim less than there may be") {
    const ValueId many = input("many", {c(1), c(1), c(1), c(1), c(1), c(1), B, S}, DType::u8);
    CHECK(contains(infer("matmul", {many, many}, {{"transpose_b", true}}),
                   "matmul of u8 has a result of at most 7 dims, not 8"));
  }
}

TEST_CASE_FIXTURE(OpFixture, "attention") {
  const ValueId q = input("q", {B, c(12), S, c(64)});
  const ValueId k = input("k", {B, c(12), P + S, c(64)}), v = input("v", {B, c(12), P + S, c(32)});
  SUBCASE("KV of another length") { CHECK(infer("attention", {q, k, v}) == "f32[B, 12, S, 32]"); }
  SUBCASE("keys and values of different length") {
    const ValueId few = input("few", {B, c(12), c(7), c(64)}),
                  more = input("more", {B, c(12), c(9), c(64)});
    CHECK(contains(infer("attention", {q, few, more}), "few (dim 2) is 7, but more (dim 2) is 9"));
  }
  SUBCASE("causal") {
    CHECK(infer("attention", {q, k, v}, {{"causal", true}}) == "f32[B, 12, S, 32]");
    CHECK(module.constraints.empty());
  }
  SUBCASE("causal with too few keys") {
    const ValueId short_k = input("sk", {B, c(12), c(2), c(64)}),
                  long_q = input("lq", {B, c(12), c(3), c(64)});
    CHECK(contains(infer("attention", {long_q, short_k, short_k}, {{"causal", true}}),
                   "must not be greater than"));
  }
  SUBCASE("mask") {
    CHECK(infer("attention", {q, k, v, input("m", {B, c(1), c(1), P + S})}) == "f32[B, 12, S, 32]");
  }
  SUBCASE("small mask") {
    CHECK(infer("attention", {q, k, v, input("m", {S, P + S})}) == "f32[B, 12, S, 32]");
  }
  SUBCASE("mask too large") {
    CHECK(contains(
        infer("attention", {input("q1", dims({1, 2, 3, 4})), input("k1", dims({1, 2, 3, 4})),
                            input("v1", dims({1, 2, 3, 4})), input("m", dims({5, 1, 3, 3}))}),
        "m (dim 0) is 5, but scores (dim 0) is 1"));
  }
  SUBCASE("mask rank") {
    CHECK(contains(infer("attention", {q, k, v, input("m", dims({1, 1, 1, 1, 1}))}),
                   "more dims than the scores"));
  }
  SUBCASE("heads") {
    CHECK(contains(infer("attention", {q, input("k6", {B, c(6), S, c(64)}), v}),
                   "q (dim 1) is 12, but k6 (dim 1) is 6"));
  }
}

TEST_CASE_FIXTURE(OpFixture, "gather and concat") {
  const ValueId table = weight("table", dims({100, 8}));
  SUBCASE("embedding") { CHECK(infer("gather", {table, ids}) == "f32[B, S, 8]"); }
  SUBCASE("axis") { CHECK(infer("gather", {x, ids}, {{"axis", c(-1)}}) == "f32[B, S, B, S]"); }
  SUBCASE("float indices") {
    CHECK(contains(infer("gather", {table, x}), "gather does not take f32: x must be i32 or i64"));
  }
  SUBCASE("rank") {
    CHECK(contains(infer("gather", {input("big", dims({1, 1, 1, 1, 1, 1, 1, 1})), ids}), "9 dims"));
  }
  SUBCASE("concat") {
    CHECK(infer("concat", {x, input("y", {B, P, c(8)}), x}, {{"axis", c(1)}}) ==
          "f32[B, S * 2 + P, 8]");
  }
  SUBCASE("concat dims") {
    CHECK(contains(infer("concat", {table, input("y", dims({1, 9}))}, {{"axis", c(0)}}),
                   "table (dim 1) is 8, but y (dim 1) is 9"));
  }
  SUBCASE("concat ranks") {
    CHECK(contains(infer("concat", {x, w}, {{"axis", c(0)}}), "to have 3 dims"));
  }
}

TEST_CASE_FIXTURE(OpFixture, "slice") {
  const auto slice = [&](std::initializer_list<Dim> starts, std::initializer_list<Dim> ends,
                         std::vector<Dim> steps = {}) {
    return infer(
        "slice", {x},
        {{"axes", dims({1})}, {"starts", list(starts)}, {"ends", list(ends)}, {"steps", steps}});
  };
  SUBCASE("prefix") { CHECK(slice({c(0)}, {c(1)}) == "f32[B, 1, 8]"); }
  SUBCASE("from the end") {
    CHECK(slice({c(-2)}, {S}) == "f32[B, 2, 8]");
    REQUIRE(module.constraints.size() == 1);
    CHECK(to_string(module.constraints[0].right) == "S - 2");
  }
  SUBCASE("symbols") {
    CHECK(slice({P}, {S}) == "f32[B, S - P, 8]");
    CHECK(module.constraints.size() == 1);
  }
  SUBCASE("positions of a table") {
    const ValueId table = weight("table", dims({512, 8}));
    CHECK(infer("slice", {table}, {{"axes", dims({0})}, {"ends", list({S})}}) == "f32[S, 8]");
    CHECK(module.constraints.empty());
  }
  SUBCASE("steps") { CHECK(slice({c(0)}, {S}, dims({2})) == "f32[B, floordiv(S + 1, 2), 8]"); }
  SUBCASE("flip") { CHECK(slice({}, {}, dims({-1})) == "f32[B, S, 8]"); }
  SUBCASE("negative step") {
    CHECK(contains(slice({c(0)}, {S}, dims({-1})), "a step must be at least 1"));
  }
  SUBCASE("too long") {
    CHECK(contains(infer("slice", {w}, {{"axes", dims({0})}, {"ends", dims({9})}}),
                   "end on w (dim 0), which is 9, must not be greater than w (dim 0), which is 8"));
  }
  SUBCASE("reversed") {
    CHECK(contains(
        infer("slice", {w}, {{"axes", dims({0})}, {"starts", dims({5})}, {"ends", dims({4})}}),
        "start on w (dim 0), which is 5"));
  }
  SUBCASE("lists") {
    CHECK(contains(slice({c(0), c(1)}, {}), "starts has 2 entries, but axes has 1"));
  }
}

TEST_CASE_FIXTURE(OpFixture, "split") {
  SUBCASE("sizes") {
    const ValueId first = node("split", {x}, {{"axis", c(-1)}, {"sizes", dims({3, 5})}}, 2);
    CHECK(propagate() == "");
    CHECK(type(first) == "f32[B, S, 3]");
    CHECK(type(first + 1) == "f32[B, S, 5]");
  }
  SUBCASE("sum") {
    node("split", {x}, {{"axis", c(2)}, {"sizes", dims({3, 4})}}, 2);
    CHECK(contains(propagate(), "the sum of sizes is 7, but x (dim 2) is 8"));
  }
  SUBCASE("count") {
    CHECK(contains(infer("split", {x}, {{"axis", c(2)}, {"sizes", dims({3, 5})}}),
                   "2 sizes for 1 results"));
  }
}

TEST_CASE_FIXTURE(OpFixture, "pad and range") {
  SUBCASE("pad") {
    CHECK(infer("pad", {ids}, {{"before", list({c(0), P})}, {"after", dims({0, 2})}}) ==
          "i64[B, S + P + 2]");
  }
  SUBCASE("negative") {
    CHECK(contains(infer("pad", {w}, {{"before", dims({-1})}, {"after", dims({0})}}),
                   "before (entry 0), which is -1"));
  }
  SUBCASE("entries") {
    CHECK(contains(infer("pad", {ids}, {{"before", dims({0})}, {"after", dims({0})}}),
                   "one entry for each dim"));
  }
  SUBCASE("range") { CHECK(infer("range", {}, {{"end", S}}) == "i64[S]"); }
  SUBCASE("range by steps") {
    CHECK(infer("range", {},
                {{"start", c(1)}, {"end", c(8)}, {"step", c(3)}, {"dtype", std::string("f32")}}) ==
          "f32[3]");
  }
  SUBCASE("range downwards") {
    CHECK(infer("range", {}, {{"start", c(5)}, {"end", c(-1)}, {"step", c(-2)}}) == "i64[3]");
  }
  SUBCASE("empty range") {
    CHECK(infer("range", {}, {{"start", c(5)}, {"end", c(1)}}) == "i64[0]");
  }
  SUBCASE("range that may be empty") {
    CHECK(infer("range", {}, {{"end", P - S}}) == "i64[max(0, P - S)]");
  }
  SUBCASE("step 0") {
    CHECK(contains(infer("range", {}, {{"end", S}, {"step", c(0)}}), "step must not be 0"));
  }
  SUBCASE("dtype") {
    CHECK(contains(infer("range", {}, {{"end", S}, {"dtype", std::string("bool")}}),
                   "dtype must be"));
  }
}

TEST_CASE_FIXTURE(OpFixture, "reshape, transpose, expand") {
  SUBCASE("split heads") {
    CHECK(infer("reshape", {x}, {{"shape", list({B, S, c(2), c(4)})}}) == "f32[B, S, 2, 4]");
  }
  SUBCASE("open dim") {
    CHECK(infer("reshape", {x}, {{"shape", list({c(-1), c(4)})}}) == "f32[B * S * 2, 4]");
    CHECK(module.constraints.empty());
  }
  SUBCASE("open dim that may not fit") {
    CHECK(infer("reshape", {x}, {{"shape", list({c(-1), c(3)})}}) ==
          "f32[B * S * 2 + floordiv(B * S * 2, 3), 3]");
    REQUIRE(module.constraints.size() == 1);
    CHECK(module.constraints[0].kind == Constraint::Kind::Multiple);
  }
  SUBCASE("another count") {
    CHECK(contains(infer("reshape", {w}, {{"shape", dims({2, 5})}}),
                   "is 8, but shape (number of elements) is 10"));
  }
  SUBCASE("two open dims") {
    CHECK(contains(infer("reshape", {w}, {{"shape", dims({-1, -1})}}), "only one dim"));
  }
  SUBCASE("open beside zero") {
    CHECK(contains(infer("reshape", {w}, {{"shape", dims({-1, 0})}}), "must not be greater"));
  }
  SUBCASE("to a scalar") {
    CHECK(infer("reshape", {input("one", dims({1, 1}))}, {{"shape", dims({})}}) == "f32[]");
  }
  SUBCASE("perm") {
    CHECK(infer("transpose", {x}, {{"perm", dims({2, 0, -2})}}) == "f32[8, B, S]");
  }
  SUBCASE("short perm") {
    CHECK(contains(infer("transpose", {x}, {{"perm", dims({1, 0})}}), "perm has 2 entries"));
  }
  SUBCASE("repeated perm") {
    CHECK(
        contains(infer("transpose", {x}, {{"perm", dims({0, 0, 1})}}), "perm names axis 0 twice"));
  }
  SUBCASE("expand") {
    CHECK(infer("expand", {flag}, {{"shape", list({B, S, c(5)})}}) == "bool[B, S, 5]");
  }
  SUBCASE("expand dims") {
    CHECK(contains(infer("expand", {w}, {{"shape", dims({9})}}),
                   "w (dim 0) is 8, but shape (dim 0) is 9"));
  }
  SUBCASE("expand rank") {
    CHECK(contains(infer("expand", {x}, {{"shape", dims({8})}}), "more dims than"));
  }
}

TEST_CASE_FIXTURE(OpFixture, "windows, and what slides them") {
  const Dim H = symbol("H"), W = symbol("W");
  const ValueId image = input("image", {B, H, W, c(8)}),
                filters = input("filters", dims({3, 5, 8, 20})),
                halves = input("halves", dims({3, 5, 4, 20}));
  const auto pads = [this](std::initializer_list<std::int64_t> before,
                           std::initializer_list<std::int64_t> after) {
    return std::vector<Attr>{{"before", dims(before)}, {"after", dims(after)}};
  };
  const auto with = [](std::vector<Attr> attrs, std::vector<Attr> more) {
    attrs.insert(attrs.end(), more.begin(), more.end());
    return attrs;
  };
  const std::vector<Attr> of_three{{"axes", dims({1})}, {"sizes", dims({3})}};
  SUBCASE("windows") {
    CHECK(infer("windows", {x}, with(of_three, pads({1}, {1}))) == "f32[B, S, 3, 8]");
  }
  SUBCASE("strided windows") {
    CHECK(infer("windows", {x},
                with(of_three, {{"strides", dims({2})},
                                {"dilations", dims({2})},
                                {"before", list({P})},
                                {"after", dims({4})}})) == "f32[B, floordiv(S + P + 1, 2), 3, 8]");
  }
  SUBCASE("windows along two axes") {
    CHECK(infer("windows", {image},
                {{"axes", dims({1, 2})}, {"sizes", dims({2, 3})}, {"before", dims({1, 2})}}) ==
          "f32[B, H, W, 2, 3, 8]");
  }
  SUBCASE("axes that descend") {
    CHECK(contains(infer("windows", {image}, {{"axes", dims({2, 1})}, {"sizes", dims({2, 3})}}),
                   "in ascending order"));
  }
  SUBCASE("sizes for other axes") {
    CHECK(contains(infer("windows", {image}, {{"axes", dims({1, 2})}, {"sizes", dims({2})}}),
                   "sizes has 1 entries for windows along 2 axes"));
  }
  SUBCASE("a size of 0") {
    CHECK(contains(infer("windows", {x}, {{"axes", dims({1})}, {"sizes", dims({0})}}),
                   "a window of 0 elements"));
  }
  SUBCASE("a stride of 0") {
    CHECK(contains(infer("windows", {x}, with(of_three, {{"strides", dims({0})}})),
                   "strides has 0, which is not in 1 .."));
  }
  SUBCASE("padding below 0") {
    CHECK(contains(infer("windows", {x}, with(of_three, pads({-1}, {1}))), "before (entry 0)"));
  }
  SUBCASE("a window that does not fit") {
    CHECK(contains(infer("windows", {w}, {{"axes", dims({0})}, {"sizes", dims({9})}}),
                   "the reach of a window, which is 9, must not be greater than w (dim 0) with its "
                   "padding, which is 8"));
  }
  SUBCASE("convolution") {
    CHECK(infer("conv", {image, filters}, pads({1, 2}, {1, 2})) == "f32[B, H, W, 20]");
  }
  SUBCASE("convolution without a batch") {
    CHECK(infer("conv", {input("line", {S, c(8)}), input("taps", dims({3, 8, 4}))},
                pads({2}, {0})) == "f32[S, 4]");
  }
  SUBCASE("groups") {
    CHECK(infer("conv", {image, halves}, with(pads({1, 2}, {1, 2}), {{"groups", c(2)}})) ==
          "f32[B, H, W, 20]");
  }
  SUBCASE("groups of too many channels") {
    CHECK(contains(infer("conv", {image, filters}, {{"groups", c(2)}}),
                   "filters (dim 2) for each group"));
  }
  SUBCASE("groups that divide no filters") {
    CHECK(contains(infer("conv", {image, input("odd", dims({3, 5, 4, 21}))}, {{"groups", c(2)}}),
                   "odd (dim 3)"));
  }
  SUBCASE("no groups") {
    CHECK(
        contains(infer("conv", {image, filters}, {{"groups", c(0)}}), "groups must be at least 1"));
  }
  SUBCASE("filters of unknown size") {
    CHECK(contains(infer("conv", {image, input("free", {S, c(5), c(8), c(20)})}, {}),
                   "must be a number"));
  }
  SUBCASE("too few axes") {
    CHECK(
        contains(infer("conv", {w, filters}, {}), "windows along 2 axes needs them and channels"));
  }
  SUBCASE("product of windows") {
    CHECK(infer("window_matmul", {image, input("m", dims({120, 20}))},
                with(pads({1, 2}, {1, 2}), {{"sizes", dims({3, 5})}})) == "f32[B, H, W, 20]");
  }
  SUBCASE("product of another depth") {
    CHECK(contains(
        infer("window_matmul", {image, input("m", dims({119, 20}))}, {{"sizes", dims({3, 5})}}),
        "m (dim 0) is 119, but the product of sizes and channels is 120"));
  }
  SUBCASE("pools") {
    CHECK(infer("max_pool", {image}, {{"sizes", dims({2, 2})}, {"strides", dims({2, 2})}}) ==
          "f32[B, floordiv(H, 2), floordiv(W, 2), 8]");
    CHECK(infer("average_pool", {image},
                {{"sizes", dims({3})}, {"before", dims({1})}, {"after", dims({1})}}) ==
          "f32[B, H, W, 8]");
  }
  SUBCASE("pool of integers") {
    CHECK(contains(infer("average_pool", {ids}, {{"sizes", dims({1})}}),
                   "average_pool does not take i64"));
  }
}
