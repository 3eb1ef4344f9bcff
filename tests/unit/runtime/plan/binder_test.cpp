#include "src/runtime/plan/binder.hpp"
#include "graph/text/text.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn;
using namespace dyn::runtime;
using dyn::testing::check_error;

namespace {

struct Bound {
  graph::Module module;
  std::optional<Binder> binder;

  explicit Bound(const std::string& text) : module(graph::parse("dyn 1\n" + text)) {
    binder.emplace(module);
  }

  std::vector<std::int64_t> bind(const std::vector<Shape>& shapes) const {
    std::vector<const Shape*> pointers;
    for (const Shape& shape : shapes) pointers.push_back(&shape);
    return binder->bind(pointers);
  }
  std::int64_t value(const std::vector<std::int64_t>& symbols, const char* name) const {
    return symbols[static_cast<std::size_t>(*module.dims->find_symbol(name)->symbol())];
  }
};

const char* const two_inputs = R"(dim B in 1..64
dim S in 1..512 hint 128
graph g(ids: i64[B, S], mask: f32[B, S, 4]) -> (y: f32[B, S, 4]) {
  y = neg(mask)
  return y
}
)";

}  // namespace

TEST_CASE("symbols are bound by the first axis that shows them") {
  const Bound f(two_inputs);
  const auto symbols = f.bind({{3, 7}, {3, 7, 4}});
  CHECK(f.value(symbols, "B") == 3);
  CHECK(f.value(symbols, "S") == 7);
}

TEST_CASE("what does not fit is named with its values") {
  const Bound f(two_inputs);
  check_error(
      ErrorKind::user, [&] { f.bind({{3, 7}, {3, 9, 4}}); },
      "dim S is 7 in input 'ids' (axis 1) but 9 in input 'mask' (axis 1)");
  check_error(
      ErrorKind::user, [&] { f.bind({{3, 7}, {3, 7, 5}}); }, "input 'mask' (axis 2) is 5", "4");
  check_error(
      ErrorKind::user, [&] { f.bind({{3, 7}, {3, 7}}); }, "'mask'", "rank 2", "f32[B, S, 4]");
  check_error(
      ErrorKind::user, [&] { f.bind({{3, 513}, {3, 513, 4}}); }, "dim S is 513", "1..512", "ids");
  check_error(ErrorKind::user, [&] { f.bind({{0, 7}, {0, 7, 4}}); }, "dim B is 0", "1..64");
  check_error(ErrorKind::user, [&] { f.bind({{3, -7}, {3, -7, 4}}); }, "negative");
}

TEST_CASE("divisors") {
  const Bound f(
      "dim S in 0..512 multiple 4\ngraph g(x: f32[S]) -> (y: f32[S]) {\n  y = neg(x)\n  return "
      "y\n}\n");
  CHECK(f.value(f.bind({{8}}), "S") == 8);
  CHECK(f.value(f.bind({{0}}), "S") == 0);
  check_error(ErrorKind::user, [&] { f.bind({{6}}); }, "dim S is 6", "multiple of 4");
}

TEST_CASE("symbols are solved from linear axes") {
  const Bound f(
      "dim S in 0..512\ngraph g(x: f32[2 * S + 1]) -> (y: f32[2 * S + 1]) {\n  y = neg(x)\n  "
      "return y\n}\n");
  CHECK(f.value(f.bind({{9}}), "S") == 4);
  check_error(ErrorKind::user, [&] { f.bind({{8}}); }, "is 8", "S * 2 + 1", "no S");
  CHECK(f.binder->input_shapes(f.bind({{9}})).front() == Shape{9});
}

TEST_CASE("expressions of bound symbols are checked") {
  const Bound f(
      "dim S in 0..512\ngraph g(x: f32[S], z: f32[S + 1]) -> (y: f32[S], w: f32[S + 1]) {\n  y = "
      "neg(x)\n  w = neg(z)\n  return "
      "y, w\n}\n");
  CHECK(f.value(f.bind({{4}, {5}}), "S") == 4);
  check_error(
      ErrorKind::user, [&] { f.bind({{4}, {6}}); }, "'z' (axis 0) is 6", "S + 1 = 5", "S = 4");
}

TEST_CASE("axes that cannot be solved are refused at load") {
  check_error(
      ErrorKind::unsupported,
      [] {
        Bound(
            "dim S in 0..512\ngraph g(x: f32[floordiv(S, 2)]) -> (y: f32[floordiv(S, 2)]) {\n  y = "
            "neg(x)\n  return y\n}\n");
      },
      "dim S", "'x'", "floordiv");
}

TEST_CASE("a dim that no input has is refused at load") {
  check_error(
      ErrorKind::model,
      [] {
        Bound(
            "dim S in 0..512\ndim T in 0..9\ngraph g(x: f32[S]) -> (y: f32[S], r: i64[T]) {\n  y = "
            "neg(x)\n  r = range() start=0 "
            "end=T\n  return y, r\n}\n");
      },
      "dim T");
}

TEST_CASE("constraints between dims are checked with both tensors' values") {
  const Bound f(
      "dim S in 1..512\ndim T in 1..512\ngraph g(a: f32[S], b: f32[T]) -> (y: f32[max(S, T)]) {\n  "
      "y = a + b\n  return y\n}\n");
  CHECK_NOTHROW(f.bind({{4}, {4}}));
  CHECK_NOTHROW(f.bind({{4}, {1}}));
  CHECK_NOTHROW(f.bind({{1}, {4}}));
  check_error(ErrorKind::user, [&] { f.bind({{4}, {6}}); }, "S = 4", "T = 6", "equal");
}

TEST_CASE("values by name, with hints") {
  const Bound f(two_inputs);
  const auto symbols = f.binder->bind_dims({{"B", 2}});
  CHECK(f.value(symbols, "S") == 128);
  CHECK(f.binder->input_shapes(symbols) == std::vector<Shape>{{2, 128}, {2, 128, 4}});
  check_error(ErrorKind::user, [&] { f.binder->bind_dims({{"X", 2}}); }, "'X'");
  check_error(ErrorKind::user, [&] { f.binder->bind_dims({}); }, "'B'", "hint");
  check_error(ErrorKind::user, [&] { f.binder->bind_dims({{"B", 65}}); }, "dim B is 65");
}
