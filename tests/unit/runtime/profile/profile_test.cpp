// What a profiled run says about itself.

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "dyn/dyn.hpp"
#include "src/runtime/profile/step_recorder.hpp"
#include "tests/unit/runtime/load/support.hpp"
#include "tests/unit/runtime/run/allocation_counter.hpp"

using namespace dyn;
using dyn::testing::uncached;

namespace {

/// Products, a softmax and element-wise work, with intermediate tensors that come and go.
const char* const layers = R"(dyn 1
dim S in 0..400
weight w: f32[64, 192] = random 1
weight v: f32[192, 64] = random 2
graph layers(x: f32[S, 64]) -> (y: f32[S, 64]) {
  a = gelu(matmul(x, w))
  b = softmax(a) axis=-1
  c = matmul(b * 2.0, v)
  y = softmax(c + x) axis=-1
  return y
}
)";

struct Layers {
  explicit Layers(int threads, std::int64_t rows = 200)
      : graph(Graph::from_text(layers, uncached(threads))), call(graph), x(DType::f32, {rows, 64}) {
    const std::vector<float> values = testing::random_values(static_cast<std::size_t>(x.size()), 7);
    std::ranges::copy(values, x.mutable_data<float>().begin());
    call.set_input("x", x);
  }
  Graph graph;
  Call call;
  Tensor x;
};

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// The tickets of each event and stage are done once each, inside the event, and no thread does two
/// things at a time.
void check_slices(const Profile& profile) {
  std::map<std::pair<std::size_t, int>, std::vector<std::pair<std::int64_t, std::int64_t>>> done;
  std::map<int, std::vector<std::pair<std::int64_t, std::int64_t>>> by_thread;
  std::int64_t sum = 0;
  for (const Profile::Slice& slice : profile.slices) {
    const Profile::Event& event = profile.events.at(slice.event);
    CHECK(event.start_ns <= slice.start_ns);
    CHECK(slice.start_ns <= slice.end_ns);
    CHECK(slice.end_ns <= event.end_ns);
    CHECK(slice.thread >= 0);
    CHECK(slice.thread < profile.groups.at(event.group).threads);
    done[{slice.event, slice.stage}].emplace_back(slice.first, slice.count);
    by_thread[slice.thread].emplace_back(slice.start_ns, slice.end_ns);
    sum += slice.end_ns - slice.start_ns;
  }
  CHECK(sum <= (profile.end_ns - profile.start_ns) * profile.threads);
  for (auto& [thread, spans] : by_thread) {
    std::ranges::sort(spans);
    for (std::size_t i = 1; i < spans.size(); ++i) CHECK(spans[i - 1].second <= spans[i].first);
  }
  for (std::size_t i = 0; i < profile.events.size(); ++i) {
    if (profile.events[i].kind != Profile::Kind::group) continue;
    const Profile::Group& group = profile.groups.at(profile.events[i].group);
    if (group.device == "host") continue;
    for (const auto& [stage, tickets] : {std::pair(0, group.tickets), {1, group.merge_tickets}}) {
      auto& parts = done[{i, stage}];
      std::ranges::sort(parts);
      std::int64_t next = 0;
      for (const auto& [first, count] : parts) {
        CHECK(first == next);
        next = first + count;
      }
      CHECK(next == tickets);
    }
  }
}

void check_events(const Profile& profile) {
  std::int64_t last = profile.start_ns;
  for (const Profile::Event& event : profile.events) {
    CHECK(last <= event.start_ns);
    CHECK(event.start_ns <= event.end_ns);
    CHECK(event.group < profile.groups.size());
    last = event.end_ns;
  }
  CHECK(last <= profile.end_ns);
}

void check_buffers(const Profile& profile) {
  for (const Profile::Buffer& a : profile.buffers) {
    CHECK(a.first_event <= a.last_event);
    CHECK(a.last_event < profile.events.size());
    CHECK(a.offset + a.bytes <= (a.on_device ? profile.device_arena_bytes : profile.arena_bytes));
    for (const Profile::Buffer& b : profile.buffers) {
      const bool meet = a.first_event <= b.last_event && b.first_event <= a.last_event;
      if (&a == &b || a.on_device != b.on_device || !meet) continue;
      const bool apart = a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset;
      CHECK(apart);
    }
  }
}

