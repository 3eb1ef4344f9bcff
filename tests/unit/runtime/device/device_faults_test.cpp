// Failures on a device, or before it: messages, and models that can be used afterwards.

#include <atomic>
#include <thread>

#include "src/runtime/executables/planned_executable.hpp"
#include "src/runtime/load/target_factory.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/runtime/device/models.hpp"
#include "tests/unit/runtime/load/fake_target.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn;
using namespace dyn::runtime;
using namespace dyn::testing;

TEST_CASE("a failed allocation leaves the model usable, whichever it is") {
  for (int failing = 1; failing <= 2; ++failing) {
    ChainCall chain_call(0b111);
    chain_call.device->fail_allocation = failing;
    check_error(
        ErrorKind::device, [&] { chain_call.call.run(); },
        failing == 1 ? "intermediate tensors" : "argument tables");
    chain_call.check_run();
  }
  const auto device = std::make_shared<FakeDevice>();
  device->fail_allocation = 1;
  check_error(
      ErrorKind::device, [&] { load_model(chain, fake_gpu(with_mask(device, 0b111))); }, "weights",
      "loading");
  CHECK(device->live_blocks() == 0);
  CHECK(device->live_streams() == 0);
}

TEST_CASE("out of device memory: smaller shapes run afterwards") {
  ChainCall chain_call(0b111);
  chain_call.check_run();
  chain_call.device->memory_bytes = chain_call.device->live_bytes() + 256;
  chain_call.bind(64);
  check_error(ErrorKind::device, [&] { chain_call.call.run(); }, "intermediate tensors", "bytes");
  chain_call.bind(4);
  chain_call.check_run();
  // Room for the large arena, but not for the small one beside it.
  const auto arena = [&](std::int64_t length) {
    return chain_call.model->plan(chain_call.model->bind_dims({{"S", length}}))->device_arena_bytes;
  };
  chain_call.device->memory_bytes = chain_call.device->live_bytes() - arena(4) + arena(64);
  chain_call.bind(64);
  chain_call.check_run();
}

TEST_CASE("out of device memory: what idle runs hold is given to the one that needs it") {
  ChainCall chain_call(0b111);
  chain_call.bind(4);
  RunPool& pool = dynamic_cast<const PlannedExecutable&>(chain_call.model->executable()).runs();
  chain_call.check_run();
  Run* const other = pool.take(nullptr);
  chain_call.check_run();  // in a second run
  CHECK(chain_call.device->live_streams() == 2);
  // Room for the large shape's memory beside the weights, but not beside another run's.
  const std::size_t weights = chain_call.model->device_weight_bytes(),
                    two_runs = chain_call.device->live_bytes() - weights;
  const auto arena = [&](std::int64_t length) {
    return chain_call.model->plan(chain_call.model->bind_dims({{"S", length}}))->device_arena_bytes;
  };
  chain_call.device->memory_bytes = weights + two_runs / 2 - arena(4) + arena(64);
  chain_call.bind(64);
  // Nothing is taken from a run in flight.
  check_error(ErrorKind::device, [&] { chain_call.call.run(); }, "intermediate tensors");
  CHECK(other->status() == rkernel::Status::Ok);
  CHECK(chain_call.device->live_streams() == 2);
  pool.give_back(other);
  chain_call.check_run();
  CHECK(chain_call.device->live_streams() == 1);
  chain_call.bind(4);
  chain_call.check_run();
}

TEST_CASE("threads that take memory from each other fail clearly or are right") {
  const auto device = std::make_shared<FakeDevice>();
  const auto model = load_model(chain, fake_gpu(with_mask(device, 0b111)));
  const auto plain = load_reference(chain);
  constexpr std::size_t about_two_large_runs = 8192;
  device->memory_bytes = device->live_bytes() + about_two_large_runs;
  std::atomic<int> wrong{0}, right{0};
  std::vector<std::jthread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      CallState call(model), expected(plain);
      for (int i = 0; i < 30; ++i) {
        const auto inputs =
            random_inputs(*model, {{"S", static_cast<std::int64_t>(random() % 65)}}, random);
        set_inputs(call, inputs);
        set_inputs(expected, inputs);
        expected.run();
        try {
          call.run();
          ++(difference(*model, call, expected) < 1e-4 ? right : wrong);
        } catch (const Error& error) {
          if (error.message().find("no device memory") == std::string::npos) ++wrong;
        }
      }
    });
  }
  threads.clear();
  CHECK(wrong == 0);
  CHECK(right > 0);
}

TEST_CASE("failed launches and waits name their groups and leave the model usable") {
  for (const std::uint64_t mask : {0b111, 0b101}) {
    ChainCall chain_call(mask);
    chain_call.check_run();
    for (int launch = 1; launch <= 2; ++launch) {
      chain_call.device->fail_launch = launch;
      const char* group = launch == 1 ? "'matmul_0'" : mask == 0b111 ? "'matmul_1'" : "'matmul_2'";
      check_error(
          ErrorKind::device, [&] { chain_call.call.run(); }, "refused",
          std::string("launching ") + group, "fake device");
      CHECK(chain_call.device->queued_commands() ==
            0);  // nothing will touch the caller's memory later
      chain_call.bind(launch + 3);
      chain_call.check_run();
    }
    chain_call.device->fail_wait = 1;
    check_error(
        ErrorKind::device, [&] { chain_call.call.run(); },
        mask == 0b111 ? "running 'matmul_0' to 'matmul_2'" : "running 'matmul_0'");
    chain_call.check_run();
  }
  ChainCall upload(0b111);
  upload.device->fail_wait = 1;
  check_error(ErrorKind::device, [&] { upload.call.run(); }, "asked to fail");
  upload.check_run();
  CHECK(upload.device->dropped_commands() == 0);
}

