// dyn::Builder makes the models that texts are read to.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include "dyn/dyn.hpp"
#include "dyn/functions.hpp"
#include "graph/ir/op.hpp"
#include "graph/text/text.hpp"
#include "tests/support/elements.hpp"
#include "tests/support/error_text.hpp"
#include "tests/support/random_graph.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/runtime/build/replay.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn;
using testing::check_says;
using testing::error_text;
using testing::uncached;

namespace {

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Texts of the repository's models that the builder has words for.
std::vector<std::string> model_texts() {
  std::vector<std::string> texts;
  for (const char* folder : {"examples", "tests/models", "tests/golden/text"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(
             std::filesystem::path(DYN_SOURCE_DIR) / folder)) {
      if (entry.path().extension() != ".dyn") continue;
      const std::string text = contents(entry.path());
      if (text.find("\nbody ") == std::string::npos && text.find(" of [") == std::string::npos)
        texts.push_back(text);
    }
  }
  return texts;
}

NamedTensors inputs_of(const std::string& text, std::int64_t a, std::int64_t b) {
  const graph::Module module = graph::parse(text);
  NamedTensors inputs;
  std::mt19937_64 random(7);
  for (const graph::ValueId id : module.inputs) {
    const graph::Value& value = module.value(id);
    Shape shape;
    for (const graph::Dim dim : value.type.dims)
      shape.push_back(dim.constant().value_or(to_string(dim) == "A" ? a : b));
    Tensor tensor(value.type.dtype, shape);
    if (value.type.dtype == DType::f32)
      for (float& each : tensor.mutable_data<float>())
        each = std::uniform_real_distribution<float>(-2, 2)(random);
    inputs.emplace_back(value.name, tensor);
  }
  return inputs;
}

}  // namespace

TEST_CASE("a model of the builder is what its text says, and runs so") {
  Builder b("net");
  const Dim n = b.dim("N", 1, 4096);
  const Value x = b.input("x", DType::f32, {n, 3});
  const Value w = b.weight("w", Tensor::from<float>({1, 0, 0, 1, 1, 1}, {3, 2}));
  const Value product = matmul(x, w);
  CHECK(to_string(product.dims()) == "[N, 2]");
  b.output("y", relu(product - 1).named("above"));
  b.output("rows", reshape(x, {{"shape", {n * 3}}}));
  const Graph graph = b.load(uncached());
  CHECK(b.to_text() ==
        "dyn 1\ndim N in 1..4096\nweights \"weights.safetensors\"\n\n"
        "graph net(x: f32[N, 3]) -> (y: f32[N, 2], rows: f32[N * 3]) {\n"
        "  matmul = matmul(x, w: f32[3, 2])\n  sub = matmul - 1.0\n  above = relu(sub)\n"
        "  reshape = reshape(x) shape=[N * 3]\n  return above, reshape\n}\n");
  const Tensor input = Tensor::from<float>({1, 2, 3, 0, 0, 0}, {2, 3});
  const std::vector<float> expected{3, 4, 0, 0};
  CHECK(std::ranges::equal(graph.run({{"x", input}})["y"].data<float>(), expected));
  const std::string file = b.weights();
  const Graph read = Graph::from_memory(b.to_text(), {{"weights.safetensors", file}}, uncached());
  CHECK(std::ranges::equal(read.run({{"x", input}})["y"].data<float>(), expected));
}

TEST_CASE("models of the repository, built node by node, print as they are read") {
  std::set<std::string> operators;
  int models = 0;
  for (const std::string& text : model_texts()) {
    graph::Module module = graph::parse(text);
    for (const graph::Node& node : module.nodes) operators.insert(node.op->name);
    INFO(text.substr(0, 2000));
    CHECK(testing::replayed(module).to_text() == testing::text_without_claims(module));
    ++models;
  }
  CHECK(models >= 5);
  CHECK(operators.size() >= 20);
}

