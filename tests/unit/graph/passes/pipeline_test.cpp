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
