// The parser's results: symbols, weights, values, nodes and attributes.

#include <limits>

#include <doctest/doctest.h>

#include "graph/ir/op.hpp"
#include "graph/text/text.hpp"
#include "tests/unit/graph/text/support.hpp"

using namespace dyn;
using namespace dyn::graph;
using namespace dyn::test;

namespace {

const Value& find_value(const Module& module, const std::string& name) {
  for (const Value& value : module.values) {
    if (value.name == name) return value;
  }
  FAIL("no value " << name);
  return module.values.front();
}

const Node& producer_of(const Module& module, const std::string& name) {
  return module.nodes[static_cast<std::size_t>(find_value(module, name).producer)];
}

}  // namespace

TEST_CASE("dims carry bounds, divisor and hint") {
  const Module module = parse(
      "dyn 1\ndim A\ndim B in 8..inf multiple 8 hint 128\ndim C in 2..2\n"
      "graph g(x: f32[A, B, C]) -> (r: f32[A, B, C]) {\nr = relu(x)\nreturn r\n}");
  REQUIRE(module.declared_symbols == std::vector<int>{0, 1, 2});
  const auto info = [&](int symbol) { return module.dims->info(symbol); };
  constexpr std::int64_t unbounded = std::numeric_limits<std::int64_t>::max();
  CHECK(info(0).name == "A");
  CHECK((info(0).low == 0 && info(0).high == unbounded && info(0).divisor == 1 && !info(0).hint));
  CHECK((info(1).low == 8 && info(1).high == unbounded && info(1).divisor == 8 &&
         info(1).hint == 128));
  CHECK((info(2).low == 2 && info(2).high == 2));
}

TEST_CASE("weights: from files, splat and random") {
  const Module module = parse(
      "dyn 1\nweights \"one.safetensors\"\nweight s: f32[4] = splat -0.5\nweight r: f32[4] = "
      "random 18\n"
      "weights \"two.safetensors\"\n"
      "graph g(x: f32[4]) -> (y: f32[4]) {\ny = x + s + r + k.0: f32[4] + k.0: f32[4]\nreturn "
      "y\n}");
  CHECK(module.weight_files == std::vector<std::string>{"one.safetensors", "two.safetensors"});
  const Value &splat = find_value(module, "s"), &random = find_value(module, "r"),
              &file = find_value(module, "k.0");
  CHECK((splat.kind == ValueKind::Weight && splat.weight.kind == WeightSource::Kind::Splat &&
         splat.weight.splat == -0.5));
  CHECK((random.weight.kind == WeightSource::Kind::Random && random.weight.seed == 18));
  CHECK((file.weight.kind == WeightSource::Kind::File && to_string(file.type) == "f32[4]"));
  CHECK(module.nodes[2].inputs[1] == module.nodes[3].inputs[1]);
}

TEST_CASE("nodes stand in order, with operands, results and places") {
  const Module module = parse(
      model("  a, b = split(x) axis=0 sizes=[(B - 1), 1]\n  r = concat(b, a) axis=0\n  return r"));
  REQUIRE(module.nodes.size() == 2);
  const Node &split = module.nodes[0], &concat = module.nodes[1];
  CHECK(split.op->id == graph::OpId::Split);
  CHECK((split.location.line == 5 && split.location.column == 10));
  REQUIRE(split.outputs.size() == 2);
  CHECK(module.value(split.outputs[1]).name == "b");
  CHECK(module.value(split.outputs[1]).output_index == 1);
  CHECK(concat.inputs == std::vector<ValueId>{split.outputs[1], split.outputs[0]});
  CHECK(module.outputs == concat.outputs);
  CHECK(module.output_names == std::vector<std::string>{"r"});
  CHECK(module.value(module.inputs[2]).type.dtype == DType::i64);
}

