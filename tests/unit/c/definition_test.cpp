// Operators of the program that C defines by dyn's.

#include <functional>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "dyn/dyn.hpp"
#include "dyn/functions.hpp"
#include "dyn/plugin.h"
#include "src/c/handles.hpp"
#include "tests/support/random_floats.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/c/model.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn::testing;

namespace {

using NodeCall = dyn_plugin_definition_call;
using Define = std::function<dyn_status*(const NodeCall&)>;

const char* const input_names[] = {"x", "w"};

/// my::own, of x and w with `axis`, whose definition is a function of the test's.
struct Defined {
  explicit Defined(Define work, uint32_t outputs = 1) : define(std::move(work)) {
    axis.struct_size = sizeof axis;
    axis.kind = DYN_PLUGIN_INTEGER;
    axis.name = "axis";
    axis.integer = 1;
    described.struct_size = sizeof described;
    described.output_count = outputs;
    described.domain = "my";
    described.name = "own";
    described.input_count = 2;
    described.optional_input_count = 1;
    described.input_names = input_names;
    described.attribute_count = 1;
    described.attributes = attributes;
    described.data = this;
    described.definition = [](const NodeCall* call, void* data) {
      return static_cast<Defined*>(data)->define(*call);
    };
  }
  Defined(const Defined&) = delete;
  Defined& operator=(const Defined&) = delete;

  COptions options() const {
    COptions all = c_options();
    succeeds(dyn_options_add_operators(all.get(), &table, nullptr, nullptr));
    return all;
  }

  Define define;
  dyn_plugin_attribute axis{};
  const dyn_plugin_attribute* attributes[1] = {&axis};
  dyn_plugin_operator described{};
  const dyn_plugin_operator* operators[1] = {&described};
  dyn_plugin table{sizeof(dyn_plugin), DYN_PLUGIN_VERSION, 1, operators};
};

/// The first status that is none of success; all others are released by who made them.
dyn_status* add_op(dyn_builder* b, const char* name, const std::vector<dyn_value*>& inputs,
                   const std::vector<dyn_attribute>& attributes, dyn_value** result) {
  return dyn_builder_op(b, name, inputs.size(), inputs.data(), attributes.size(), attributes.data(),
                        nullptr, result);
}

/// softmax(matmul(x, w) * 2), over the axis of the node.
dyn_status* scores(const NodeCall& call) {
  int64_t axis = 0;
  if (call.host->integer(call.node, "axis", &axis) == 0)
    return dyn_status_create(DYN_ERROR_INTERNAL, "no axis");
  dyn_value *product = nullptr, *two = nullptr, *doubled = nullptr;
  if (dyn_status* status =
          add_op(call.builder, "matmul", {call.inputs[0], call.inputs[1]}, {}, &product))
    return status;
  if (dyn_status* status = dyn_builder_integer(call.builder, DYN_NO_DTYPE, 2, &two)) return status;
  if (dyn_status* status = add_op(call.builder, "mul", {product, two}, {}, &doubled)) return status;
  return add_op(call.builder, "softmax", {doubled}, {with::integer("axis", axis)},
                &call.outputs[0]);
}

const std::string calling_own = R"(dyn 1
dim N in 1..64
weight w: f32[5, 7] = random 3
graph g(x: f32[N, 5]) -> (y: f32[N, 7]) {
  y = my::own(x, w) axis=0
  return y
}
)";

dyn_status* load(const Defined& defined, const std::string& text = calling_own) {
  CGraph graph;
  const COptions options = defined.options();
  dyn_status* status =
      dyn_graph_from_text(text.data(), text.size(), options.get(), nullptr, Into(graph));
  CHECK((graph == nullptr) == (status != nullptr));
  return status;
}

}  // namespace