std::size_t index_of(const Profile& profile, std::string_view operators) {
  const auto found = std::ranges::find_if(profile.groups, [&](const Profile::Group& group) {
    return group.operators.find(operators) != std::string::npos;
  });
  CHECK(found != profile.groups.end());
  return static_cast<std::size_t>(found - profile.groups.begin());
}

}  // namespace

TEST_CASE("a profile says who did which tickets of which group, and when") {
  for (const int threads : {1, 2, 3}) {
    CAPTURE(threads);
    Layers model(threads);
    model.call.run();
    const Tensor plain(model.call.output(0));
    const std::vector<float> before(plain.data<float>().begin(), plain.data<float>().end());
    Profile profile;
    const std::int64_t start = now();
    model.call.run(profile);
    const std::int64_t end = now();
    CHECK(std::ranges::equal(before, model.call.output(0).data<float>()));
    CHECK(start <= profile.start_ns);
    CHECK(profile.end_ns <= end);
    CHECK(profile.events.size() == profile.groups.size());
    CHECK(!profile.slices.empty());
    CHECK(profile.threads <= threads);
    check_events(profile);
    check_slices(profile);
    check_buffers(profile);
  }
}

TEST_CASE("the groups of a profile have names, operators, programs, work and limits") {
  for (const auto& [threads, rows] : {std::pair(1, 200), {2, 200}, {2, 8}, {1, 1}}) {
    CAPTURE(threads);
    CAPTURE(rows);
    Layers model(threads, rows);
    Profile profile;
    model.call.run(profile);
    std::set<std::string> names;
    for (const Profile::Group& group : profile.groups) {
      CAPTURE(group.name);
      CHECK(names.insert(group.name).second);
      CHECK(!group.operators.empty());
      CHECK(!group.kernel.empty());
      CHECK(group.device.starts_with("cpu/"));
      CHECK(group.bytes > 0);
      CHECK(group.threads >= 1);
      CHECK(group.threads <= threads);
      const bool multiplies = group.operators.find("matmul") != std::string::npos;
      CHECK((group.flops > 0) == multiplies);
      CHECK(group.program.empty() != multiplies);
    }
    CHECK(profile.groups[index_of(profile, "matmul")].flops == 2.0 * rows * 64 * 192);
    CHECK(profile.arena_bytes > 0);
    CHECK(!profile.buffers.empty());
  }
}

TEST_CASE("a buffer of a profile lives from the group that writes it to the last that reads it") {
  const Graph graph = Graph::from_text(R"(dyn 1
dim S
weight w: f32[32, 32] = random 1
graph chain(x: f32[S, 32]) -> (y: f32[S, 32]) {
  a = matmul(x, w)
  b = matmul(a, w)
  c = matmul(b, w)
  y = matmul(c, w) + a
  return y
}
)",
                                       uncached(1));
  Call call(graph);
  call.set_input("x", Tensor(DType::f32, {11, 32}));
  Profile profile;
  call.run(profile);
  REQUIRE(profile.groups.size() == 4);
  std::map<std::string, std::pair<std::size_t, std::size_t>> lives;
  for (const Profile::Buffer& buffer : profile.buffers) {
    CHECK(buffer.bytes == 11 * 32 * sizeof(float));
    lives[buffer.tensor] = {buffer.first_event, buffer.last_event};
  }
  CHECK(lives == std::map<std::string, std::pair<std::size_t, std::size_t>>{
                     {"a", {0, 3}}, {"b", {1, 2}}, {"c", {2, 3}}});
}

TEST_CASE("a profile holds the last run, and its label is the caller's") {
  Layers model(2);
  Profile profile;
  profile.label = "mine";
  model.call.run(profile);
  const Profile first = profile;
  model.call.run(profile);
  CHECK(profile.label == "mine");
  CHECK(profile.start_ns >= first.end_ns);
  CHECK(profile.events.size() == first.events.size());
  CHECK(profile.groups.size() == first.groups.size());
  CHECK(profile.buffers.size() == first.buffers.size());
  check_slices(profile);
}

TEST_CASE("a profiled run that may end early is the same run, and its slices are smaller at most") {
  for (const int threads : {1, 2}) {
    CAPTURE(threads);
    Layers model(threads);
    model.call.run();
    const Tensor plain(model.call.output(0));
    const std::vector<float> before(plain.data<float>().begin(), plain.data<float>().end());
    RunOptions options;
    options.deadline = std::chrono::steady_clock::now() + std::chrono::hours(1);
    Profile profile;
    model.call.run(profile, options);
    CHECK(std::ranges::equal(before, model.call.output(0).data<float>()));
    CHECK(!profile.slices.empty());
    check_events(profile);
    check_slices(profile);
    check_buffers(profile);
  }
}

