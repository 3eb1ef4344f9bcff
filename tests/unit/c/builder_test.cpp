// Models that a program makes in C are those of C++.

#include <cstring>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "dyn/dyn.hpp"
#include "dyn/functions.hpp"
#include "graph/ir/op.hpp"
#include "graph/text/text.hpp"
#include "src/c/handles.hpp"
#include "tests/support/random_floats.hpp"
#include "tests/support/random_graph.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/c/model.hpp"
#include "tests/unit/runtime/build/replay.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn;
using namespace dyn::testing;

namespace {

/// A model that uses most of the builder, in C++ and in C.
struct Net {
  explicit Net(std::mt19937_64& random)
      : w(Tensor::from<float>(random_floats(random, 24 * 18), {24, 18})),
        bias(Tensor::from<float>(random_floats(random, 18), {18})) {}

  Builder in_cpp() const {
    Builder b("net");
    const Dim n = b.dim("N", {2, 4096, 2, 64}), m = b.dim("M", 1, 100);
    const Value x = b.input("x", DType::f32, {n, 24}), more = b.input("more", DType::f32, {m, 9});
    const Value product = b.op("matmul", {x, b.weight("w", w)}, {}, "product");
    const Value hidden = relu(product + b.weight("bias", bias)) * 0.5;
    const Values parts = b.ops("split", {hidden}, {{"axis", -1}, {"sizes", {9, 9}}}, 2);
    parts[1].named("right");
    const Value folded = reshape(parts[1], {{"shape", {floordiv(n, 2), 18}}});
    b.output("y", softmax(folded, {{"axis", 1}}));
    b.output("z", reduce_sum(concat({parts[0], more}, {{"axis", 0}}),
                             {{"axes", {1}}, {"keepdims", false}}));
    b.output("t", b.ops("topk", {parts[0]}, {{"k", n - 1}, {"axis", 0}, {"largest", false}})[1]);
    const Value scale = b.splat("scale", DType::f32, {9}, 1.25),
                noise = b.random("noise", DType::f32, {9}, 7);
    b.output("h", cast(more * scale + noise, {{"dtype", DType::f16}}));
    b.output("g", where(less(more, Value::number(DType::f32, 0.25)), more, 0));
    return b;
  }

  CModel in_c() const {
    CModel b;
    dyn_dim n{};
    n.struct_size = sizeof n;
    n.text = "N";
    n.low = 2;
    n.high = 4096;
    n.divisor = 2;
    n.hint = 64;
    n.has_hint = true;
    succeeds(dyn_builder_dim_with(b.get(), &n));
    b.dim("M", 1, 100);
    dyn_value *const x = b.input("x", "[N, 24]"), *const more = b.input("more", "[M, 9]");
    dyn_value* const product = b.op("matmul", {x, b.weight("w", w)}, {}, "product");
    dyn_value* hidden = b.op("add", {product, b.weight("bias", bias)});
    succeeds(dyn_builder_op(b.get(), "relu", 1, &hidden, 0, nullptr, nullptr, &hidden));
    hidden = b.op("mul", {hidden, b.number(0.5)});
    const std::vector<int64_t> halves{9, 9}, one{1};
    const auto parts =
        b.ops("split", {hidden}, {with::integer("axis", -1), with::integers("sizes", halves)}, 2);
    succeeds(dyn_builder_rename(b.get(), parts[1], "right"));
    dyn_value* const folded =
        b.op("reshape", {parts[1]}, {with::sizes("shape", "[floordiv(N, 2), 18]")});
    b.output("y", b.op("softmax", {folded}, {with::integer("axis", 1)}));
    dyn_value* const both = b.op("concat", {parts[0], more}, {with::integer("axis", 0)});
    b.output("z", b.op("reduce_sum", {both},
                       {with::integers("axes", one), with::boolean("keepdims", false)}));
    b.output("t", b.ops("topk", {parts[0]},
                        {with::text("k", DYN_ATTRIBUTE_SIZE, "N - 1"), with::integer("axis", 0),
                         with::boolean("largest", false)},
                        2)[1]);
    const int64_t nine = 9;
    dyn_value *scale = nullptr, *noise = nullptr, *zero = nullptr;
    succeeds(dyn_builder_splat(b.get(), "scale", DYN_F32, 1, &nine, 1.25, &scale));
    succeeds(dyn_builder_random(b.get(), "noise", DYN_F32, 1, &nine, 7, &noise));
    succeeds(dyn_builder_integer(b.get(), DYN_NO_DTYPE, 0, &zero));
    dyn_attribute dtype{};
    dtype.name = "dtype";
    dtype.kind = DYN_ATTRIBUTE_DTYPE;
    dtype.dtype = DYN_F16;
    dyn_value* const scaled = b.op("add", {b.op("mul", {more, scale}), noise});
    b.output("h", b.op("cast", {scaled}, {dtype}));
    dyn_value* const is_less = b.op("less", {more, b.number(0.25, DYN_F32)});
    b.output("g", b.op("where", {is_less, more, zero}));
    return b;
  }