TEST_CASE("C: a definition is what the same one of C++ is, in a text and in a builder") {
  const std::uint64_t seed = test_seed();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  const Defined defined(scores);
  const dyn::Operators same{
      {.domain = "my",
       .name = "own",
       .inputs = {"x", "w"},
       .attributes = {{"axis", 1}},
       .definition = [](dyn::Builder&, const dyn::Values& in,
                        const dyn::NodeAttributes& node) -> dyn::Values {
         return {softmax(matmul(in[0], in[1]) * 2, {{"axis", node.integer("axis")}})};
       }}};
  dyn::Options cpp_options = uncached();
  cpp_options.operators = same;
  const dyn::Graph expected = dyn::Graph::from_text(calling_own, cpp_options);
  const COptions options = defined.options();
  const CGraph graph = c_graph(calling_own, options.get());

  dyn::Builder cpp("g", same);
  const dyn::Dim n = cpp.dim("N", 1, 64);
  const dyn::Value x = cpp.input("x", dyn::DType::f32, {n, 5});
  const dyn::Value w = cpp.random("w", dyn::DType::f32, {5, 7}, 3);
  cpp.output("y", cpp.op("my::own", {x, w}, {{"axis", 0}}, "y"));
  CModel b("g", options.get());
  b.dim("N", 1, 64);
  dyn_value* const in = b.input("x", "[N, 5]");
  dyn_value* weight = nullptr;
  const int64_t shape[] = {5, 7};
  succeeds(dyn_builder_random(b.get(), "w", DYN_F32, 2, shape, 3, &weight));
  b.output("y", b.op("my::own", {in, weight}, {with::integer("axis", 0)}, "y"));
  CHECK(b.to_text() == cpp.to_text());
  CHECK(b.to_text().find("my::own") == std::string::npos);
  const CGraph built = b.load(options.get());

  for (const std::int64_t rows : {1, 13}) {
    const dyn::Tensor data = dyn::Tensor::from<float>(random_floats(random, rows * 5), {rows, 5});
    const CTensor view = shared(data);
    const dyn_named_tensor input{"x", view.get()};
    const dyn::Outputs outputs = expected.run({{"x", data}});
    for (const dyn_graph* each : {graph.get(), built.get()}) {
      CTensor y;
      succeeds(dyn_graph_run(each, 1, &input, 1, Into(y)));
      check_equal(y.get(), outputs["y"]);
    }
  }
}

TEST_CASE("C: a definition sees what is known of its inputs, and what is left out") {
  const Defined defined([](const NodeCall& call) -> dyn_status* {
    CHECK(call.input_count == 1);
    CPort port;
    const char* shape = nullptr;
    succeeds(dyn_builder_port(call.builder, call.inputs[0], Into(port)));
    succeeds(dyn_port_shape(port.get(), &shape));
    CHECK(shape == std::string("[N * 2, 6]"));
    dyn_dim rows{};
    rows.struct_size = sizeof rows;
    succeeds(dyn_port_dim(port.get(), 0, &rows));
    const std::string halves = std::string("[floordiv(") + rows.text + ", 2), 12]";
    return add_op(call.builder, "reshape", {call.inputs[0]}, {with::sizes("shape", halves.c_str())},
                  &call.outputs[0]);
  });
  succeeds(load(defined,
                "dyn 1\ndim N in 1..64\ngraph g(x: f32[N * 2, 6]) -> (y: f32[N, 12]) {\n"
                "  return my::own(x)\n}\n"));
}

