// Whole models on the interpreting target: the promises of the runtime itself.

#include <cstring>
#include <random>
#include <thread>

#include "src/runtime/load/model.hpp"
#include "src/runtime/run/call_state.hpp"
#include "tests/unit/runtime/load/fake_target.hpp"
#include "tests/unit/runtime/load/support.hpp"
#include "tests/unit/runtime/run/allocation_counter.hpp"

using namespace dyn;
using namespace dyn::runtime;
using dyn::testing::check_error;

namespace {

const char* const gathered_layers = R"(dyn 1
dim B in 0..8
dim S in 0..64
weights "w.safetensors"
graph g(ids: i64[B, S], x: f32[B, S, 3]) -> (y: f32[B, S, 2], z: f32[B, S, 3]) {
  z = gather(table: f32[5, 3], ids) axis=0 + x
  y = matmul(z, w: f32[3, 2]) + b: f32[2]
  return y, z
}
)";

/// table[i][j] = i + j / 10, w[i][j] = i - 2 j, b = 100, 200; the header's length makes the data
/// unaligned.
std::string weights_file(const std::string& padding = "") {
  std::vector<float> values;
  for (int i = 0; i < 5; ++i) {
    for (int j = 0; j < 3; ++j)
      values.push_back(static_cast<float>(i) + static_cast<float>(j) / 10);
  }
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 2; ++j) values.push_back(static_cast<float>(i - 2 * j));
  }
  values.insert(values.end(), {100, 200});
  const std::string data(reinterpret_cast<const char*>(values.data()), values.size() * 4);
  return testing::safetensors_file(
      R"({"table":{"dtype":"F32","shape":[5,3],"data_offsets":[0,60]},"w":{"dtype":"F32","shape":[3,2],"data_offsets":[60,84]},"b":{"dtype":"F32","shape":[2],"data_offsets":[84,92]}})" +
          padding,
      data);
}

std::shared_ptr<const Model> load_fake(const std::string& text, const std::string& weights,
                                       Options options = {}) {
  const std::map<std::string, std::string_view> files = {{"w.safetensors", weights}};
  LoadRequest request;
  request.text = text;
  request.files = &files;
  return Model::load(request, options, testing::make_fake_target);
}

Options with_threads(int threads) {
  Options options;
  options.threads = threads;
  return options;
}

struct TokenInputs {
  std::vector<std::int64_t> ids;
  std::vector<float> x;
  Shape shape;

  TokenInputs(std::int64_t batch, std::int64_t length, unsigned seed) : shape{batch, length} {
    std::mt19937 random(seed);
    for (std::int64_t i = 0; i < batch * length; ++i)
      ids.push_back(static_cast<std::int64_t>(random() % 5));
    for (std::int64_t i = 0; i < batch * length * 3; ++i)
      x.push_back(static_cast<float>(random() % 1000) / 500 - 1);
  }
  void set(CallState& call) const {
    call.set_input(0, Tensor::view(ids.data(), shape));
    call.set_input(1, Tensor::view(x.data(), {shape[0], shape[1], 3}));
  }
};

/// z and y by plain loops.
void check_outputs(const TokenInputs& in, const Tensor& y, const Tensor& z) {
  CHECK(y.shape() == Shape{in.shape[0], in.shape[1], 2});
  bool same = true;
  for (std::size_t row = 0; row < in.ids.size(); ++row) {
    double sums[2] = {100, 200};
    for (std::size_t i = 0; i < 3; ++i) {
      const double value =
          static_cast<double>(in.ids[row]) + static_cast<double>(i) / 10 + in.x[row * 3 + i];
      same = same && std::abs(z.data<float>()[row * 3 + i] - value) < 1e-5;
      for (std::size_t j = 0; j < 2; ++j)
        sums[j] += value * (static_cast<double>(i) - 2 * static_cast<double>(j));
    }
    for (std::size_t j = 0; j < 2; ++j)
      same = same && std::abs(y.data<float>()[row * 2 + j] - sums[j]) < 1e-3;
  }
  CHECK(same);
}

}  // namespace

