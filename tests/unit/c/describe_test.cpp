// C says about a model what C++ does.

#include <string>
#include <vector>

#include "dyn/dyn.hpp"
#include "src/import/onnx/messages/messages.hpp"
#include "tests/unit/c/handles.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn;
using namespace dyn::testing;

namespace {

const char* const halves = R"(dyn 1
dim N in 2..4096 multiple 2
weight w: f32[24, 16] = random 5
graph layer(x: f32[N, 24]) -> (y: f32[N, 16], h: f32[floordiv(N, 2), 2, 16]) {
  y = relu(matmul(x, w))
  h = reshape(y) shape=[floordiv(N, 2), 2, 16]
  return y, h
}
)";

void check_dim(const dyn_dim& dim, const DimInfo& expected) {
  CAPTURE(expected.text);
  CHECK(dim.text == expected.text);
  CHECK(dim.low == expected.low);
  CHECK(dim.high == expected.high);
  CHECK(dim.divisor == expected.divisor);
  CHECK(dim.kind == static_cast<dyn_dim_kind>(expected.kind));
  CHECK(dim.has_hint == expected.hint.has_value());
  CHECK(dim.hint == expected.hint.value_or(0));
  CHECK(dim.computed == expected.computed);
}

dyn_dim new_dim() {
  dyn_dim dim{};
  dim.struct_size = sizeof dim;
  return dim;
}

void check_port(const CPort& port, const std::vector<DimInfo>& expected) {
  size_t count = 0;
  succeeds(dyn_port_dim_count(port.get(), &count));
  REQUIRE(count == expected.size());
  dyn_dim dim = new_dim();
  for (size_t i = 0; i < count; ++i) {
    succeeds(dyn_port_dim(port.get(), i, &dim));
    check_dim(dim, expected[i]);
  }
  fails(DYN_ERROR_USER, dyn_port_dim(port.get(), count, &dim), "dim number");
  CHECK(dim.text == nullptr);
  CHECK(dim.struct_size == sizeof dim);
}

void check_kernels(const CKernels& kernels, const std::vector<KernelChoice>& expected) {
  size_t count = 0;
  succeeds(dyn_kernels_count(kernels.get(), &count));
  REQUIRE(count == expected.size());
  REQUIRE(count > 0);
  dyn_kernel kernel{};
  kernel.struct_size = sizeof kernel;
  for (size_t i = 0; i < count; ++i) {
    const KernelChoice& choice = expected[i];
    succeeds(dyn_kernels_get(kernels.get(), i, &kernel));
    CHECK(kernel.name == choice.kernel.name);
    CHECK(kernel.backbone == choice.kernel.backbone);
    CHECK(kernel.device == choice.kernel.device);
    CHECK(std::vector<std::string>(kernel.operators, kernel.operators + kernel.operator_count) ==
          choice.kernel.operators);
    CHECK(kernel.candidates == choice.candidates);
    CHECK(kernel.program == choice.program);
    CHECK(kernel.threads == choice.threads);
    CHECK(kernel.predicted_seconds == choice.predicted_seconds);
    CHECK(kernel.flops == choice.flops);
    CHECK(kernel.bytes == choice.bytes);
  }
  fails(DYN_ERROR_USER, dyn_kernels_get(kernels.get(), count, &kernel), "kernel number");
}

}  // namespace

TEST_CASE("C: dims and kernels of a graph are those of C++") {
  const Graph graph = Graph::from_text(halves, uncached(1));
  const CGraph same = c_graph(halves, c_options(1).get());
  CDims dims;
  succeeds(dyn_graph_dims(same.get(), Into(dims)));
  size_t count = 0;
  succeeds(dyn_dims_count(dims.get(), &count));
  REQUIRE(count == graph.dims().size());
  dyn_dim dim = new_dim();
  succeeds(dyn_dims_get(dims.get(), 0, &dim));
  check_dim(dim, graph.dims()[0]);
  CHECK(dim.divisor == 2);
  fails(DYN_ERROR_USER, dyn_dims_get(dims.get(), count, &dim), "dim number 1");

  CPort input, output;
  succeeds(dyn_graph_input(same.get(), 0, Into(input)));
  check_port(input, graph.inputs()[0].dims);
  succeeds(dyn_graph_output(same.get(), 1, Into(output)));
  check_port(output, graph.outputs()[1].dims);

  CKernels kernels, choices;
  std::vector<KernelChoice> unshaped;
  for (const KernelInfo& kernel : graph.kernels()) unshaped.push_back({kernel, 0, ""});
  succeeds(dyn_graph_kernels(same.get(), Into(kernels)));
  check_kernels(kernels, unshaped);
  const int64_t sizes[] = {38, 24};
  const dyn_named_shape shape{"x", 2, sizes};
  succeeds(dyn_graph_kernels_at(same.get(), 1, &shape, Into(choices)));
  check_kernels(choices, graph.kernels({{"x", {38, 24}}}));
  const int64_t odd[] = {39, 24};
  const dyn_named_shape wrong{"x", 2, odd};
  fails(DYN_ERROR_USER, dyn_graph_kernels_at(same.get(), 1, &wrong, Into(choices)), "N");
}

