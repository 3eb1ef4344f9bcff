#include <algorithm>

#include <doctest/doctest.h>

#include "graph/ir/diagnostic.hpp"
#include "tests/unit/graph/ir/module_builder.hpp"

using namespace dyn::graph;
using dyn::DType;

TEST_CASE("types flow forwards through a layer") {
  ModuleBuilder b;
  const Dim B = b.symbol("B"), S = b.symbol("S");
  const ValueId x = b.input("x", {B, S, b.c(768)});
  const ValueId q = b.node("matmul", {x, b.weight("w", b.dims({768, 768}))});
  const ValueId heads =
      b.node("reshape", {q}, {{"shape", std::vector<Dim>{B, S, b.c(12), b.c(64)}}});
  const ValueId swapped = b.node("transpose", {heads}, {{"perm", b.dims({0, 2, 1, 3})}});
  const ValueId scores = b.node("matmul", {swapped, swapped}, {{"transpose_b", true}});
  const ValueId back =
      b.node("reshape", {b.node("transpose", {swapped}, {{"perm", b.dims({0, 2, 1, 3})}})},
             {{"shape", std::vector<Dim>{B, b.c(-1), b.c(768)}}});
  CHECK(b.propagate() == "");
  CHECK(b.type(heads) == "f32[B, S, 12, 64]");
  CHECK(b.type(swapped) == "f32[B, 12, S, 64]");
  CHECK(b.type(scores) == "f32[B, 12, S, S]");
  CHECK(b.type(back) == "f32[B, S, 768]");
  CHECK(b.module.constraints.empty());
}

TEST_CASE("a symbol that must equal another is replaced everywhere, siblings included") {
  ModuleBuilder b;
  const Dim S = b.symbol("S", 2, 512), T = b.symbol("T", 2, 100);
  const ValueId x = b.input("x", {S, b.c(8)}), y = b.input("y", {T, b.c(8)});
  const ValueId early = b.node("exp", {y});
  const ValueId attr = b.node("reshape", {y}, {{"shape", std::vector<Dim>{T * 8}}});
  const ValueId sum = b.node("add", {x, y});
  const ValueId late = b.node("concat", {early, sum}, {{"axis", b.c(0)}});
  CHECK(b.propagate() == "");
  CHECK(b.type(y) == "f32[S, 8]");
  CHECK(b.type(early) == "f32[S, 8]");
  CHECK(b.type(attr) == "f32[S * 8]");
  CHECK(b.type(late) == "f32[S * 2, 8]");
  CHECK(bounds(S) == Interval{2, 100});
  CHECK(b.module.declared_symbols == std::vector<int>{0});
  REQUIRE(b.module.replaced_symbols.size() == 1);
  CHECK(b.module.replaced_symbols[0] == std::pair(1, S));
  CHECK(b.module.constraints.empty());
}

TEST_CASE("what is learned late simplifies what was computed early") {
  ModuleBuilder b;
  const Dim S = b.symbol("S", 0, 512), T = b.symbol("T", 4, 100, 4);
  const ValueId x = b.input("x", {S}), y = b.input("y", {T});
  const ValueId ranged = b.node("range", {}, {{"end", S - 4}});
  const ValueId joint = b.node("concat", {x, y}, {{"axis", b.c(0)}});
  const ValueId pair =
      b.node("matmul", {b.node("reshape", {x}, {{"shape", std::vector<Dim>{b.c(1), S}}}),
                        b.node("reshape", {y}, {{"shape", std::vector<Dim>{T, b.c(1)}}})});
  CHECK(b.propagate() == "");
  CHECK(b.type(ranged) == "i64[S - 4]");
  CHECK(b.type(joint) == "f32[S * 2]");
  CHECK(b.type(pair) == "f32[1, 1]");
}