TEST_CASE("random graphs, built node by node, print as they are read and compute the same bits") {
  const std::uint64_t seed = testing::test_seed();
  std::mt19937_64 random(seed);
  for (int i = 0; i < 25; ++i) {
    const std::string text = testing::random_graph(random, 12);
    INFO("seed " << seed << ", graph " << i << "\n" << text);
    const graph::Module module = graph::parse(text);
    Builder builder = testing::replayed(module);
    CHECK(builder.to_text() == testing::text_without_claims(module));
    if (i % 5 != 0) continue;
    Options options = uncached();
    options.device = "reference";
    options.random_weights = true;
    const NamedTensors inputs = inputs_of(text, 3, 4);
    const Outputs built = builder.load(options).run(inputs),
                  read = Graph::from_text(text, options).run(inputs);
    for (std::size_t output = 0; output < read.size(); ++output) {
      const Tensor &a = built[output], &b = read[output];
      REQUIRE(a.shape() == b.shape());
      CHECK(std::memcmp(a.raw(), b.raw(), a.bytes()) == 0);
    }
  }
}

TEST_CASE("sizes are read from a text, and a value tells what is known of it") {
  Builder b, other;
  const Dim n = b.dim("N", 2, 9);
  other.dim("M", 1, 3);
  const Dims dims = b.dims(" [N * 2 - 1, floordiv(N, 2), _, 7]");
  REQUIRE(dims.size() == 4);
  CHECK(dims[0] == n * 2 - 1);
  CHECK(dims[1] == floordiv(n, 2));
  CHECK(to_string(dims) == "[N * 2 - 1, floordiv(N, 2), _0, 7]");
  CHECK(b.dims(to_string(dims)) == dims);
  CHECK(b.dims("[]").empty());
  const PortInfo info = relu(b.input("x", DType::f16, dims)).info();
  CHECK(info.name == "relu");
  CHECK(info.dtype == DType::f16);
  CHECK(info.shape == "[N * 2 - 1, floordiv(N, 2), _0, 7]");
  REQUIRE(info.dims.size() == 4);
  CHECK(info.dims[0].low == 3);
  CHECK(info.dims[0].high == 17);
  check_says(error_text([&] { b.dims("[M]"); }), {"dims:1:2: unknown dim `M`"});
  check_says(error_text([&] { other.dims("[N]"); }), {"unknown dim `N`; did you mean `M`?"});
  check_says(error_text([&] { b.dims("[N / 2]"); }), {"floordiv(a, b)"});
  check_says(error_text([&] { b.dims("N"); }), {"expected a list of dims"});
  check_says(error_text([&] { b.dims("[N] ]"); }), {"the end of the list of dims"});
  check_says(error_text([&] { b.dims(std::string(100000, '[')); }), {"expected a dim"});
  check_says(error_text([&] { b.dims("[" + std::string(100000, '(')); }), {"levels deep"});
}

TEST_CASE("a number takes the dtype of the tensor beside it") {
  Builder b;
  const Value x = b.input("x", DType::i32, {4}), h = b.input("h", DType::f64, {4});
  CHECK((x + 1).dtype() == DType::i32);
  CHECK((2 * h).dtype() == DType::f64);
  CHECK(where(less(x, 3), h, 0).dtype() == DType::f64);
  check_says(error_text([&] { x + 0.5; }), {"a float literal stands beside i32"});
  check_says(error_text([&] { x + true; }), {"in add"});
}

TEST_CASE("inputs may come after nodes, and nodes tell more about dims of both") {
  Builder b;
  const Dim n = b.dim("N", 2, 9);
  const Value y = relu(b.input("x", DType::f32, {n}));
  const Dim m = b.dim("M", 2, 7);
  const Value z = b.input("z", DType::f32, {m});
  const Value sum = y + z;
  CHECK(to_string(z.dims()) == to_string(y.dims()));
  const Value late = b.input("late", DType::f32, {m, 2});
  CHECK(late.dims()[0] == sum.dims()[0]);
  const Value last = b.input("last", DType::f32, {b.dim("K", 2, 20)});
  const Value longer = concat({y, b.splat("one", DType::f32, {1}, 1)}, {{"axis", 0}});
  b.output("both", last + longer);
  CHECK(to_string(last.dims()) == "[K]");
  b.output("sum", sum);
  b.output("late", late);
  const std::string text = b.to_text();
  CHECK(text == graph::print(graph::parse(text)));
}