TEST_CASE("attributes have the registry's kinds") {
  const Module module =
      parse(model("a = matmul(x, y) transpose_b=true\n"
                  "b = layer_norm(x, w: f32[512], w) epsilon=1e-6\n"
                  "c = range() start=-2 end=(S * 2 - 1) dtype=i32 step=3\n"
                  "d = reduce_sum(x) axes=[-1, 0]\n"
                  "e = reshape(x) shape=[floordiv(B * S, 1), 1]\n"
                  "return x"));
  CHECK(std::get<bool>(*producer_of(module, "a").find_attr("transpose_b")));
  CHECK(std::get<double>(*producer_of(module, "b").find_attr("epsilon")) == 1e-6);
  const Node& range = producer_of(module, "c");
  CHECK(std::get<std::string>(*range.find_attr("dtype")) == "i32");
  CHECK(std::get<Dim>(*range.find_attr("start")).constant() == -2);
  const Dim rows = module.value(module.inputs[0]).type.dims[0];
  CHECK(attr_integers(producer_of(module, "d"), "axes") == std::vector<std::int64_t>{-1, 0});
  CHECK(attr_dims(module, producer_of(module, "e"), "shape")[0] ==
        rows * module.value(module.inputs[0]).type.dims[1]);
}

TEST_CASE("dim expressions: precedence, signs and functions, against plain arithmetic") {
  struct Case {
    const char* text;
    std::int64_t value;  ///< for S = 7
  };
  for (const Case& each :
       {Case{"S + 2 * 3", 13}, Case{"(S + 2) * 3", 27}, Case{"S - 1 - 2", 4},
        Case{"2 * -S + 20", 6}, Case{"floordiv(S, 2)", 3}, Case{"mod(S, 4) + 1", 4},
        Case{"min(S, 3) * max(S, 9)", 27}, Case{"floordiv(S * S - 1, 5)", 9}, Case{"- -S", 7}}) {
    INFO(std::string(each.text));
    const Module module =
        parse("dyn 1\ndim S in 0..100\ngraph g(x: f32[S]) -> (r: f32[S]) {\nc = range() end=(" +
              std::string(each.text) + ")\nreturn x\n}");
    const std::int64_t symbols[] = {7};
    CHECK(evaluate(std::get<Dim>(*module.nodes[0].find_attr("end")), symbols) == each.value);
  }
}

TEST_CASE("literals become constants of the dtype beside them") {
  const Module module = parse(model("a = x * 2\nb = ids - -3\nc = where(true, 1.5, y)\nreturn x"));
  const auto operand = [&](const char* result, std::size_t index) {
    return module.value(producer_of(module, result).inputs[index]);
  };
  CHECK((operand("a", 1).type.dtype == DType::f32 && operand("a", 1).constant == 2.0));
  CHECK((operand("b", 1).type.dtype == DType::i64 && operand("b", 1).integer == -3));
  CHECK((operand("c", 0).type.dtype == DType::boolean && operand("c", 0).integer == 1));
  CHECK((operand("c", 1).kind == ValueKind::Constant && operand("c", 1).constant == 1.5 &&
         operand("c", 1).type.rank() == 0));
}

TEST_CASE("the least integer is a literal") {
  const Module module = parse(model("a = ids + -9223372036854775808\nreturn x"));
  CHECK(module.value(module.nodes[0].inputs[1]).integer ==
        std::numeric_limits<std::int64_t>::min());
}

TEST_CASE("the models have the sizes that they claim") {
  struct Size {
    const char* model;
    std::int64_t parameters;
  };
  // Parameters of Hugging Face's checkpoints, without pooler and language model head.
  for (const Size& size :
       {Size{"bert_base", 108'891'648}, Size{"bert_large", 334'092'288},
        Size{"distilbert", 66'362'880}, Size{"albert", 11'092'992}, Size{"gpt2", 124'439'808}}) {
    INFO(std::string(size.model));
    const Module module = parse(read_source(std::string("examples/models/") + size.model + ".dyn"));
    std::int64_t parameters = 0;
    for (const Value& value : module.values) {
      if (value.kind != ValueKind::Weight) continue;
      std::int64_t count = 1;
      for (const Dim dim : value.type.dims) count *= *dim.constant();
      parameters += count;
    }
    CHECK(parameters == size.parameters);
    CHECK(module.constraints.empty());
  }
}