  Tensor w, bias;
};

std::vector<CTensor> run_in_c(const dyn_graph* graph, const NamedTensors& inputs,
                              std::size_t count) {
  std::vector<CTensor> views;
  std::vector<dyn_named_tensor> named;
  for (const auto& [name, tensor] : inputs) {
    views.push_back(shared(tensor));
    named.push_back({name.c_str(), views.back().get()});
  }
  std::vector<dyn_tensor*> places(count);
  succeeds(dyn_graph_run(graph, named.size(), named.data(), count, places.data()));
  std::vector<CTensor> outputs;
  for (dyn_tensor* place : places) outputs.emplace_back(place);
  return outputs;
}

}  // namespace

TEST_CASE("C: a model of the builder is that of C++: text, weights, and the bits of its results") {
  const std::uint64_t seed = test_seed();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  const Net net(random);
  Builder cpp = net.in_cpp();
  CModel c = net.in_c();
  const std::string text = cpp.to_text();
  CHECK(c.to_text() == text);
  CHECK(text.find("dim N in 2..4096 multiple 2 hint 64") != std::string::npos);
  CHECK(c.weights() == cpp.weights());
  const Graph graph = cpp.load(uncached());
  const COptions options = c_options();
  const CGraph loaded = c.load(options.get()), again = c.load(options.get());
  c.release();
  for (const std::int64_t n : {2, 38}) {
    const NamedTensors inputs{
        {"x", Tensor::from<float>(random_floats(random, n * 24), {n, 24})},
        {"more", Tensor::from<float>(random_floats(random, (n + 1) * 9), {n + 1, 9})}};
    const Outputs expected = graph.run(inputs);
    for (const dyn_graph* each : {loaded.get(), again.get()}) {
      const std::vector<CTensor> outputs = run_in_c(each, inputs, expected.size());
      for (std::size_t i = 0; i < outputs.size(); ++i) check_equal(outputs[i].get(), expected[i]);
    }
  }
}

namespace {

/// A parsed model, built again in C.
class CReplay {
 public:
  explicit CReplay(const graph::Module& module) : module_(module), model_(module.name.c_str()) {}

  CModel run() {
    for (const int symbol : module_.declared_symbols) {
      const graph::SymbolInfo& info = module_.dims->info(symbol);
      model_.dim(info.name.c_str(), info.low, info.high);
    }
    for (std::size_t i = 0; i < module_.values.size(); ++i)
      if (module_.values[i].kind != graph::ValueKind::Result)
        values_.emplace(i, declared(module_.values[i]));
    for (const graph::Node& node : module_.nodes) add(node);
    for (std::size_t i = 0; i < module_.outputs.size(); ++i)
      model_.output(module_.output_names[i].c_str(), at(module_.outputs[i]));
    return std::move(model_);
  }

