// Modules that are built node by node.

#include <doctest/doctest.h>

#include "dyn/error.hpp"
#include "graph/ir/builder.hpp"
#include "graph/ir/verify.hpp"
#include "graph/text/text.hpp"
#include "tests/unit/graph/ir/module_builder.hpp"

using namespace dyn;
using namespace dyn::graph;

TEST_CASE(
    "every value has its type as soon as it is there, and the module is what its text parses to") {
  Builder builder("net", "net.x");
  const Dim n = builder.symbol({"N", 1, 100, 1, {}});
  const ValueId x = builder.input("x", {DType::f32, {n, builder.dims().constant(4)}});
  const ValueId w =
      builder.weight("w", {DType::f32, {builder.dims().constant(4), builder.dims().constant(3)}});
  const ValueId product = builder.add("matmul", {x, w}, "y");
  CHECK(to_string(builder.type(product)) == "f32[N, 3]");
  const ValueId shifted = builder.add("add", {product, builder.number(DType::f32, 0.5)}, "y");
  CHECK(builder.value(shifted).name == "y_2");
  const std::string text = print(builder.finish({shifted}, {"out"}, {"w.safetensors"}));
  CHECK(text ==
        "dyn 1\ndim N in 1..100\nweights \"w.safetensors\"\n\ngraph net(x: f32[N, 4]) -> (out: "
        "f32[N, 3]) {\n  y = matmul(x, w: f32[4, 3])\n  y_2 = y + 0.5\n"
        "  return y_2\n}\n");
  CHECK(print(parse(text)) == text);
}

TEST_CASE(
    "a symbol without a name that needs one is declared in its place, so that products of dims are "
    "read as they were written") {
  Builder builder("net", "net.x");
  const Dim unnamed = builder.dims().symbol({}), n = builder.symbol({.name = "N", .hint = {}});
  const ValueId x = builder.input("x", {DType::f32, {unnamed, n}});
  const ValueId y = builder.add("reshape", {x}, "y", {{"shape", std::vector<Dim>{unnamed * n}}});
  const std::string text = print(builder.finish({y}, {"y"}, {}));
  CHECK(text.starts_with("dyn 1\ndim _0\ndim N\n\ngraph net(x: f32[_0, N]) -> (y: f32[_0 * N])"));
  CHECK(print(parse(text)) == text);
}

TEST_CASE("what a later node says about symbols holds for values before it") {
  Builder builder("net", "net.x");
  const Dim n = builder.symbol({"N", 2, 100, 1, {}}), m = builder.symbol({"M", 2, 50, 1, {}});
  const ValueId a = builder.input("a", {DType::f32, {n}}),
                b = builder.input("b", {DType::f32, {m}});
  const ValueId before = builder.add("relu", {b}, "before");
  CHECK(to_string(builder.type(before)) == "f32[M]");
  builder.add("add", {a, before}, "sum");
  CHECK(builder.type(before).dims == builder.type(a).dims);
  CHECK(builder.resolve(m) == builder.resolve(n));
  // Nodes that are added with the facts known by then.
  const ValueId shaped = builder.add("reshape", {before}, "shaped",
                                     {{"shape", std::vector{m, builder.dims().constant(1)}}});
  CHECK(builder.type(shaped).dims.front() == builder.resolve(n));
}

TEST_CASE("what cannot be is refused when it is added") {
  Builder builder("net", "net.x");
  const ValueId x = builder.input("x", {DType::f32, {builder.dims().constant(4)}});
  CHECK_THROWS_AS(builder.input("x", {DType::f32, {}}), Error);
  CHECK_THROWS_WITH(builder.add("relu", {x}, "y", {{"slope", 2.0}}),
                    doctest::Contains("no attribute slope"));
  Builder other("net", "net.x");
  const ValueId a = other.input("a", {DType::f32, {other.dims().constant(4)}}),
                b = other.input("b", {DType::f32, {other.dims().constant(5)}});
  CHECK_THROWS_WITH(other.add("add", {a, b}, "y"), doctest::Contains("net.x: add"));
}

TEST_CASE("ports of texts are i64, with each text once, and bodies have none") {
  ModuleBuilder made;
  made.output(made.input("x", {made.c(4)}, DType::i64));
  made.output(made.input("n", {made.c(4)}));
  const auto list = [](std::vector<std::string> texts) {
    return std::make_shared<const std::vector<std::string>>(std::move(texts));
  };
  made.module.input_texts = {list({"a", "", "b"}), nullptr};
  made.module.output_texts = {list({}), nullptr};
  CHECK_NOTHROW(verify(made.module));
  CHECK(has_texts(made.module));
  const auto breaks = [&](const std::string& message, const auto& edit) {
    Module broken = made.module;
    edit(broken);
    CHECK_THROWS_WITH(verify(broken), doctest::Contains(message.c_str()));
  };
  breaks("not as many lists of texts as ports", [](Module& m) { m.input_texts.pop_back(); });
  breaks("not i64", [&](Module& m) { m.input_texts[1] = list({}); });
  breaks("not i64", [&](Module& m) { m.output_texts[1] = list({}); });
  breaks("twice", [&](Module& m) { m.output_texts[0] = list({"a", "a"}); });
  breaks("has ports of texts",
         [&](Module& m) { m.bodies.push_back(std::make_shared<const Module>(made.module)); });
}
