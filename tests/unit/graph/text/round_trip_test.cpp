// print(parse(text)) is canonical: a golden file for each construct, and printing again changes
// nothing.

#include <doctest/doctest.h>

#include "graph/ir/op.hpp"
#include "graph/text/text.hpp"
#include "tests/unit/graph/text/support.hpp"

using namespace dyn::graph;
using namespace dyn::test;

namespace {

/// The one statement of `statement` as it is printed.
std::string printed(const std::string& statement, std::string_view output = "f32[B, S]") {
  const std::string text = print(parse(model(statement + "\nreturn r", output)));
  const std::size_t begin = text.find("{\n") + 2;
  return text.substr(begin, text.find("  return") - begin);
}

}  // namespace

TEST_CASE("golden files") {
  for (const std::string& path : list_sources("tests/golden/text", ".in.dyn")) {
    INFO(path);
    const std::string once = print(parse(read_source(path), path));
    check_golden(path.substr(0, path.size() - std::string(".in.dyn").size()) + ".out.dyn", once);
    CHECK(print(parse(once, path)) == once);
  }
}

TEST_CASE("models keep their text through print and parse") {
  REQUIRE(model_paths().size() >= 6);
  for (const std::string& path : model_paths()) {
    INFO(path);
    const Module module = parse(read_source(path), path);
    const std::string once = print(module);
    const Module again = parse(once, path);
    CHECK(print(again) == once);
    REQUIRE(again.nodes.size() == module.nodes.size());
    for (std::size_t i = 0; i < module.nodes.size(); ++i) {
      CHECK(again.nodes[i].op == module.nodes[i].op);
      CHECK(again.nodes[i].inputs.size() == module.nodes[i].inputs.size());
      CHECK(to_string(again.value(again.nodes[i].outputs[0]).type) ==
            to_string(module.value(module.nodes[i].outputs[0]).type));
    }
  }
}

TEST_CASE("infix operators and their precedence") {
  CHECK(printed("r = x + y * x - y") == "  r_mul = y * x\n  r_add = x + r_mul\n  r = r_add - y\n");
  CHECK(printed("r = (x + y) * (x - y)") ==
        "  r_add = x + y\n  r_sub = x - y\n  r = r_add * r_sub\n");
  CHECK(printed("r = x / y / x") == "  r_div = x / y\n  r = r_div / x\n");
  CHECK(printed("r = -x * 2.0") == "  r_neg = neg(x)\n  r = r_neg * 2.0\n");
  CHECK(printed("r = add(x, y)") == "  r = x + y\n");
  CHECK(printed("r = x - -1.5") == "  r = x - -1.5\n");
}

TEST_CASE("literals take the dtype beside them") {
  CHECK(printed("r = x * 2") == "  r = x * 2.0\n");
  CHECK(printed("r = ids * 2 + 1", "i64[B, S]") == "  r_mul = ids * 2\n  r = r_mul + 1\n");
  CHECK(printed("r = maximum(-inf, x)") == "  r = maximum(-inf, x)\n");
  CHECK(printed("r = x + nan") == "  r = x + nan\n");
  CHECK(printed("r = cast(cast(x) dtype=i32 + 1) dtype=f32") ==
        "  r_cast = cast(x) dtype=i32\n  r_add = r_cast + 1\n  r = cast(r_add) dtype=f32\n");
  CHECK(printed("r = where(less(x, 0), 1, y)") ==
        "  r_less = less(x, 0.0)\n  r = where(r_less, 1.0, y)\n");
  CHECK(printed("r = x * (1 + 2.5)") == "  r_add = 1.0 + 2.5\n  r = x * r_add\n");
  CHECK(printed("half = 0.5\nr = x * half + y * half") ==
        "  r_mul = x * 0.5\n  r_mul_2 = y * 0.5\n  r = r_mul + r_mul_2\n");
  CHECK(printed("r = cast((1: i32) + 2) dtype=f32 + x") ==
        "  r_add = 1: i32 + 2: i32\n  r_cast = cast(r_add) dtype=f32\n  r = r_cast + x\n");
}

TEST_CASE("floats are printed shortest, and read back as the same") {
  CHECK(printed("r = x * 0.1") == "  r = x * 0.1\n");
  CHECK(printed("r = x * 1e-5") == "  r = x * 1e-5\n");
  CHECK(printed("r = x * 0.00001000") == "  r = x * 1e-5\n");
  CHECK(printed("r = x * 1e24") == "  r = x * 1e24\n");
  CHECK(printed("r = x * -0.0") == "  r = x * -0.0\n");
  CHECK(printed("r = x * 0.1234567890123456789") == "  r = x * 0.12345678901234568\n");
}

TEST_CASE("attributes that are the default are left out") {
  CHECK(printed("r = softmax(x) axis=-1") == "  r = softmax(x)\n");
  CHECK(printed("r = softmax(x) axis=0") == "  r = softmax(x) axis=0\n");
  CHECK(printed("r = matmul(matmul(x, y) transpose_b=true transpose_a=false, y)") ==
        "  r_matmul = matmul(x, y) transpose_b=true\n  r = matmul(r_matmul, y)\n");
  CHECK(printed("r = slice(pad(x) before=[0, 1] after=[0, 0] value=0) axes=[1] starts=[1] ends=[(S "
                "+ 1)]") ==
        "  r_pad = pad(x) before=[0, 1] after=[0, 0]\n  r = slice(r_pad) axes=[1] starts=[1] "
        "ends=[S + 1]\n");
}

TEST_CASE("anonymous results get names that no other value has") {
  CHECK(printed("r_add = x + y\nr = x * (x + y) + (r_add + y)") ==
        "  r_add = x + y\n  r_add_2 = x + y\n  r_mul = x * r_add_2\n  r_add_3 = r_add + y\n  r = "
        "r_mul + r_add_3\n");
  CHECK(printed("a = x\nr = a + y") == "  r = x + y\n");
}

TEST_CASE("a symbol without a name is printed as _ where that says the same") {
  const std::string text =
      "dyn 1\n\ngraph g(a: f32[_, 4], b: f32[_]) -> (r: f32[_, 4]) {\n  r = relu(a)\n  return "
      "r\n}\n";
  CHECK(print(parse(text)) == text);
  // The second dims become one symbol, which then needs its name.
  const std::string shared =
      print(parse("dyn 1\ngraph g(a: f32[_, _], b: f32[_, _]) -> (r: f32[_, _]) {\nreturn "
                  "concat(a, b) axis=0\n}"));
  CHECK(print(parse(shared)) == shared);
  const std::size_t name = shared.find("dim ") + 4;
  const std::string symbol = shared.substr(name, shared.find('\n', name) - name);
  CHECK(shared.find("(a: f32[_, " + symbol + "], b: f32[_, " + symbol + "])") != std::string::npos);
}

TEST_CASE("results without a usable name, as passes may leave them, still print") {
  Module module = parse(model("t = x + y\nr = t * x\nreturn r"));
  module.value(module.nodes[0].outputs[0]).name.clear();
  module.value(module.nodes[1].outputs[0]).name = "x";
  const std::string once = print(module);
  CHECK(print(parse(once)) == once);
  CHECK(once.find("add_") != std::string::npos);
}

TEST_CASE("constants of passes say their dtype where nothing beside them does") {
  Module module = parse(model("r = cast((1: i32) + (2: i32)) dtype=f32 + x\nreturn r"));
  module.value(module.nodes[0].inputs[0]).type.dtype = dyn::DType::i64;
  CHECK(print(module).find("1: i64 + 2: i32") != std::string::npos);
}
