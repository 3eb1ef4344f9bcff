// C sees of a run what C++ does.

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "dyn/dyn.hpp"
#include "dyn/profile.hpp"
#include "tests/unit/c/handles.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn::testing;

namespace {

const char* const two_layers = R"(dyn 1
dim N in 1..512
weight w: f32[24, 40] = random 5
weight v: f32[40, 16] = random 6
graph layers(x: f32[N, 24]) -> (y: f32[N, 16]) {
  y = matmul(relu(matmul(x, w)), v)
  return y
}
)";

template <class T>
T sized() {
  T value{};
  value.struct_size = sizeof value;
  return value;
}

}  // namespace

TEST_CASE("C: a profile says of a run what C++ says of the same run") {
  const CGraph graph = c_graph(two_layers, c_options(1).get());
  CCall call;
  CTensor input;
  CProfile profile;
  const std::vector<float> x(24 * 100, 0.5F);
  const int64_t sizes[] = {100, 24};
  succeeds(dyn_call_create(graph.get(), Into(call)));
  succeeds(dyn_tensor_view_const(DYN_F32, x.data(), 2, sizes, Into(input)));
  succeeds(dyn_call_set_input(call.get(), 0, input.get()));
  succeeds(dyn_profile_create("first", Into(profile)));
  auto info = sized<dyn_profile_info>();
  succeeds(dyn_profile_get(profile.get(), &info));
  CHECK(info.event_count == 0);
  succeeds(dyn_call_run_profiled(call.get(), profile.get(), nullptr));

  const dyn::Graph same = dyn::Graph::from_text(two_layers, uncached(1));
  dyn::Call plain(same);
  dyn::Profile expected;
  plain.set_input("x", dyn::Tensor::view(x, {100, 24}));
  plain.run(expected);
  succeeds(dyn_profile_get(profile.get(), &info));
  CHECK(info.label == std::string("first"));
  CHECK(info.start_ns < info.end_ns);
  CHECK(info.threads == expected.threads);
  CHECK(info.arena_bytes == expected.arena_bytes);
  REQUIRE(info.group_count == expected.groups.size());
  REQUIRE(info.event_count == expected.events.size());
  REQUIRE(info.buffer_count == expected.buffers.size());
  REQUIRE(info.slice_count > 0);
  REQUIRE(info.group_count == 2);
  auto group = sized<dyn_profile_group>();
  for (size_t i = 0; i < info.group_count; ++i) {
    succeeds(dyn_profile_group_get(profile.get(), i, &group));
    CHECK(group.name == expected.groups[i].name);
    CHECK(group.operators == expected.groups[i].operators);
    CHECK(group.program == expected.groups[i].program);
    CHECK(group.device == expected.groups[i].device);
    CHECK(group.flops == expected.groups[i].flops);
    CHECK(group.bytes == expected.groups[i].bytes);
    CHECK(group.tickets == expected.groups[i].tickets);
  }
  fails(DYN_ERROR_USER, dyn_profile_group_get(profile.get(), 2, &group), "group number 2");

  auto event = sized<dyn_profile_event>();
  for (size_t i = 0; i < info.event_count; ++i) {
    succeeds(dyn_profile_event_get(profile.get(), i, &event));
    CHECK(event.kind == DYN_EVENT_GROUP);
    CHECK(event.group == expected.events[i].group);
    CHECK(info.start_ns <= event.start_ns);
    CHECK(event.start_ns <= event.end_ns);
    CHECK(event.end_ns <= info.end_ns);
  }
  fails(DYN_ERROR_USER, dyn_profile_event_get(profile.get(), info.event_count, &event), "event");
  std::vector<int64_t> tickets(info.event_count);
  auto slice = sized<dyn_profile_slice>();
  for (size_t i = 0; i < info.slice_count; ++i) {
    succeeds(dyn_profile_slice_get(profile.get(), i, &slice));
    REQUIRE(slice.event < info.event_count);
    if (slice.stage == 0) tickets[slice.event] += slice.count;
  }
  for (size_t i = 0; i < info.event_count; ++i)
    CHECK(tickets[i] == expected.groups[expected.events[i].group].tickets);
  auto buffer = sized<dyn_profile_buffer>();
  for (size_t i = 0; i < info.buffer_count; ++i) {
    succeeds(dyn_profile_buffer_get(profile.get(), i, &buffer));
    CHECK(buffer.tensor == expected.buffers[i].tensor);
    CHECK(buffer.bytes == expected.buffers[i].bytes);
    CHECK(buffer.last_event == expected.buffers[i].last_event);
    CHECK_FALSE(buffer.on_device);
  }

  CTexts trace;
  const dyn_profile* const runs[] = {profile.get(), profile.get()};
  succeeds(dyn_profile_trace(2, runs, Into(trace)));
  const char* json = nullptr;
  size_t length = 0;
  succeeds(dyn_texts_get(trace.get(), 0, &json, &length));
  CHECK(nlohmann::json::parse(std::string(json, length)).contains("traceEvents"));
  const dyn_profile* const wrong[] = {nullptr};
  fails(DYN_ERROR_USER, dyn_profile_trace(1, wrong, Into(trace)), "profile");

  auto past = sized<dyn_run_options>();
  past.has_timeout = true;
  fails(DYN_ERROR_CANCELLED, dyn_call_run_profiled(call.get(), profile.get(), &past), "");
  succeeds(dyn_profile_get(profile.get(), &info));
  CHECK(info.event_count < expected.events.size());
}