TEST_CASE("an index out of range is found on the device, before what came of it on the host") {
  const auto bad = [](std::uint64_t mask) {
    const auto model =
        load_model(attention_like, fake_gpu(with_mask(std::make_shared<FakeDevice>(), mask)));
    std::mt19937 random(5);
    auto inputs = random_inputs(*model, {{"B", 2}, {"S", 3}}, random);
    const auto good = inputs;
    inputs[0] = Tensor::from<std::int64_t>({0, 1, 2, 3, 7, 0}, {2, 3});
    CallState call(model), expected(load_reference(attention_like));
    set_inputs(call, inputs);
    check_error(ErrorKind::user, [&] { call.run(); }, "index is out of range");
    set_inputs(call, good);
    set_inputs(expected, good);
    call.run();
    expected.run();
    CHECK(difference(*model, call, expected) < 1e-4);
  };
  for (const std::uint64_t mask : {0, 1, 2, 3, 0xff, 0xfe}) bad(mask);
}

TEST_CASE("of two groups with bad indices the first is named, wherever it ran") {
  const char* const twice = R"(dyn 1
dim S in 1..16
weight mapping: i64[7] = splat 1
weight table: f32[5, 2] = random 2
graph g(ids: i64[S, 2]) -> (y: f32[S, 2]) {
  i = reduce_max(gather(mapping, ids) axis=0) axes=[1] keepdims=false
  y = gather(table, i) axis=0
  return y
}
)";
  for (const std::uint64_t mask : {0b00, 0b01, 0b10, 0b11}) {
    const auto model = load_model(twice, fake_gpu(with_mask(std::make_shared<FakeDevice>(), mask)));
    REQUIRE(model->problems().size() == 2);
    CallState call(model);
    call.set_input(0, Tensor::from<std::int64_t>({0, 1, 2, 9, 3, 4}, {3, 2}));
    check_error(ErrorKind::user, [&] { call.run(); }, "'" + model->problems()[0].name + "'");
  }
}

TEST_CASE("1,000 loads leave nothing on the device") {
  const auto device = std::make_shared<FakeDevice>();
  std::mt19937 random(1);
  for (int i = 0; i < testing::test_rounds(1000); ++i) {
    const auto model = load_model(chain, fake_gpu(with_mask(device, 0b110)));
    if (i % 10 != 0) continue;
    CallState call(model);
    set_inputs(call, random_inputs(*model, {{"S", 2}}, random));
    call.run();
  }
  CHECK(device->live_blocks() == 0);
  CHECK(device->live_streams() == 0);
  CHECK(device->dropped_commands() == 0);
}

TEST_CASE("a described GPU is planned and explained without weights, and refuses to run") {
  const std::string text = R"(dyn 1
dim S in 0..64
weights "nowhere.safetensors"
graph g(x: f32[S, 3]) -> (y: f32[S, 2]) {
  y = matmul(x, w: f32[3, 2]) + b: f32[2]
  return y
}
)";
  const auto model =
      load_model(text, fake_gpu({nullptr, [](std::size_t) { return true; }, DType::bf16}));
  const PlanPtr plan = model->plan(model->bind_dims({{"S", 5}}));
  CHECK(model->explain(0, *plan) == "one way on the device");
  CHECK(model->output_shapes(plan->symbols) == NamedShapes{{"y", {5, 2}}});
  CHECK(model->copies(*plan).size() == 2);
  CHECK(model->device_weight_bytes() > 0);  // bytes that it would hold
  std::mt19937 random(1);
  CallState call(model);
  set_inputs(call, random_inputs(*model, {{"S", 5}}, random));
  check_error(ErrorKind::user, [&] { call.run(); }, "only a description", "emulator");
  // With nothing for the device there is nothing to refuse; but then weights are needed.
  check_error(
      ErrorKind::device,
      [&] { load_model(text, fake_gpu({nullptr, [](std::size_t) { return false; }, DType::f32})); },
      "nowhere.safetensors");
}

TEST_CASE("precisions and GPUs that do not fit the device") {
  const auto with = [](const char* device, const char* precision, const char* gpu) {
    return [=] {
      Options options;
      options.device = device;
      options.precision = precision;
      options.gpu = gpu;
      load_model(chain, make_fake_target, options);
    };
  };
  check_error(ErrorKind::user, with("cuda", "f64", ""), "no precision 'f64'",
              "f32, tf32, f16, bf16 and i8");
  check_error(ErrorKind::unsupported, with("cpu", "tf32", ""),
              "'cpu' does not multiply in precision 'tf32'", "'cuda' or 'emulator'");
  check_error(ErrorKind::unsupported, with("reference", "bf16", ""),
              "'reference' does not multiply in precision 'bf16'", "another device");
  check_error(ErrorKind::unsupported, with("reference", "f16", ""),
              "'reference' does not multiply in precision 'f16'");
  check_error(ErrorKind::user, with("cpu", "f32", "a100"), "'a100'", "'cpu'");
  const auto target = [](const char* device, const char* gpu) {
    return [=] {
      Options options;
      options.device = device;
      options.gpu = gpu;
      make_target(options, 1, Dump());
    };
  };
  check_error(ErrorKind::user, target("abacus", ""), "no device 'abacus'", "cuda, emulator");
  check_error(ErrorKind::user, target("cuda", "abacus"), "abacus", "a100");
  check_error(ErrorKind::user, target("emulator", "7"), "7", "a100");
}
