// Models whose groups run on a device, on the host, or some here and some there: results, memory,
// copies.

#include <algorithm>

#include "tests/support/half.hpp"
#include "tests/unit/runtime/device/models.hpp"
#include "tests/unit/runtime/load/fake_target.hpp"
#include "tests/unit/runtime/load/support.hpp"
#include "tests/unit/runtime/run/allocation_counter.hpp"

using namespace dyn;
using namespace dyn::runtime;
using namespace dyn::testing;

namespace {

std::map<std::string, std::int64_t> random_dims(std::mt19937& random) {
  return {{"B", static_cast<std::int64_t>(random() % 4)},
          {"S", static_cast<std::int64_t>(random() % 9)}};
}

std::map<std::string, std::int64_t> known_dims(const Model& model,
                                               std::map<std::string, std::int64_t> dims) {
  for (auto entry = dims.begin(); entry != dims.end();) {
    entry = model.module().dims->find_symbol(entry->first) ? std::next(entry) : dims.erase(entry);
  }
  return dims;
}

}  // namespace

TEST_CASE("any mix of host and device gives the results of the reference") {
  std::mt19937 random(device_seed());
  for (const char* text : {attention_like, joined, chain}) {
    const auto plain = load_reference(text);
    CallState expected(plain);
    std::size_t groups = load_model(text, make_fake_target)->problems().size();
    REQUIRE(groups < 20);
    for (int round = 0; round < 24; ++round) {
      const std::uint64_t all = (std::uint64_t{1} << groups) - 1;
      const std::uint64_t mask = round == 0 ? all : round == 1 ? 0 : random() & all;
      CAPTURE(mask);
      const auto device = std::make_shared<FakeDevice>();
      const auto model = load_model(text, fake_gpu(with_mask(device, mask)));
      CallState call(model);
      for (int shape = 0; shape < 4; ++shape) {
        const auto inputs = random_inputs(*model, known_dims(*model, random_dims(random)), random);
        set_inputs(call, inputs);
        set_inputs(expected, inputs);
        call.run();
        expected.run();
        CHECK(difference(*model, call, expected) < 2e-4);
      }
      CHECK((device->counts().launches > 0) == (mask != 0));
      CHECK(device->dropped_commands() == 0);
    }
  }
}

TEST_CASE("buffers and weights as narrow as the device wants them") {
  std::mt19937 random(device_seed());
  for (const DType precision : {DType::bf16, DType::f16}) {
    for (const char* text : {attention_like, joined, chain}) {
      const auto plain = load_reference(text);
      CallState expected(plain);
      for (const std::uint64_t mask :
           {~std::uint64_t{0}, std::uint64_t{0b1011}, std::uint64_t{0b0110}}) {
        FakeGpu gpu = with_mask(std::make_shared<FakeDevice>(), mask);
        gpu.precision = precision;
        const auto model = load_model(text, fake_gpu(gpu));
        const auto inputs = random_inputs(*model, known_dims(*model, {{"B", 2}, {"S", 7}}), random);
        CallState call(model);
        set_inputs(call, inputs);
        set_inputs(expected, inputs);
        call.run();
        expected.run();
        const double apart = difference(*model, call, expected);
        CHECK(apart < 0.15);
        if (~mask == 0) CHECK(apart > 1e-6);
      }
    }
  }
}

TEST_CASE("narrow buffers take half the memory") {
  const auto arena = [](DType precision) {
    FakeGpu gpu{std::make_shared<FakeDevice>(), [](std::size_t) { return true; }, precision};
    const auto model = load_model(chain, fake_gpu(gpu));
    const PlanPtr plan = model->plan(model->bind_dims({{"S", 64}}));
    CHECK(model->host_weight_bytes() == 0);
    CHECK(model->load_report().weight_bytes == model->device_weight_bytes());
    // x, a, b, y of 64 x 3: x and y are f32.
    return plan->device_bytes;
  };
  CHECK(arena(DType::f32) == std::vector<std::size_t>{768, 768, 768, 768});
  CHECK(arena(DType::bf16) == std::vector<std::size_t>{768, 384, 384, 768});
}