TEST_CASE("C: states of a graph") {
  const char* const text = R"(dyn 1
dim B in 1..4
dim C in 1..64
dim S in 1..8
dim P in 0..64
state keys: f32[B, 2, C]
graph g(x: f32[B, 2, S]) -> (y: f32[B, 2, P + S]) {
  y = slice(append(keys, x) axis=2 at=P) axes=[2] starts=[0] ends=[P + S]
  return y
}
)";
  const Graph graph = Graph::from_text(text, uncached(1));
  const CGraph same = c_graph(text, c_options(1).get());
  size_t count = 0, axis = 7;
  succeeds(dyn_graph_state_count(same.get(), &count));
  REQUIRE(count == 1);
  CPort state;
  succeeds(dyn_graph_state(same.get(), 0, &axis, Into(state)));
  const StateInfo expected = graph.states()[0];
  CHECK(axis == static_cast<size_t>(expected.axis));
  const char* name = nullptr;
  const char* shape = nullptr;
  succeeds(dyn_port_name(state.get(), &name));
  succeeds(dyn_port_shape(state.get(), &shape));
  CHECK(name == expected.name);
  CHECK(shape == expected.shape);
  check_port(state, expected.dims);
  fails(DYN_ERROR_USER, dyn_graph_state(same.get(), 1, &axis, Into(state)), "the model has 1");
}

TEST_CASE("C: metadata of an ONNX model") {
  onnx::ModelProto model;
  model.set_ir_version(9);
  model.add_opset_import()->set_version(17);
  auto& input = *model.mutable_graph()->add_input();
  input.set_name("x");
  input.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  input.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_param("N");
  auto& node = *model.mutable_graph()->add_node();
  node.set_op_type("Relu");
  node.add_input("x");
  node.add_output("y");
  model.mutable_graph()->add_output()->set_name("y");
  model.set_producer_name("a trainer");
  model.set_model_version(7);
  auto& entry = *model.add_metadata_props();
  entry.set_key("licence");
  entry.set_value("free");
  const std::string bytes = model.SerializeAsString();
  CGraph graph;
  succeeds(dyn_graph_from_memory(bytes.data(), bytes.size(), 0, nullptr, nullptr, Into(graph)));
  CMetadata metadata;
  succeeds(dyn_graph_metadata(graph.get(), Into(metadata)));
  dyn_model_info info{};
  fails(DYN_ERROR_USER, dyn_metadata_get(metadata.get(), &info), "sizeof *info");
  info.struct_size = sizeof info;
  succeeds(dyn_metadata_get(metadata.get(), &info));
  CHECK(info.format == std::string("onnx"));
  CHECK(info.producer == std::string("a trainer"));
  CHECK(info.description == std::string());
  CHECK(info.version == 7);
  REQUIRE(info.opset_count == 1);
  REQUIRE(info.property_count == 1);
  const char *domain = nullptr, *key = nullptr, *value = nullptr;
  int64_t version = 0;
  succeeds(dyn_metadata_opset(metadata.get(), 0, &domain, &version));
  CHECK(domain == std::string());
  CHECK(version == 17);
  succeeds(dyn_metadata_property(metadata.get(), 0, &key, &value));
  CHECK(key == std::string("licence"));
  CHECK(value == std::string("free"));
  fails(DYN_ERROR_USER, dyn_metadata_opset(metadata.get(), 1, &domain, &version), "opset number 1");
  fails(DYN_ERROR_USER, dyn_metadata_property(metadata.get(), 9, &key, &value), "the model has 1");
}