TEST_CASE("fresh symbols take what their tensors need") {
  ModuleBuilder b;
  const Dim B = b.symbol("B"), S = b.symbol("S");
  const ValueId x = b.input("x", {B, S, b.c(16)});
  const ValueId flat = b.input("flat", {b.fresh(), b.fresh()});
  b.node("matmul", {flat, b.weight("w", b.dims({16, 4}))});
  b.node("concat", {flat, b.node("reshape", {x}, {{"shape", std::vector<Dim>{b.c(-1), b.c(16)}}})},
         {{"axis", b.c(1)}});
  CHECK(b.propagate() == "");
  CHECK(b.type(flat) == "f32[B * S, 16]");
}

TEST_CASE("a symbol that must be a constant becomes it") {
  ModuleBuilder b;
  const Dim H = b.symbol("H", 1, 1024);
  const ValueId x = b.input("x", {b.symbol("S"), H});
  const ValueId y = b.node("matmul", {x, b.weight("w", b.dims({768, 10}))});
  CHECK(b.propagate() == "");
  CHECK(b.type(x) == "f32[S, 768]");
  CHECK(b.type(y) == "f32[S, 10]");
}

TEST_CASE("a common factor is divided away only where it cannot be zero") {
  const auto equate = [](std::int64_t low) {
    ModuleBuilder b;
    const Dim B = b.symbol("B", low, 8), S = b.symbol("S"), T = b.symbol("T");
    const ValueId x = b.input("x", {B * S}), t = b.input("t", {T});
    b.input("b", {B, S});
    b.node("reshape", {x}, {{"shape", std::vector<Dim>{B, T}}});
    CHECK(b.propagate() == "");
    return b.type(t) + " " + std::to_string(b.module.constraints.size());
  };
  CHECK(equate(1) == "f32[S] 0");
  CHECK(equate(0) == "f32[T] 1");
}

TEST_CASE("bounds that contradict are an error at the node") {
  ModuleBuilder b;
  const ValueId x = b.input("x", {b.symbol("S"), b.symbol("H", 1, 512)});
  b.node("matmul", {x, b.weight("w", b.dims({768, 10}))});
  CHECK(contains(b.propagate(),
                 ":1:3: matmul: x (dim 1) is H, but w (dim 0) is 768; dim H is in 1..512"));

  ModuleBuilder divisor;
  const ValueId y =
      divisor.input("y", {divisor.symbol("S", 1, 1024, 512), divisor.symbol("H", 1, 1024, 5)});
  divisor.node("matmul", {y, divisor.weight("w", divisor.dims({768, 10}))});
  CHECK(contains(divisor.propagate(), "dim H is in 1..1024 and a multiple of 5"));

  ModuleBuilder ranges;
  const ValueId p = ranges.input("p", {ranges.symbol("S", 1, 10)}),
                q = ranges.input("q", {ranges.symbol("T", 20, 30)});
  ranges.node("layer_norm", {p, q, q});
  CHECK(contains(ranges.propagate(),
                 "q (dim 0) is T, but p (dim 0) is S; dim T is in 20..30, dim S is in 1..10"));
}

TEST_CASE("what cannot be decided stays as a constraint, once") {
  ModuleBuilder b;
  const Dim S = b.symbol("S", 1, 512), T = b.symbol("T", 1, 512);
  const ValueId x = b.input("x", {S, T}), y = b.input("y", {T, S}), z = b.input("z", {S * T - 6});
  const ValueId sum = b.node("add", {x, y});
  b.node("mul", {y, x});
  b.node("reshape", {z}, {{"shape", std::vector<Dim>{S, b.c(3)}}});
  CHECK(b.propagate() == "");
  CHECK(b.type(sum) == "f32[max(S, T), max(S, T)]");
  REQUIRE(b.module.constraints.size() == 2);
  CHECK(b.module.constraints[0].kind == Constraint::Kind::EqualOrOne);
  CHECK(b.module.constraints[0].left_tensor == "x (dim 0)");
  CHECK(b.module.constraints[0].reason == "add (line 1)");
  CHECK(b.module.constraints[1].kind == Constraint::Kind::Equal);
  CHECK(to_string(b.module.constraints[1].left) == "S * T - 6");
  CHECK(to_string(b.module.constraints[1].right) == "S * 3");
}