TEST_CASE("a model runs at any shape, zero included, aligned weights or not") {
  for (const char* padding : {"", " ", "  ", "   "}) {
    const std::string weights = weights_file(padding);
    const auto model = load_fake(gathered_layers, weights);
    CallState call(model);
    for (const auto& [batch, length] :
         std::vector<std::pair<int, int>>{{2, 3}, {0, 4}, {1, 1}, {8, 64}, {3, 0}, {2, 3}}) {
      const TokenInputs in(batch, length, 7);
      in.set(call);
      call.run();
      check_outputs(in, call.output(0), call.output(1));
    }
    CHECK(model->shapes_planned() == 5);
    CHECK(model->load_report().weight_bytes >= 92);
  }
}

TEST_CASE("outputs of the caller are written in place") {
  const auto model = load_fake(gathered_layers, weights_file());
  CallState call(model);
  const TokenInputs in(2, 3, 1);
  in.set(call);
  std::vector<float> y(2 * 3 * 2 + 2, -7), z(2 * 3 * 3);
  call.set_output(0, Tensor::view(y.data() + 1, {2, 3, 2}));
  call.set_output(1, Tensor::view(z.data(), {2, 3, 3}));
  call.run();
  CHECK(call.output(0).raw() == y.data() + 1);
  check_outputs(in, call.output(0), call.output(1));
  CHECK(y.front() == -7);
  CHECK(y.back() == -7);
}

TEST_CASE("bad inputs and outputs") {
  const auto model = load_fake(gathered_layers, weights_file());
  const TokenInputs in(2, 3, 1);
  std::vector<float> y(12), z(18);
  const auto run = [&](const std::function<void(CallState&)>& change) {
    return [&, change] {
      CallState call(model);
      in.set(call);
      change(call);
      call.run();
    };
  };
  check_error(ErrorKind::user, [&] { CallState(model).run(); }, "'ids' is missing");
  check_error(ErrorKind::user,
              run([&](CallState& c) { c.set_input(0, Tensor(DType::i32, {2, 3})); }),
              "'ids' is i32", "i64[B, S]");
  check_error(ErrorKind::user, run([&](CallState& c) { c.set_input(0, Tensor(DType::i64, {6})); }),
              "'ids' has rank 1");
  check_error(ErrorKind::user,
              run([&](CallState& c) { c.set_input(0, Tensor(DType::i64, {2, 4})); }), "dim S is 4",
              "3 in input 'x' (axis 1)");
  check_error(ErrorKind::user, run([&](CallState& c) { c.set_input(7, Tensor()); }),
              "input number 7");
  check_error(ErrorKind::user,
              run([&](CallState& c) { c.set_input(c.input_index("mask"), Tensor()); }),
              "no input 'mask'");
  check_error(ErrorKind::user,
              run([&](CallState& c) { c.set_output(0, Tensor::view(y.data(), {3, 2, 2})); }),
              "'y' has shape [3, 2, 2]", "[2, 3, 2]");
  check_error(ErrorKind::user,
              run([&](CallState& c) { c.set_output(0, Tensor(DType::i32, {2, 3, 2})); }),
              "'y' is i32");
  check_error(ErrorKind::user, run([&](CallState& c) {
                c.set_output(0, Tensor::view(static_cast<const float*>(y.data()), {2, 3, 2}));
              }),
              "read-only");
  check_error(ErrorKind::user, run([&](CallState& c) {
                c.set_output(1, Tensor::view(const_cast<float*>(in.x.data()), {2, 3, 3}));
              }),
              "'z' overlaps input 'x'");
  check_error(ErrorKind::user, run([&](CallState& c) {
                c.set_output(0, Tensor::view(z.data() + 6, {2, 3, 2}));
                c.set_output(1, Tensor::view(z.data(), {2, 3, 3}));
              }),
              "'y' overlaps output 'z'");
  Tensor ids(DType::i64, {2, 3});
  ids.mutable_data<std::int64_t>()[4] = 5;
  check_error(ErrorKind::user, run([&](CallState& c) { c.set_input(0, ids); }),
              "index is out of range");
  check_error(ErrorKind::user, [&] { model->bind({{"ids", {2, 3}}}); }, "'x' is missing");
  check_error(
      ErrorKind::user, [&] { model->bind({{"ids", {2, 3}}, {"x", {2, 3, 3}}, {"more", {1}}}); },
      "no input 'more'");
  check_error(
      ErrorKind::user, [&] { model->bind({{"ids", {2, 3}}, {"ids", {2, 3}}, {"x", {2, 3, 3}}}); },
      "'ids' is given twice");
}