TEST_CASE("a profiled run that ends early leaves what it did until then") {
  Layers model(2);
  model.call.run();
  RunOptions options;
  options.deadline = std::chrono::steady_clock::now();
  Profile profile;
  profile.label = "late";
  CHECK_THROWS_AS(model.call.run(profile, options), Error);
  CHECK(profile.label == "late");
  CHECK(profile.start_ns <= profile.end_ns);
  REQUIRE(profile.events.size() == 1);
  CHECK(profile.groups.size() > 1);
  check_events(profile);
  check_buffers(profile);
  CHECK(nlohmann::json::parse(chrome_trace({&profile, 1})).at("traceEvents").size() > 1);
  model.call.run(profile);
  CHECK(profile.events.size() == profile.groups.size());
}

TEST_CASE("nothing remains of a profile: the next run allocates nothing") {
  Layers model(2);
  Profile profile;
  model.call.run(profile);
  model.call.run();
  const std::int64_t before = testing::allocations_of_this_thread();
  for (int i = 0; i < 10; ++i) model.call.run();
  CHECK(testing::allocations_of_this_thread() == before);
}

TEST_CASE("no rows: groups without tickets have no slices") {
  Layers model(2, 0);
  Profile profile;
  model.call.run(profile);
  CHECK(profile.slices.empty());
  CHECK(profile.events.size() == profile.groups.size());
  check_slices(profile);
}

TEST_CASE("a loop's groups stand once in a profile, with an event for each step") {
  const Graph graph = Graph::from_text(R"(dyn 1
dim T

body fold(step: i64[], go: bool[], total: f32[T], x: f32[T]) -> (next: f32[T]) {
  return total * 0.5 + x
}

dim N
dim K

graph g(x: f32[N], go: bool[], most: i64[]) -> (last: f32[N]) {
  last = loop(most, go, x, x) body=fold carried=1 scanned=0 conditional=false steps=K dims=[N]
  return last
}
)",
                                       uncached(1));
  Call call(graph);
  Tensor go(DType::boolean, {}), most(DType::i64, {});
  *go.mutable_data<bool>().data() = true;
  *most.mutable_data<std::int64_t>().data() = 5;
  call.set_input("x", Tensor(DType::f32, {13}));
  call.set_input("go", go);
  call.set_input("most", most);
  call.run();
  Profile profile;
  call.run(profile);
  check_events(profile);
  check_slices(profile);
  const std::size_t group = index_of(profile, "mul");
  CHECK(std::ranges::count(profile.events, group, &Profile::Event::group) == 5);
}

TEST_CASE("operators that the host runs between kernels are events of a profile") {
  const Graph graph = Graph::from_text(R"(dyn 1
dim N
dim K
graph g(x: f32[N]) -> (y: f32[_]) {
  at = nonzero(x * 2.0) count=K
  y = exp(cast(reshape(at) shape=[K]) dtype=f32)
  return y
}
)",
                                       uncached(1));
  Call call(graph);
  Tensor x(DType::f32, {9});
  x.mutable_data<float>()[4] = 1;
  call.set_input("x", x);
  Profile profile;
  call.run(profile);
  check_events(profile);
  check_slices(profile);
  const std::size_t host = index_of(profile, "nonzero");
  CHECK(profile.groups[host].device == "host");
  CHECK(std::ranges::count(profile.events, host, &Profile::Event::group) == 1);
  CHECK(index_of(profile, "exp") != host);
}

TEST_CASE("a stage of more chunks than are noted apart has them all in the last slice") {
  using runtime::Stage;
  runtime::StepRecorder recorder;
  const auto nothing = [](const rkernel::KernelArgs*, std::int64_t, std::int64_t, void*) {};
  const rkernel::KernelArgs args{};
  const std::int64_t tickets = 10000;
  Stage stage{nothing, &args, tickets, 1, nullptr, 0};
  const Stage noted = recorder.noted(stage, 0, 2);
  for (std::int64_t ticket = 0; ticket < tickets; ++ticket) {
    const std::int64_t thread = ticket % 4 == 3 ? 1 : 0;
    noted.function(noted.args, ticket, 1,
                   noted.scratch + static_cast<std::size_t>(thread) * noted.scratch_stride);
  }
  recorder.end_step(Profile::Kind::group, 0, {}, {});
  std::map<int, std::int64_t> done, slices;
  for (const Profile::Slice& slice : recorder.slices()) {
    done[slice.thread] += slice.count;
    ++slices[slice.thread];
    CHECK(slice.end_ns >= slice.start_ns);
  }
  CHECK(done == std::map<int, std::int64_t>{{0, 7500}, {1, 2500}});
  CHECK(slices == std::map<int, std::int64_t>{{0, 4096}, {1, 2500}});
}