TEST_CASE("dims that are broadcast again stay as they are, in whatever order") {
  ModuleBuilder b;
  const Dim S = b.symbol("S", 0), T = b.symbol("T", 0), U = b.symbol("U", 0);
  const ValueId x = b.input("x", {S}), y = b.input("y", {T}), z = b.input("z", {U});
  const ValueId xy = b.node("add", {x, y}), yz = b.node("add", {y, z});
  ValueId again = xy;
  for (int i = 0; i < 100; ++i) again = b.node("mul", {i % 2 ? x : again, i % 2 ? again : y});
  const ValueId left = b.node("add", {xy, z}), right = b.node("add", {x, yz}),
                all = b.node("add", {left, b.node("mul", {again, right})});
  REQUIRE(b.propagate() == "");
  CHECK(b.type(again) == b.type(xy));
  CHECK(b.type(left) == b.type(right));
  CHECK(b.type(all) == b.type(left));
  CHECK(b.module.constraints.size() == 4);  // x and y, y and z, xy and z, x and yz
  for (const std::int64_t size : {0, 1, 5})
    for (int ones = 0; ones < 8; ++ones) {
      std::int64_t sizes[3];
      for (int i = 0; i < 3; ++i) sizes[i] = (ones >> i) & 1 ? 1 : size;
      CAPTURE(size);
      CAPTURE(ones);
      CHECK(evaluate(b.module.value(all).type.dims[0], sizes) == (ones == 7 ? 1 : size));
    }
}

TEST_CASE("many dims broadcast into one are a list of them") {
  ModuleBuilder b;
  std::vector<ValueId> inputs;
  for (int i = 0; i < 40; ++i) {
    const std::string number = std::to_string(i);
    inputs.push_back(b.input("x" + number, {b.symbol("S" + number, 0)}));
  }
  ValueId sum = inputs[0];
  for (std::size_t i = 1; i < inputs.size(); ++i) sum = b.node("add", {sum, inputs[i]});
  REQUIRE(b.propagate() == "");
  std::vector<std::int64_t> sizes(40, 1);
  CHECK(evaluate(b.module.value(sum).type.dims[0], sizes) == 1);
  sizes[31] = 9;
  CHECK(evaluate(b.module.value(sum).type.dims[0], sizes) == 9);
  sizes[3] = sizes[31] = 0;
  CHECK(evaluate(b.module.value(sum).type.dims[0], sizes) == 0);
}

TEST_CASE("a second propagation changes nothing") {
  ModuleBuilder b;
  const Dim S = b.symbol("S", 1, 512), T = b.symbol("T", 1, 512);
  const ValueId sum = b.node("add", {b.input("x", {S}), b.input("y", {T})});
  CHECK(b.propagate() == "");
  const std::string first = b.type(sum);
  CHECK(b.propagate() == "");
  CHECK(b.type(sum) == first);
  CHECK(b.module.constraints.size() == 1);
}

TEST_CASE("declared outputs are claims") {
  const auto claim = [](auto make_type) {
    ModuleBuilder b;
    const Dim S = b.symbol("S"), T = b.symbol("T");
    const ValueId x = b.input("x", {S, b.c(8)});
    const ValueId doubled = b.node("concat", {x, x}, {{"axis", b.c(0)}});
    b.output(doubled);
    b.module.output_types = {make_type(b, S, T)};
    const std::string error = b.propagate();
    return error.empty() ? b.type(doubled) + " " + to_string(b.module.output_types[0]) : error;
  };
  CHECK(claim([](ModuleBuilder& b, Dim S, Dim) {
          return TensorType{DType::f32, {S * 2, b.c(8)}};
        }) == "f32[S * 2, 8] f32[S * 2, 8]");
  CHECK(claim([](ModuleBuilder& b, Dim, Dim) { return TensorType{DType::f32, {Dim(), b.c(8)}}; }) ==
        "f32[S * 2, 8] f32[_, 8]");
  // T is given by no input: the claim defines it.
  CHECK(claim([](ModuleBuilder& b, Dim, Dim T) { return TensorType{DType::f32, {T, b.c(8)}}; }) ==
        "f32[S * 2, 8] f32[S * 2, 8]");
  CHECK(contains(
      claim([](ModuleBuilder& b, Dim S, Dim) { return TensorType{DType::f32, {S * 2, b.c(7)}}; }),
      "out1 as declared (dim 1) is 7, but out1 as computed (dim 1) is 8"));
  CHECK(contains(
      claim([](ModuleBuilder& b, Dim S, Dim) { return TensorType{DType::i64, {S * 2, b.c(8)}}; }),
      "the output out1 is declared i64[S * 2, 8], but is f32[S * 2, 8]"));
  CHECK(contains(claim([](ModuleBuilder&, Dim S, Dim) { return TensorType{DType::f32, {S * 2}}; }),
                 "is declared f32[S * 2]"));
}