TEST_CASE("bad weights") {
  const std::string good = weights_file();
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string text = gathered_layers;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  check_error(
      ErrorKind::model, [&] { load_fake(replaced("b: f32[2]", "c: f32[2]"), good); },
      "'c' is not in 'w.safetensors'", "loading");
  check_error(
      ErrorKind::model, [&] { load_fake(replaced("b: f32[2]", "b: f32[1]"), good); },
      "'b' is declared f32[1]", "F32 [2]");
  check_error(
      ErrorKind::model, [&] { load_fake(gathered_layers, good.substr(0, good.size() - 1)); }, "'b'",
      "outside");
  check_error(
      ErrorKind::user, [&] { load_fake(replaced("w.safetensors", "v.safetensors"), good); },
      "'v.safetensors' is not among");
  check_error(
      ErrorKind::user, [&] { load_fake(gathered_layers, good, with_threads(-1)); }, "threads");
}

TEST_CASE("random weights need no file, and are the same again") {
  Options options;
  options.random_weights = true;
  options.seed = 3;
  const TokenInputs in(2, 3, 1);
  std::vector<std::vector<float>> results;
  for (const std::uint64_t seed : {3, 3, 4}) {
    options.seed = seed;
    CallState call(load_fake(gathered_layers, "", options));
    in.set(call);
    call.run();
    const auto y = call.output(0).data<float>();
    results.emplace_back(y.begin(), y.end());
  }
  CHECK(results[0] == results[1]);
  CHECK(results[0] != results[2]);
}

TEST_CASE("four threads on one model give the bits of one") {
  Options options;
  options.threads = 2;
  const auto model = load_fake(gathered_layers, weights_file(), options);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int i = 0; i < 50; ++i) {
        const TokenInputs in(1 + static_cast<int>(random() % 4),
                             1 + static_cast<int>(random() % 20), random() % 5);
        CallState call(model), again(model);
        in.set(call);
        in.set(again);
        call.run();
        again.run();
        const Tensor &a = call.output(0), &b = again.output(0);
        if (std::memcmp(a.raw(), b.raw(), a.bytes()) != 0) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("shapes without running, and the budget of plans") {
  Options options;
  options.plan_cache_bytes = 64 << 10;
  const auto model = load_fake(gathered_layers, weights_file(), options);
  const auto symbols = model->bind({{"ids", {2, 3}}, {"x", {2, 3, 3}}});
  CHECK(model->output_shapes(symbols) == NamedShapes{{"y", {2, 3, 2}}, {"z", {2, 3, 3}}});
  CHECK(model->input_shapes(model->bind_dims({{"B", 4}, {"S", 5}})) ==
        NamedShapes{{"ids", {4, 5}}, {"x", {4, 5, 3}}});
  const PlanPtr plan = model->plan(symbols);
  CHECK(model->plan(symbols) == plan);
  CHECK(model->weight_bytes_read(*plan) <= 92);
}

TEST_CASE("a steady call allocates nothing outside of its kernels") {
  // The interpreter allocates, so a model without work stands for the runtime's own part.
  const auto model = load_fake(gathered_layers, weights_file(), with_threads(1));
  CallState call(model);
  const TokenInputs in(0, 3, 1);
  in.set(call);
  call.run();
  call.run();
  const std::int64_t once_before = testing::allocations_of_this_thread();
  call.run();
  const std::int64_t of_kernels = testing::allocations_of_this_thread() - once_before;
  for (int i = 0; i < 10; ++i) {
    const std::int64_t before = testing::allocations_of_this_thread();
    call.run();
    CHECK(testing::allocations_of_this_thread() - before == of_kernels);
  }
}