TEST_CASE("states of a session") {
  Builder b("counts");
  const Dim s = b.dim("S", 1, 8), p = b.dim("P", 0, 8), c = b.dim("C", 1, 8);
  const Value all =
      op("append", {b.state("seen", DType::f32, {c, 2}), b.input("x", DType::f32, {s, 2})},
         {{"at", p}, {"axis", 0}});
  b.output("y", reduce_sum(slice(all, {{"axes", {0}}, {"starts", {0}}, {"ends", {p + s}}}),
                           {{"axes", {0}}}));
  const Graph graph = b.load(uncached());
  Session session(graph, {{"C", 8}});
  const Tensor one = Tensor::from<float>({1, 2}, {1, 2});
  session.run({{"x", one}});
  const Outputs outputs = session.run({{"x", one}});
  CHECK(outputs["y"].data<float>()[1] == 4);
}

TEST_CASE("what is wrong with a node is thrown where it is added, with the node's name") {
  Builder b("net");
  const Dim n = b.dim("N", 1, 8);
  const Value x = b.input("x", DType::f32, {n, 3});
  const std::string shapes = error_text([&] {
    const Value w = b.splat("w", DType::f32, {5, 2}, 1);
    Builder(b).op("matmul", {x, w}, {}, "product");
  });
  check_says(shapes, {"3", "5", "in matmul 'product'"});
  CHECK(shapes.find("line") == std::string::npos);
  check_says(error_text([&] { relu(x); }), {"after an error"});
}

TEST_CASE("bad input of the builder") {
  Builder b("net"), other("other");
  const Dim n = b.dim("N", 1, 8), foreign = other.dim("N", 1, 8);
  const Value x = b.input("x", DType::f32, {n, 3}), y = other.input("y", DType::f32, {foreign, 3});
  const auto says = [](const char* part, const auto& work) {
    check_says(error_text(work), {part});
  };
  says("unknown operator `rleu`; did you mean `relu`?", [&] { b.op("rleu", {x}); });
  says("has no attribute `axs`; did you mean `axis`", [&] { softmax(x, {{"axs", 1}}); });
  says("attribute axis must be an integer", [&] {
    Builder c;
    softmax(c.input("i", DType::f32, {2}), {{"axis", "last"}});
  });
  says("attribute axis is given twice", [&] {
    Builder c;
    softmax(c.input("i", DType::f32, {2}), {{"axis", 0}, {"axis", 0}});
  });
  says("is no word", [&] { cast(x, {{"dtype", "f32 f32"}}); });
  says("value of another model", [&] { x + y; });
  says("belongs to another model", [&] { n + foreign; });
  says("belongs to another model", [&] { reshape(x, {{"shape", {foreign}}}); });
  says("all its inputs are numbers", [&] { relu(1.0); });
  says("a number has neither a type nor a name", [&] { Value(1).dtype(); });
  says("`relu` has 1 result, here 2 are expected", [&] { b.ops("relu", {x}, {}, 2); });
  says("another value is called so", [&] { b.input("x", DType::f32, {n}); });
  says("another value is called so", [&] { b.op("relu", {x}, {}, "x"); });
  says("keeps its name", [&] { x.named("z"); });
  says("cannot name a dim", [&] { b.dim("max"); });
  says("cannot name a dim", [&] { b.dim("a b"); });
  says("defined twice", [&] { b.dim("N"); });
  says("has no values", [&] { b.dim("E", 4, 2); });
  says("the hint 9 is not a value of the dim",
       [&] { b.dim("H", {.low = 1, .high = 4, .hint = 9}); });
  says("is negative", [&] { b.input("m", DType::f32, {-1}); });
  says("not positive", [&] { floordiv(n, 0); });
  says("at most 8", [&] { b.input("r", DType::f32, Dims(9, 1)); });
  says("no upper bound", [&] { b.state("s", DType::f32, {b.dim("F")}); });
  says("more bytes than 63 bits",
       [&] { b.weight("huge", DType::f32, {std::int64_t{1} << 62, 4}); });
  says("is empty", [&] { b.weight("none", Tensor()); });
  says("cannot be 0.5", [&] { b.splat("half", DType::i32, {2}, 0.5); });
  says("random weights are floats", [&] { b.random("bits", DType::i64, {2}, 1); });
  says("the model has no outputs", [&] { Builder("empty").to_text(); });
  b.weight("w", Tensor::from<float>({1}, {1}));
  says("give all in one way", [&] { b.weight_file("w.safetensors"); });
  b.output("y", x);
  says("defined twice", [&] { b.output("y", x); });
  b.to_text();
  says("the model is whole", [&] { relu(x); });
}
