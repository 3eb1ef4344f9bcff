// `append` has no group of its own where the appended value can be computed in place; else a group
// copies that value alone. The rest of a state is never copied.

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include "graph/shapes/unifier.hpp"
#include "tests/unit/graph/fusion/pipeline.hpp"

namespace dyn::testing {
namespace {

using graph::Backbone;

const std::string states_head = R"(dyn 1
dim B in 1..4
dim S in 1..16
dim P in 0..64
dim C in 1..64
state k: f32[B, 2, C, 4]
state flat: f32[B, C, 8]
weight w: f32[8, 8] = random 1
weight b: f32[8] = random 2
weight wide: f32[8, 24] = random 3
graph g(x: f32[B, S, 8], y: f32[B, 2, S, 4]) -> (r: f32[B, _, _, _]) {
)";

/// A graph that appends to `flat` and `k`, and reads both.
Pipeline appending(const std::string& to_flat, const std::string& to_k) {
  return through_passes(states_head + R"(
  f = slice(append(flat, )" +
                        to_flat + R"() at=P axis=1) axes=[1] starts=[0] ends=[P + S]
  c = slice(append(k, )" +
                        to_k + R"() at=P) axes=[2] starts=[0] ends=[P + S]
  fh = transpose(reshape(f) shape=[B, P + S, 2, 4]) perm=[0, 2, 1, 3]
  r = attention(y, fh, c) causal=true
  return r
}
)");
}

/// Groups that copy.
std::vector<const graph::Group*> copies(const Pipeline& pipeline) {
  std::vector<const graph::Group*> found;
  for (const auto& group : pipeline.fusion.groups) {
    if (group.backbone == Backbone::Copy) found.push_back(&group);
  }
  return found;
}

bool mentions(const Pipeline& pipeline, const graph::Group& group, std::string_view name) {
  const int wanted = *pipeline.module.dims->find_symbol(name)->symbol();
  bool found = false;
  for (const graph::Dim extent : group.extents)
    graph::for_each_symbol(extent, [&](int symbol) { found = found || symbol == wanted; });
  return found;
}

/// The operand that writes to the state of this name; its problem writes nothing else there.
const rkernel::Operand* writer(const Pipeline& pipeline, const std::string& state) {
  const rkernel::Operand* found = nullptr;
  for (const auto& problem : pipeline.problems) {
    for (const auto& operand : problem.operands) {
      if (!operand.written || pipeline.module.value(operand.buffer).name != state) continue;
      CHECK(found == nullptr);
      found = &operand;
    }
  }
  REQUIRE(found != nullptr);
  return found;
}

TEST_CASE("a projection and an element-wise chain store straight into the state") {
  const Pipeline model = appending("matmul(x, w) + b", "y * 0.5 + 1.0");
  CHECK(defects(model).empty());
  CHECK(copies(model).empty());
  const std::map<std::string, std::int64_t> values = {{"B", 2}, {"S", 3}, {"P", 5}, {"C", 11}};
  std::vector<std::int64_t> symbols(static_cast<std::size_t>(model.module.dims->symbol_count()), 1);
  for (const auto& [name, value] : values)
    symbols[static_cast<std::size_t>(*model.module.dims->find_symbol(name)->symbol())] = value;
  CHECK(graph::evaluate(writer(model, "flat")->offset, symbols) == 5 * 8);
  CHECK(graph::evaluate(writer(model, "k")->offset, symbols) == 5 * 4);
}

TEST_CASE("the parts of one wide projection are copied, and nothing else") {
  const Pipeline model = through_passes(states_head + R"(
  q, kk, v = split(matmul(x, wide)) axis=2 sizes=[8, 8, 8]
  heads = transpose(reshape(kk) shape=[B, S, 2, 4]) perm=[0, 2, 1, 3]
  c = slice(append(k, heads) at=P) axes=[2] starts=[0] ends=[P + S]
  f = slice(append(flat, v) at=P axis=1) axes=[1] starts=[0] ends=[P + S]
  fh = transpose(reshape(f) shape=[B, P + S, 2, 4]) perm=[0, 2, 1, 3]
  return attention(transpose(reshape(q) shape=[B, S, 2, 4]) perm=[0, 2, 1, 3], c, fh)
}
)");
  CHECK(defects(model).empty());
  REQUIRE(copies(model).size() == 2);
  for (const graph::Group* copy : copies(model)) {
    CHECK_FALSE(mentions(model, *copy, "C"));
    CHECK_FALSE(mentions(model, *copy, "P"));
  }
}

TEST_CASE("what has no memory of its own, or is an input, is copied into the state") {
  for (const char* x :
       {"x", "expand(0.5) shape=[B, S, 8]", "expand(cast(range() end=8) dtype=f32) shape=[B, S, 8]",
        "slice(concat(x, x) axis=1) axes=[1] starts=[S] ends=[2 * S]",
        "expand(b) shape=[B, S, 8]"}) {
    CAPTURE(std::string(x));
    const Pipeline model = appending(x, "y");
    CHECK(defects(model).empty());
    for (const graph::Group* copy : copies(model)) CHECK_FALSE(mentions(model, *copy, "C"));
  }
}

TEST_CASE("one value appended twice, and an output that is appended") {
  CHECK(defects(appending("x * 2.0", "reshape(x * 2.0) shape=[B, 2, S, 4]")).empty());
  const Pipeline returned = through_passes(R"(dyn 1
dim S in 1..16
dim P in 0..64
dim C in 1..64
state k: f32[C, 8]
graph g(x: f32[S, 8]) -> (e: f32[S, 8], all: f32[_, 8]) {
  e = exp(x)
  k1 = append(k, e) at=P
  return e, slice(k1) axes=[0] starts=[0] ends=[P + S]
}
)");
  CHECK(defects(returned).empty());
}

TEST_CASE("an append that nothing reads leaves nothing, and the length goes on") {
  const Pipeline model = through_passes(R"(dyn 1
dim S in 1..16
dim P in 0..64
dim C in 1..64
state k: f32[C, 8]
graph g(x: f32[S, 8]) -> (e: f32[S, 8]) {
  k1 = append(k, x) at=P
  return exp(x)
}
)");
  CHECK(model.problems.size() == 1);
  CHECK(model.module.states.size() == 1);
  CHECK(to_string(model.module.length) == "P");
  CHECK(to_string(model.module.growth) == "S");
}

TEST_CASE("GPT-2 with a cache copies each layer's new keys and values, and never the cache") {
  std::ifstream file(std::string(DYN_SOURCE_DIR) + "/examples/models/gpt2_cached.dyn");
  REQUIRE(file);
  std::stringstream text;
  text << file.rdbuf();
  const Pipeline gpt2 = through_passes(text.str());
  CHECK(defects(gpt2).empty());
  const auto copied = copies(gpt2);
  CHECK(copied.size() == 2 * 12);
  for (const graph::Group* copy : copied)
    CHECK(to_string(std::span(copy->extents)) == "[B, 12, S, 64]");
  for (const auto& group : gpt2.fusion.groups) CHECK_FALSE(mentions(gpt2, group, "C"));
}

}  // namespace
}  // namespace dyn::testing