 private:
  dyn_value* declared(const graph::Value& value) {
    const auto dtype = static_cast<dyn_dtype>(value.type.dtype);
    const std::string shape = to_string(value.type.dims);
    Shape sizes;
    for (const graph::Dim size : value.type.dims) sizes.push_back(size.constant().value_or(0));
    dyn_value* made = nullptr;
    dyn_builder* const b = model_.get();
    const char* const name = value.name.c_str();
    if (value.kind == graph::ValueKind::Input) return model_.input(name, shape.c_str(), dtype);
    if (value.kind == graph::ValueKind::Constant)
      succeeds(is_float(value.type.dtype) ? dyn_builder_number(b, dtype, value.constant, &made)
                                          : dyn_builder_integer(b, dtype, value.integer, &made));
    else if (value.weight.kind == graph::WeightSource::Kind::Splat)
      succeeds(
          dyn_builder_splat(b, name, dtype, sizes.size(), sizes.data(), value.weight.splat, &made));
    else if (value.weight.kind == graph::WeightSource::Kind::Random)
      succeeds(
          dyn_builder_random(b, name, dtype, sizes.size(), sizes.data(), value.weight.seed, &made));
    else
      succeeds(dyn_builder_weight_of_file(b, name, dtype, sizes.size(), sizes.data(), &made));
    return made;
  }

  /// `texts` and `lists` keep what it points to.
  static dyn_attribute attribute(const graph::Attr& attr, std::vector<std::string>& texts) {
    const char* const name = attr.name.c_str();
    if (const bool* truth = std::get_if<bool>(&attr.value)) return with::boolean(name, *truth);
    if (const double* value = std::get_if<double>(&attr.value)) return with::number(name, *value);
    if (const auto* word = std::get_if<std::string>(&attr.value))
      return with::text(name, DYN_ATTRIBUTE_WORD, word->c_str());
    if (const auto* size = std::get_if<graph::Dim>(&attr.value)) {
      if (size->constant()) return with::integer(name, *size->constant());
      return with::text(name, DYN_ATTRIBUTE_SIZE, texts.emplace_back(to_string(*size)).c_str());
    }
    texts.push_back(to_string(std::get<std::vector<graph::Dim>>(attr.value)));
    return with::sizes(name, texts.back().c_str());
  }

  void add(const graph::Node& node) {
    std::vector<dyn_value*> inputs;
    for (const graph::ValueId id : node.inputs) inputs.push_back(at(id));
    std::vector<std::string> texts;
    texts.reserve(node.attrs.size());
    std::vector<dyn_attribute> attributes;
    for (const graph::Attr& attr : node.attrs) attributes.push_back(attribute(attr, texts));
    const auto results = model_.ops(node.op->name.data(), inputs, attributes, node.outputs.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      const std::string& name = module_.value(node.outputs[i]).name;
      succeeds(dyn_builder_rename(model_.get(), results[i], name.c_str()));
      values_.emplace(node.outputs[i], results[i]);
    }
  }

  dyn_value* at(graph::ValueId id) const { return values_.at(static_cast<std::size_t>(id)); }

  const graph::Module& module_;
  CModel model_;
  std::map<std::size_t, dyn_value*> values_;
};

}  // namespace

TEST_CASE("C: random graphs, built node by node, print as they are read") {
  const std::uint64_t seed = test_seed();
  std::mt19937_64 random(seed);
  for (int i = 0; i < 25; ++i) {
    const std::string text = random_graph(random, 12);
    INFO("seed " << seed << ", graph " << i << "\n" << text);
    const graph::Module module = graph::parse(text);
    CHECK(CReplay(module).run().to_text() == text_without_claims(module));
  }
}

TEST_CASE("C: what is known of a value, and of its dims once a later node tells more") {
  CModel b;
  b.dim("N", 2, 9);
  b.dim("M", 2, 7);
  dyn_value* const x = b.input("x", "[N, _]");
  dyn_value* const y = b.op("relu", {x});
  const auto shape_of = [&](const dyn_value* value) {
    CPort port;
    const char* shape = nullptr;
    succeeds(dyn_builder_port(b.get(), value, Into(port)));
    succeeds(dyn_port_shape(port.get(), &shape));
    return std::string(shape);
  };
  CHECK(shape_of(y) == "[N, _0]");
  // What is given out as a shape is taken as one.
  dyn_value* const z = b.input("z", shape_of(y).c_str());
  b.op("concat", {z, b.input("four", "[3, 4]")}, {with::integer("axis", 0)});
  CHECK(shape_of(y) == "[N, 4]");
  b.op("add", {y, b.input("m", "[M, 4]")});
  CPort port;
  succeeds(dyn_builder_port(b.get(), y, Into(port)));
  b.release();
  const char* name = nullptr;
  dyn_dtype dtype = -1;
  dyn_dim dim{};
  dim.struct_size = sizeof dim;
  succeeds(dyn_port_name(port.get(), &name));
  succeeds(dyn_port_dtype(port.get(), &dtype));
  succeeds(dyn_port_dim(port.get(), 0, &dim));
  CHECK(name == std::string("relu"));
  CHECK(dtype == DYN_F32);
  CHECK(dim.low == 2);
  CHECK(dim.high == 7);
  CHECK(dim.kind == DYN_DIM_NAMED);
}