TEST_CASE("a weight larger than one part of an upload, rounded once") {
  const char* const large = R"(dyn 1
dim S in 1..16
weight table: f32[1100, 1000] = random 5
graph g(ids: i64[S]) -> (y: f32[S, 1000]) {
  y = gather(table, ids) axis=0
  return y
}
)";
  for (const DType precision : {DType::f32, DType::bf16, DType::f16}) {
    const auto model = load_model(large, fake_gpu({std::make_shared<FakeDevice>(),
                                                   [](std::size_t) { return true; }, precision}));
    CallState call(model), expected(load_reference(large));
    const std::vector<Tensor> ids = {Tensor::from<std::int64_t>({0, 1047, 1048, 1049, 1099}, {5})};
    set_inputs(call, ids);
    set_inputs(expected, ids);
    call.run();
    expected.run();
    const auto y = call.output(0).data<float>(), exact = expected.output(0).data<float>();
    int wrong = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double rounded = precision == DType::f32
                                 ? exact[i]
                                 : half_value(precision, half_bits(precision, exact[i]));
      if (static_cast<double>(y[i]) != rounded) ++wrong;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("copies of known cases") {
  const auto texts = [](std::uint64_t mask) {
    const auto model = load_model(chain, fake_gpu(with_mask(std::make_shared<FakeDevice>(), mask)));
    std::vector<std::string> lines;
    for (const CopyInfo& copy : model->copies(*model->plan(model->bind_dims({{"S", 5}})))) {
      lines.push_back(copy.tensor + (copy.to_device ? " up " : " down ") +
                      std::to_string(copy.bytes) +
                      (copy.before.empty() ? "" : " before " + copy.before) + ": " + copy.reason);
    }
    return lines;
  };
  CHECK(texts(0).empty());
  CHECK(texts(0b111) == std::vector<std::string>{
                            "x up 60 before matmul_0: an input; needed by 'matmul_0' on fakegpu",
                            "y down 60: written by 'matmul_2' on fakegpu; an output"});
  CHECK(
      texts(0b010) ==
      std::vector<std::string>{
          "a up 60 before matmul_1: written by 'matmul_0' on fake; needed by 'matmul_1' on fakegpu",
          "b down 60 before matmul_2: written by 'matmul_1' on fakegpu; needed by 'matmul_2' on "
          "fake"});
  CHECK(texts(0b101).size() == 4);
}

TEST_CASE(
    "a steady call: one upload for each input, two downloads, nothing allocated by the runtime") {
  ChainCall chain_call(0b111);
  chain_call.check_run();
  chain_call.check_run();
  const FakeCounts before = chain_call.device->counts();
  chain_call.call.run();
  const FakeCounts after = chain_call.device->counts();
  CHECK(after.uploads - before.uploads == 1);
  CHECK(after.downloads - before.downloads == 2);  // y, and the statuses
  CHECK(after.launches - before.launches == 3);
  CHECK(after.waits - before.waits == 1);
  CHECK(after.allocations == before.allocations);
  for (int i = 0; i < 10; ++i) {
    const std::int64_t all = allocations_of_this_thread(),
                       own = chain_call.device->own_allocations();
    chain_call.call.run();
    CHECK(allocations_of_this_thread() - all == chain_call.device->own_allocations() - own);
  }
}

TEST_CASE("a profile counts the time of every group on the device") {
  ChainCall chain_call(0b101);
  RunProfile profile;
  chain_call.call.run(&profile);
  CHECK(profile.group_seconds.size() == 3);
  for (const double seconds : profile.group_seconds) CHECK(seconds > 0);
}

TEST_CASE("a profile has the copies and the waits of a run on the device") {
  ChainCall chain_call(0b101);
  Profile profile;
  chain_call.call.run(profile);
  const auto count = [&](Profile::Kind kind) {
    return std::ranges::count(profile.events, kind, &Profile::Event::kind);
  };
  CHECK(profile.groups.size() == 3);
  CHECK(count(Profile::Kind::group) == 3);
  CHECK(count(Profile::Kind::copy) == 4);
  CHECK(count(Profile::Kind::wait) == 1);
  for (const Profile::Buffer& buffer : profile.buffers)
    CHECK(buffer.last_event < profile.events.size());
  CHECK(profile.device_arena_bytes > 0);
}

TEST_CASE("four threads on one model with a device") {
  const auto device = std::make_shared<FakeDevice>();
  const auto model = load_model(attention_like, fake_gpu(with_mask(device, 0b10101)));
  CHECK(wrong_on_four_threads(model, attention_like, 12, 1e-4) == 0);
  CHECK(device->live_streams() <= 4);
}
