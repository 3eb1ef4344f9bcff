// The list of passes: its names, its order, and what an observer sees.

#include "graph/passes/pipeline.hpp"

#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "graph/ir/op.hpp"
#include "graph/text/text.hpp"

using namespace dyn::graph;

namespace {

constexpr const char* text = R"(dyn 1
dim S in 1..64
graph g(x: f32[S, 8]) -> (y: f32[S, 8]) {
  y = softmax(transpose(transpose(x) perm=[1, 0]) perm=[1, 0])
  return y
}
)";

int count(const Module& module, OpId id) {
  int found = 0;
  for (const Node& node : module.nodes) found += node.op->id == id;
  return found;
}

}  // namespace

TEST_CASE("passes have distinct names, under which they are found") {
  std::set<std::string_view> names;
  for (const Pass& pass : pipeline()) {
    CHECK(names.insert(pass.name).second);
    CHECK(find_pass(pass.name) == &pass);
    CHECK(!pass.summary.empty());
    CHECK(pass_names().find(pass.name) != std::string::npos);
  }
  CHECK(find_pass("inline") == nullptr);
}

TEST_CASE("each pass is seen once, in the list's order, with a module that holds what it did") {
  Module module = parse(text);
  REQUIRE(count(module, OpId::Softmax) == 1);
  std::vector<std::string_view> seen;
  int softmaxes = -1, transposes = -1;
  const Fusion fusion = run_pipeline(module, {}, [&](const Pass& pass, const Module& now) {
    seen.push_back(pass.name);
    verify(now);
    if (pass.name == "decompose") softmaxes = count(now, OpId::Softmax);
    if (pass.name == "simplify") transposes = count(now, OpId::Transpose);
  });
  REQUIRE(seen.size() == pipeline().size());
  for (std::size_t i = 0; i < seen.size(); ++i) CHECK(seen[i] == pipeline()[i].name);
  CHECK(softmaxes == 0);
  CHECK(transposes == 0);
  CHECK(fusion.groups.size() == 1);
}

TEST_CASE("squares and cubes are products, where a product rounds as a power does") {
  const auto powers_in = [](const std::string& dtype, const std::string& exponent) {
    Module module = parse("dyn 1\ndim S in 1..64\ngraph g(x: " + dtype + "[S]) -> (y: " + dtype +
                          "[S]) {\n  y = pow(x, " + exponent + ")\n  return y\n}\n");
    run_pipeline(module, {});
    return count(module, OpId::Pow);
  };
  for (const char* exponent : {"2.0", "3.0"}) CHECK(powers_in("f32", exponent) == 0);
  for (const char* exponent : {"4.0", "0.5", "-2.0", "2.5"}) CHECK(powers_in("f32", exponent) == 1);
  for (const char* exponent : {"2", "3"}) CHECK(powers_in("i64", exponent) == 0);
  CHECK(powers_in("f64", "3.0") == 0);
}

namespace {

/// The attention of a model whose keys are `keys`, made of k (f16), i (i8) and s (f32) of [B, S,
/// 8], [B, S, 8] and [B, S, 1], and whose values are made of inputs likewise.
Node attention_over(const std::string& keys, const std::string& values, bool keeps_attention,
                    Module& module) {
  module = parse(
      "dyn 1\ndim B in 1..8\ndim S in 1..64\ndim P in 0..63\nstate c: f16[B, 64, 8]\n"
      "graph g(q: f32[B, S, 8], k: f16[B, S, 8], t: f16[B, 8, 8], i: i8[B, S, 8], "
      "s: f32[B, S, 1], u: i8[B, S, 8], w: f32[B, S, 1]) -> (y: f32[B, S, 8], l: f32[B, 64, 8]) "
      "{\n  a = append(c, k) at=P\n  l = cast(a) dtype=f32\n  e = " +
      keys + "\n  v = " + values + "\n  y = attention(q, e, v)\n  return y, l\n}\n");
  PipelineOptions options;
  options.decompose.keep_attention = keeps_attention;
  options.decompose.key_dtypes = {dyn::DType::f16, dyn::DType::i8};
  run_pipeline(module, options);
  for (const Node& node : module.nodes) {
    if (node.op->id == OpId::Attention) return node;
  }
  return {};
}

}  // namespace

TEST_CASE("attention reads rows of inputs and states in the bits that they have") {
  Module module;
  const auto dtypes = [&](const Node& node) {
    std::string all;
    for (const ValueId id : node.inputs)
      all += std::string(name_of(module.value(id).type.dtype)) + " ";
    return all;
  };
  const std::string plain = "cast(k) dtype=f32", scaled = "s * (cast(i) dtype=f32)",
                    other = "(cast(u) dtype=f32) * w";
  CHECK(dtypes(attention_over(plain, plain, true, module)) == "f32 f16 f16 ");
  CHECK(count(module, OpId::Cast) == 1);  // of the whole state
  CHECK(dtypes(attention_over("slice(cast(a) dtype=f32) axes=[1] starts=[0] ends=[S]", plain, true,
                              module)) == "f32 f16 f16 ");
  const Node bytes = attention_over(scaled, other, true, module);
  CHECK(dtypes(bytes) == "f32 i8 i8 f32 f32 ");
  CHECK(attr_boolean(bytes, "scales"));
  CHECK(module.value(bytes.inputs[3]).name == "s");
  CHECK(module.value(bytes.inputs[4]).name == "w");
  // Rows that are no runs, that something computes, or of which only one side is scaled.
  CHECK(dtypes(attention_over("transpose(cast(t) dtype=f32) perm=[0, 2, 1]", "cast(t) dtype=f32",
                              true, module)) == "f32 f32 f16 ");
  CHECK(dtypes(attention_over("cast(k + k) dtype=f32", plain, true, module)) == "f32 f32 f16 ");
  CHECK(dtypes(attention_over(scaled, plain, true, module)) == "f32 f32 f16 ");
  CHECK(attention_over(plain, plain, false, module).op == nullptr);
}