TEST_CASE("the scratch of a noted stage is the thread's own") {
  using runtime::Stage;
  runtime::StepRecorder recorder;
  const auto mark = [](const rkernel::KernelArgs* args, std::int64_t first, std::int64_t,
                       void* scratch) {
    CHECK(args->ints[0] == 17);
    *static_cast<std::int64_t*>(scratch) = first;
  };
  const std::int64_t number = 17;
  const rkernel::KernelArgs args{nullptr, &number, nullptr};
  std::vector<std::int64_t> scratch(6);
  const Stage noted = recorder.noted(
      {mark, &args, 3, 1, reinterpret_cast<std::byte*>(scratch.data()), 2 * sizeof(std::int64_t)},
      0, 3);
  for (int thread = 0; thread < 3; ++thread)
    noted.function(noted.args, 10 + thread, 1,
                   noted.scratch + static_cast<std::size_t>(thread) * noted.scratch_stride);
  CHECK(scratch == std::vector<std::int64_t>{10, 0, 11, 0, 12, 0});
}

namespace {

/// A span of a track: the parser of traces that Perfetto has takes no more.
struct Span {
  double start = 0, end = 0;
};

/// Fails where the spans of one track are not one inside or behind the other. Rounding to
/// nanoseconds in double is far below the slack.
void check_nested(std::vector<Span> spans) {
  constexpr double slack_us = 1e-4;
  std::ranges::stable_sort(spans, [](const Span& a, const Span& b) {
    return std::tuple(a.start, -a.end) < std::tuple(b.start, -b.end);
  });
  std::vector<Span> open;
  for (const Span& span : spans) {
    while (!open.empty() && open.back().end <= span.start + slack_us) open.pop_back();
    if (!open.empty()) CHECK(span.end <= open.back().end + slack_us);
    open.push_back(span);
  }
}

}  // namespace

TEST_CASE("a trace has a process for each run, a track for each thread, and nested spans") {
  Layers model(2);
  model.call.run();
  std::vector<Profile> runs(2);
  runs[0].label = "S=200 \"<&>\"";
  for (Profile& run : runs) model.call.run(run);
  const nlohmann::json trace = nlohmann::json::parse(chrome_trace(runs));
  CHECK(trace.at("displayTimeUnit") == "ms");
  std::map<std::pair<int, int>, std::vector<Span>> tracks;
  std::map<std::string, int> spans;
  std::set<std::pair<int, std::string>> processes;
  for (const nlohmann::json& event : trace.at("traceEvents")) {
    const std::string phase = event.at("ph");
    const int process = event.at("pid");
    REQUIRE(event.at("name").is_string());
    if (phase == "M" && event.at("name") == "process_name")
      processes.emplace(process, event.at("args").at("name"));
    if (phase != "X") continue;
    CHECK(event.at("ts").get<double>() >= 0);
    CHECK(event.at("dur").get<double>() >= 0);
    CHECK(event.at("args").is_object());
    ++spans[event.at("cat")];
    const double start = event.at("ts");
    tracks[{process, event.at("tid")}].push_back({start, start + event.at("dur").get<double>()});
  }
  CHECK(processes == std::set<std::pair<int, std::string>>{{1, "S=200 \"<&>\""}, {2, "run 2"}});
  CHECK(spans["run"] == 2);
  CHECK(spans["group"] == static_cast<int>(runs[0].events.size() + runs[1].events.size()));
  CHECK(spans["tickets"] == static_cast<int>(runs[0].slices.size() + runs[1].slices.size()));
  for (const auto& [track, list] : tracks) check_nested(list);
  // The second run stands where it was, behind the first.
  const double second = static_cast<double>(runs[1].start_ns - runs[0].start_ns) / 1e3;
  CHECK(tracks.at({2, 0}).front().start == doctest::Approx(second));
  CHECK(nlohmann::json::parse(chrome_trace({})).at("traceEvents").empty());
}
