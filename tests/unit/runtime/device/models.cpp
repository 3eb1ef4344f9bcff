#include "tests/unit/runtime/device/models.hpp"

#include <atomic>
#include <cstdlib>
#include <thread>

#include "tests/support/seed.hpp"
#include "tests/unit/runtime/load/fake_target.hpp"
#include "tests/unit/runtime/load/support.hpp"

namespace dyn::testing {

using runtime::CallState;
using runtime::LoadRequest;
using runtime::Model;
using runtime::NamedShapes;
using runtime::TargetFactory;

const char* const attention_like = R"(dyn 1
dim B in 0..4
dim S in 0..16
weight table: f32[7, 6] = random 1
weight wq: f32[6, 6] = random 2
weight wk: f32[6, 6] = random 3
weight gain: f32[6] = random 4
weight shift: f32[6] = random 5
graph g(ids: i64[B, S], x: f32[B, S, 6]) -> (y: f32[B, S, S], h: f32[B, S, 6]) {
  e = gather(table, ids) axis=0
  h = layer_norm(e + x, gain, shift)
  q = matmul(h, wq)
  k = matmul(h, wk)
  t = transpose(k) perm=[0, 2, 1]
  y = softmax(matmul(q, t)) axis=2
  return y, h
}
)";

const char* const joined = R"(dyn 1
dim S in 0..16
weight w: f32[5, 3] = random 6
graph g(a: f32[S, 5], b: f32[S, 3]) -> (c: f32[S, 9], d: f32[S]) {
  m = matmul(a, w)
  n = exp(m)
  c = concat(m, n, b + 1.0) axis=1
  s = softmax(c) axis=1
  d = reduce_sum(s * c) axes=[1] keepdims=false
  return c, d
}
)";

const char* const chain = R"(dyn 1
dim S in 0..64
weight u: f32[3, 3] = random 1
weight v: f32[3, 3] = random 2
weight w: f32[3, 3] = random 3
graph g(x: f32[S, 3]) -> (y: f32[S, 3]) {
  a = matmul(x, u)
  b = matmul(a, v)
  y = matmul(b, w)
  return y
}
)";

const char* const gathered = R"(dyn 1
dim S in 1..64
weight table: f32[7, 3] = random 5
graph g(ids: i64[S]) -> (y: f32[S, 3]) {
  y = gather(table, ids) axis=0
  return y
}
)";

ModelPtr load_model(const std::string& text, const TargetFactory& factory, const Options& options) {
  LoadRequest request;
  request.text = text;
  return Model::load(request, options, factory);
}

ModelPtr load_reference(const std::string& text) {
  Options options;
  options.device = "reference";
  return load_model(text, make_fake_target, options);
}

unsigned device_seed() { return static_cast<unsigned>(testing::test_seed(11)); }

std::vector<Tensor> random_inputs(const Model& model,
                                  const std::map<std::string, std::int64_t>& dims,
                                  std::mt19937& random) {
  std::vector<Tensor> inputs;
  const NamedShapes shapes = model.input_shapes(model.bind_dims(dims));
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    Tensor tensor(model.inputs()[i].dtype, shapes[i].second);
    for (std::int64_t j = 0; j < tensor.size(); ++j) {
      if (tensor.dtype() == DType::i64)
        tensor.mutable_data<std::int64_t>()[static_cast<std::size_t>(j)] =
            static_cast<std::int64_t>(random() % 7);
      else
        tensor.mutable_data<float>()[static_cast<std::size_t>(j)] =
            static_cast<float>(random() % 2000) / 1000 - 1;
    }
    inputs.push_back(tensor);
  }
  return inputs;
}

void set_inputs(CallState& call, const std::vector<Tensor>& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) call.set_input(i, inputs[i]);
}

void set_chain(CallState& call, const Model& model, std::int64_t length) {
  std::mt19937 random(1);
  set_inputs(call, random_inputs(model, {{"S", length}}, random));
}

double difference(const Model& model, const CallState& a, const CallState& b) {
  double most = 0;
  for (std::size_t i = 0; i < model.outputs().size(); ++i) {
    REQUIRE(a.output(i).shape() == b.output(i).shape());
    const auto left = a.output(i).data<float>(), right = b.output(i).data<float>();
    for (std::size_t j = 0; j < left.size(); ++j) {
      const double apart = std::abs(static_cast<double>(left[j]) - static_cast<double>(right[j]));
      most = apart <= most ? most : apart;  // NaN counts
    }
  }
  return most;
}

int wrong_on_four_threads(const ModelPtr& model, const std::string& text, int rounds,
                          double tolerance) {
  const ModelPtr plain = load_reference(text);
  const bool batched = model->module().dims->find_symbol("B").has_value();
  std::atomic<int> wrong{0};
  std::vector<std::jthread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      CallState call(model), expected(plain);
      for (int i = 0; i < rounds; ++i) {
        std::map<std::string, std::int64_t> dims = {
            {"S", 1 + static_cast<std::int64_t>(random() % 4)}};
        if (batched) dims["B"] = 1 + static_cast<std::int64_t>(random() % 2);
        const std::vector<Tensor> inputs = random_inputs(*model, dims, random);
        set_inputs(call, inputs);
        set_inputs(expected, inputs);
        call.run();
        expected.run();
        if (!(difference(*model, call, expected) < tolerance)) ++wrong;
      }
    });
  }
  threads.clear();
  return wrong;
}

FakeGpu with_mask(std::shared_ptr<FakeDevice> device, std::uint64_t mask) {
  return {std::move(device), [mask](std::size_t group) { return (mask >> group & 1) != 0; },
          DType::f32};
}

ChainCall::ChainCall(std::uint64_t mask)
    : model(load_model(chain, fake_gpu(with_mask(device, mask)))),
      call(model),
      expected(load_reference(chain)) {
  bind(5);
}

void ChainCall::bind(std::int64_t length) {
  const std::vector<Tensor> inputs = random_inputs(*model, {{"S", length}}, random);
  set_inputs(call, inputs);
  set_inputs(expected, inputs);
}

void ChainCall::check_run() {
  call.run();
  expected.run();
  CHECK(difference(*model, call, expected) < 1e-4);
}

}  // namespace dyn::testing