namespace {

struct WrongDefinition {
  const char* says;
  Define define;
  dyn_kind kind = DYN_ERROR_USER;
};

dyn_builder* kept_builder = nullptr;
dyn_value* kept_value = nullptr;

const std::vector<WrongDefinition>& wrong_definitions() {
  static const std::vector<WrongDefinition> all{
      {"too many rows",
       [](const NodeCall&) { return dyn_status_create(DYN_ERROR_UNSUPPORTED, "too many rows"); },
       DYN_ERROR_UNSUPPORTED},
      {"relu",
       [](const NodeCall& call) {
         return add_op(call.builder, "relu", {call.inputs[0], call.inputs[1]}, {},
                       &call.outputs[0]);
       },
       DYN_ERROR_MODEL},
      {"unknown operator `relo`",  // a status that nobody looks at
       [](const NodeCall& call) -> dyn_status* {
         dyn_value* other = nullptr;
         dyn_status_release(add_op(call.builder, "relo", {call.inputs[0]}, {}, &other));
         dyn_status_release(add_op(call.builder, "relu", {call.inputs[0]}, {}, &call.outputs[0]));
         call.outputs[0] = call.inputs[0];
         return nullptr;
       },
       DYN_ERROR_MODEL},
      {"not on Mondays",
       [](const NodeCall& call) -> dyn_status* {
         call.host->fail(call.node, "not on Mondays");
         call.outputs[0] = call.inputs[0];
         return nullptr;
       }},
      {"the value is NULL", [](const NodeCall&) -> dyn_status* { return nullptr; }},
      {"outputs[0]",
       [](const NodeCall& call) -> dyn_status* {
         call.outputs[0] = reinterpret_cast<dyn_value*>(0x1001);
         return nullptr;
       }},
      {"a value of another builder",
       [](const NodeCall& call) -> dyn_status* {
         static CModel other;
         other = CModel();
         call.outputs[0] = other.input("z", "[5]");
         return nullptr;
       }},
      {"gave what is no status",
       [](const NodeCall&) { return reinterpret_cast<dyn_status*>(0x1001); }},
      {"gave what is no status",
       [](const NodeCall&) {
         dyn_status* const status = dyn_status_create(DYN_ERROR_USER, "gone");
         dyn_status_release(status);
         return status;
       }},
      {"was released already",
       [](const NodeCall& call) -> dyn_status* {
         call.outputs[0] = call.inputs[0];
         dyn_builder_release(call.builder);
         return nullptr;
       }},
      {"adds an input to the model",
       [](const NodeCall& call) {
         return dyn_builder_input(call.builder, "z", DYN_F32, "[5]", &call.outputs[0]);
       }},
      {"`_` stands for a whole dim",
       [](const NodeCall& call) {
         return add_op(call.builder, "reshape", {call.inputs[0]}, {with::sizes("shape", "[_]")},
                       &call.outputs[0]);
       },
       DYN_ERROR_MODEL},
      {"its own text, or a load,",
       [](const NodeCall& call) {
         CGraph graph;
         return dyn_builder_load(call.builder, nullptr, nullptr, Into(graph));
       }},
      {"defined by each other",
       [](const NodeCall& call) {
         return add_op(call.builder, "my::own", {call.inputs[0], call.inputs[1]}, {},
                       &call.outputs[0]);
       },
       DYN_ERROR_MODEL},
      {"it threw: oops", [](const NodeCall&) -> dyn_status* { throw std::runtime_error("oops"); }},
      {"it threw what is no std::exception", [](const NodeCall&) -> dyn_status* { throw 1; }},
  };
  return all;
}

}  // namespace

TEST_CASE("C: what a definition fails with names the node, and nothing is lost") {
  const std::size_t before = dyn::c::live_handles();
  for (const WrongDefinition& wrong : wrong_definitions()) {
    INFO(std::string(wrong.says));
    const Defined defined(wrong.define);
    const std::string in_text = fails(wrong.kind, load(defined));
    for (const char* part : {wrong.says, "the definition of my::own",
                             "the program's table of operators", "my::own (line 5)"})
      CHECK_MESSAGE(in_text.find(part) != std::string::npos, in_text);
    const COptions options = defined.options();
    CModel b("g", options.get());
    dyn_value *const x = b.input("x", "[3, 5]"), *const w = b.input("w", "[5, 7]");
    dyn_value* const inputs[] = {x, w};
    dyn_value* y = nullptr;
    const std::string in_builder =
        fails(wrong.kind, dyn_builder_op(b.get(), "my::own", 2, inputs, 0, nullptr, "y", &y));
    for (const char* part : {wrong.says, "the definition of my::own", "my::own 'y'"})
      CHECK_MESSAGE(in_builder.find(part) != std::string::npos, in_builder);
    CHECK(y == nullptr);
  }
  CHECK(dyn::c::live_handles() <= before + 2);  // the other builder, and its value
}