TEST_CASE("a dim that no input gives is an error") {
  ModuleBuilder b;
  const ValueId x = b.input("x", {b.symbol("S")});
  b.node("expand", {b.node("reduce_sum", {x})}, {{"shape", std::vector<Dim>{b.symbol("T")}}});
  CHECK(contains(b.propagate(), "no input has the dim T"));
}

TEST_CASE("messages show the line and a caret") {
  ModuleBuilder b;
  b.module.source_name = "model.dyn";
  b.module.source_text = std::make_shared<const SourceText>("  y = add(a, b)\nsecond\n");
  b.node("add", {b.input("a", b.dims({2})), b.input("b", b.dims({3}))});
  CHECK(b.propagate() ==
        "model.dyn:1:3: add: a (dim 0) is 2, but b (dim 0) is 3\n  y = add(a, b)\n  ^");
}

TEST_CASE("a long line is clipped around the column") {
  Module module;
  module.source_text = std::make_shared<const SourceText>(std::string(1 << 20, 'a') + "X" +
                                                          std::string(1 << 20, 'b'));
  const std::string text = format_at(module, {1, (1 << 20) + 1}, "bad");
  CHECK(text.size() < 400);
  const std::size_t line = text.find('\n') + 1, caret_line = text.find('\n', line) + 1;
  CHECK(text[line + text.find('^') - caret_line] == 'X');
}

TEST_CASE("structure is verified") {
  const auto error = [](auto damage) {
    ModuleBuilder b;
    const ValueId x = b.input("x", {b.symbol("S"), b.c(8)});
    b.output(b.node("softmax", {x}));
    damage(b);
    return b.propagate();
  };
  CHECK(error([](ModuleBuilder&) {}) == "");
  CHECK(contains(error([](ModuleBuilder& b) { b.module.nodes[0].attrs = {{"axes", b.c(1)}}; }),
                 "softmax has no attribute axes"));
  CHECK(contains(error([](ModuleBuilder& b) { b.module.nodes[0].attrs = {{"axis", true}}; }),
                 "axis must be an integer"));
  CHECK(contains(error([](ModuleBuilder& b) {
                   b.module.nodes[0].attrs = {{"axis", b.c(1)}, {"axis", b.c(1)}};
                 }),
                 "given twice"));
  CHECK(contains(error([](ModuleBuilder& b) { b.module.nodes[0].inputs.push_back(0); }),
                 "softmax takes 1 argument(s), not 2"));
  CHECK(contains(error([](ModuleBuilder& b) { b.node("concat", {0, 0}); }),
                 "concat needs the attribute axis"));
  CHECK(contains(error([](ModuleBuilder& b) { b.module.nodes[0].inputs[0] = 1; }),
                 "not an Error(model): broken module"));
  CHECK(contains(error([](ModuleBuilder& b) { b.module.outputs[0] = 77; }),
                 "broken module: output 77"));
  CHECK(contains(error([](ModuleBuilder& b) { b.input("x", {}); }), "x is defined twice"));
  CHECK(contains(error([](ModuleBuilder& b) { b.weight("w", {*b.module.dims->find_symbol("S")}); }),
                 "dims must be integers"));
  CHECK(contains(error([](ModuleBuilder& b) { b.input("y", b.dims({1, 1, 1, 1, 1, 1, 1, 1, 1})); }),
                 "at most 8"));
}