TEST_CASE("C: a built model with a state, which a session runs") {
  CModel b("counts");
  b.dim("S", 1, 8);
  b.dim("P", 0, 8);
  b.dim("C", 1, 8);
  dyn_value* state = nullptr;
  succeeds(dyn_builder_state(b.get(), "seen", DYN_F32, "[C, 2]", &state));
  dyn_value* const all =
      b.op("append", {state, b.input("x", "[S, 2]")},
           {with::text("at", DYN_ATTRIBUTE_SIZE, "P"), with::integer("axis", 0)});
  dyn_value* const seen = b.op(
      "slice", {all},
      {with::sizes("axes", "[0]"), with::sizes("starts", "[0]"), with::sizes("ends", "[P + S]")});
  b.output("y", b.op("reduce_sum", {seen}, {with::sizes("axes", "[0]")}));
  const COptions options = c_options();
  const CGraph graph = b.load(options.get());
  const dyn_named_size capacity{"C", 8};
  CSession session;
  succeeds(dyn_session_create(graph.get(), 1, &capacity, Into(session)));
  const Tensor one = Tensor::from<float>({1, 3}, {1, 2});
  const CTensor view = shared(one);
  const dyn_named_tensor input{"x", view.get()};
  for (const float runs : {1.0F, 2.0F}) {
    CTensor sum;
    succeeds(dyn_session_run(session.get(), 1, &input, 1, Into(sum)));
    check_equal(sum.get(), Tensor::from<float>({runs, 3 * runs}, {1, 2}));
  }
}

TEST_CASE("C: weights of a file") {
  const std::uint64_t seed = test_seed();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  const Net net(random);
  const auto layer = [&](CModel& b, dyn_value* w) {
    b.dim("N", 1, 9);
    b.output("y", b.op("matmul", {b.input("x", "[N, 24]"), w}));
  };
  CModel given("layer"), read("layer");
  layer(given, given.weight("w", net.w));
  const std::string file = given.weights();
  const int64_t shape[] = {24, 18};
  dyn_value* w = nullptr;
  succeeds(dyn_builder_weight_file(read.get(), "weights.safetensors"));
  succeeds(dyn_builder_weight_of_file(read.get(), "w", DYN_F32, 2, shape, &w));
  layer(read, w);
  CHECK(read.to_text() == given.to_text());
  const std::string text = read.to_text();
  const dyn_named_bytes bytes{"weights.safetensors", file.data(), file.size()};
  const COptions options = c_options();
  CGraph graph;
  succeeds(dyn_graph_from_memory(text.data(), text.size(), 1, &bytes, options.get(), Into(graph)));
  const CGraph built = given.load(options.get());
  const NamedTensors inputs{{"x", Tensor::from<float>(random_floats(random, 3 * 24), {3, 24})}};
  const std::vector<CTensor> a = run_in_c(graph.get(), inputs, 1),
                             b = run_in_c(built.get(), inputs, 1);
  const void* data = nullptr;
  succeeds(dyn_tensor_data(a[0].get(), DYN_F32, &data));
  std::vector<float> expected(3 * 18);
  std::memcpy(expected.data(), data, sizeof(float) * expected.size());
  check_equal(b[0].get(), Tensor::from<float>(expected, {3, 18}));
  fails(DYN_ERROR_DEVICE, dyn_builder_load(read.get(), options.get(), "/nowhere", Into(graph)),
        "/nowhere/weights.safetensors");
  CHECK(graph == nullptr);
}