TEST_CASE("C: handles of a definition end with it") {
  const std::size_t before = dyn::c::live_handles();
  const Defined defined([](const NodeCall& call) -> dyn_status* {
    kept_builder = call.builder;
    kept_value = call.inputs[0];
    call.outputs[0] = call.inputs[0];
    return nullptr;
  });
  succeeds(
      load(defined, "dyn 1\ngraph g(x: f32[5]) -> (y: f32[5]) {\n  return relu(my::own(x))\n}\n"));
  dyn_value* result = nullptr;
  CPort port;
  fails(DYN_ERROR_USER, add_op(kept_builder, "relu", {kept_value}, {}, &result), "the builder 0x");
  Defined other([](const NodeCall& call) {
    return add_op(call.builder, "relu", {kept_value}, {}, &call.outputs[0]);
  });
  fails(DYN_ERROR_USER, load(other), "was released already");
  CHECK(dyn::c::live_handles() == before);
}

TEST_CASE("C: operators of a program that is older than definitions") {
  Defined defined(
      [](const NodeCall&) { return dyn_status_create(DYN_ERROR_USER, "not to be called"); });
  defined.described.struct_size = offsetof(dyn_plugin_operator, definition);
  COptions options = c_options();
  fails(DYN_ERROR_USER, dyn_options_add_operators(options.get(), &defined.table, nullptr, nullptr),
        "neither a kernel nor a definition nor an expression");
  defined.described.expression = "x * w";
  defined.described.optional_input_count = 0;
  succeeds(dyn_options_add_operators(options.get(), &defined.table, nullptr, nullptr));
  defined.described.struct_size -= 1;
  options = c_options();
  fails(DYN_ERROR_USER, dyn_options_add_operators(options.get(), &defined.table, nullptr, nullptr),
        "shorter than its structure");
}

TEST_CASE("C: a plug-in that is not linked to dyn defines operators by each other") {
  const COptions options = c_options();
  succeeds(dyn_options_add_plugin(options.get(), DYN_BINARY_DIR "/tests/plugins/define.so"));
  const CGraph graph = c_graph(
      "dyn 1\ndim N in 1..64\ngraph g(x: f32[N]) -> (a: f32[N], b: f32[N]) {\n"
      "  a, b = own::two(x)\n  return a, b\n}\n",
      options.get());
  const CGraph expected = c_graph(
      "dyn 1\ndim N in 1..64\ngraph g(x: f32[N]) -> (a: f32[N], b: f32[N]) {\n"
      "  m = -x\n  return x * sigmoid(x * 1), m * sigmoid(m * 2)\n}\n",
      options.get());
  const dyn::Tensor x = dyn::Tensor::from<float>({0.5F, -1.25F, 3}, {3});
  const CTensor view = shared(x);
  const dyn_named_tensor input{"x", view.get()};
  dyn_tensor *ours[2] = {}, *theirs[2] = {};
  succeeds(dyn_graph_run(graph.get(), 1, &input, 2, ours));
  succeeds(dyn_graph_run(expected.get(), 1, &input, 2, theirs));
  for (int i = 0; i < 2; ++i) {
    const CTensor a(ours[i]), b(theirs[i]);
    const void* bits = nullptr;
    succeeds(dyn_tensor_data(b.get(), DYN_F32, &bits));
    const auto* floats = static_cast<const float*>(bits);
    check_equal(a.get(), dyn::Tensor::from<float>(std::vector<float>(floats, floats + 3), {3}));
  }
}
