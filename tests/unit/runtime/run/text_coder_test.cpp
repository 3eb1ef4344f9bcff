// Texts of ports, and the places that stand for them.

#include "dyn/texts.hpp"

#include <limits>
#include <utility>

#include "tests/unit/runtime/load/support.hpp"

using namespace dyn;
using testing::check_error;
using testing::uncached;

namespace {

using Strings = std::vector<std::string>;
using Places = std::vector<std::int64_t>;

/// Whether two texts are equal, and the second passed on.
const char* const pairs = R"(dyn 1
dim N
graph g(a: i64[N] of ["cat", "", "\xc3\xa9t\xc3\xa9"], b: i64[N] of ["cat", "", "\xc3\xa9t\xc3\xa9"], x: f32[N]) -> (same: bool[N], b2: i64[N] of ["cat", "", "\xc3\xa9t\xc3\xa9"], x2: f32[N]) {
  same = equal(a, b)
  x2 = x * 2
  return same, b, x2
}
)";

Places places_of(const Tensor& tensor) {
  const auto elements = tensor.data<std::int64_t>();
  return {elements.begin(), elements.end()};
}

}  // namespace

TEST_CASE("ports of a text model name their texts") {
  const Graph graph = Graph::from_text(pairs, uncached());
  const std::vector<PortInfo> inputs = graph.inputs(), outputs = graph.outputs();
  REQUIRE(inputs[0].texts != nullptr);
  CHECK(*inputs[0].texts == Strings{"cat", "", "été"});
  CHECK(inputs[0].dtype == DType::i64);
  CHECK(inputs[2].texts == nullptr);
  CHECK(*outputs[1].texts == Strings{"cat", "", "été"});
  CHECK(outputs[0].texts == nullptr);
}

TEST_CASE("texts become places, unknown ones of their own, and texts again") {
  const Graph graph = Graph::from_text(pairs, uncached());
  TextCoder coder(graph);
  const Strings a{"été", "dog", "", "eel", "cat"}, b{"été", "dog", "cat", "dog", "eel"};
  const Tensor first = coder.encode("a", a, {5}), second = coder.encode("b", b, {5});
  CHECK(places_of(first) == Places{2, -1, 1, -2, 0});
  CHECK(places_of(second) == Places{2, -1, 0, -1, -2});
  const std::vector<float> x(5);
  const Outputs outputs = graph.run({{"a", first}, {"b", second}, {"x", Tensor::view(x, {5})}});
  const auto same = outputs["same"].data<bool>();
  CHECK(std::vector<bool>(same.begin(), same.end()) ==
        std::vector<bool>{true, true, false, false, false});
  CHECK(coder.decode("b2", outputs["b2"]) == b);
  CHECK(coder.decode("b2", Tensor(DType::i64, {0})).empty());
  coder.forget();
  CHECK(places_of(coder.encode("a", Strings{"eel"}, {1, 1})) == Places{-1});
}

TEST_CASE("what cannot be encoded or decoded is refused") {
  const Graph graph = Graph::from_text(pairs, uncached());
  TextCoder coder(graph);
  const Strings two{"cat", "dog"};
  check_error(ErrorKind::user, [&] { coder.encode("c", two, {2}); }, "the model has no input 'c'");
  check_error(
      ErrorKind::user, [&] { coder.encode("x", two, {2}); },
      "input 'x' has no texts: it is f32[N]");
  check_error(
      ErrorKind::user, [&] { coder.encode("a", two, {3}); },
      "input 'a' is given 2 texts for the shape [3]");
  const auto decode = [&](const std::string& output, const Tensor& tensor) {
    return [&coder, output, tensor] { coder.decode(output, tensor); };
  };
  const Tensor zero = Tensor::from<std::int64_t>({0}, {1});
  check_error(ErrorKind::user, decode("b", zero), "the model has no output 'b'");
  check_error(ErrorKind::user, decode("x2", zero), "output 'x2' has no texts");
  check_error(ErrorKind::user, decode("b2", Tensor::from<float>({0}, {1})), "f32");
  for (const std::int64_t place :
       {std::int64_t{3}, std::int64_t{-1}, std::numeric_limits<std::int64_t>::min(),
        std::numeric_limits<std::int64_t>::max()})
    check_error(ErrorKind::user, decode("b2", Tensor::from<std::int64_t>({place}, {1})),
                "output 'b2' has the element " + std::to_string(place) +
                    ", which is no place among its 3 texts");
  TextCoder moved(std::move(coder));
  CHECK(places_of(moved.encode("a", two, {2})) == Places{0, -1});
  check_error(
      ErrorKind::user, [&] { coder.forget(); },  // NOLINT(bugprone-use-after-move): the test
      "moved from");
}
