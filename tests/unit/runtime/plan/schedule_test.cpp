// Schedules, checked by playing them with versions of buffers.

#include <map>
#include <random>

#include "src/runtime/plan/schedule.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn;
using namespace dyn::runtime;
using rkernel::Space;

namespace {

struct GroupGraph {
  std::vector<GroupUse> groups;
  std::set<graph::ValueId> inputs, outputs;
  std::map<graph::ValueId, StateUse> states = {};
};

/// Plays a schedule: every group must find the newest version of its operands, in memory that has
/// arrived, outputs must end on the host, and states wherever groups touch them. Returns the number
/// of copies.
int play(const GroupGraph& graph, const Schedule& schedule) {
  struct Buffer {
    int newest = -1, host = -1, device = -1;  // versions: the group that wrote last
    bool arriving = false;
  };
  constexpr int original = -2;
  std::map<graph::ValueId, Buffer> buffers;
  for (const graph::ValueId input : graph.inputs) buffers[input] = {original, original, -1, false};
  for (const auto& [state, use] : graph.states)
    buffers[state] = {original, use.on_host ? original : -1, use.on_device ? original : -1, false};
  std::size_t next = 0;
  bool needed_wait = false;
  for (const Step& step : schedule.steps) {
    if (step.kind == Step::Kind::Wait) {
      CHECK(step.index == next);
      for (auto& [value, buffer] : buffers) {
        for (const GroupUse::Buffer& use : graph.groups[next].buffers)
          needed_wait = needed_wait || (use.value == value && buffer.arriving);
        buffer.arriving = false;
      }
      CHECK(needed_wait);
      needed_wait = false;
    } else if (step.kind == Step::Kind::Copy) {
      const Transfer& transfer = schedule.transfers[step.index];
      Buffer& buffer = buffers[transfer.value];
      int& to = transfer.to == Space::Host ? buffer.host : buffer.device;
      const int from = transfer.to == Space::Host ? buffer.device : buffer.host;
      CHECK(from == buffer.newest);
      CHECK(to != buffer.newest);  // else the copy is dead
      CHECK(transfer.writer == (buffer.newest == original ? no_group : buffer.newest));
      CHECK((transfer.to == Space::Host || !buffer.arriving));
      to = from;
      buffer.arriving = transfer.to == Space::Host;
      if (transfer.reader == no_group)
        CHECK((graph.outputs.contains(transfer.value) || graph.states.contains(transfer.value)));
      else
        CHECK(static_cast<std::size_t>(transfer.reader) == next);
    } else {
      REQUIRE(step.index == next);
      const GroupUse& group = graph.groups[next];
      for (const GroupUse::Buffer& use : group.buffers) {
        Buffer& buffer = buffers[use.value];
        CHECK((group.space == Space::Host ? buffer.host : buffer.device) == buffer.newest);
        if (group.space == Space::Host) CHECK(!buffer.arriving);
      }
      for (const GroupUse::Buffer& use : group.buffers) {
        if (!use.written) continue;
        Buffer& buffer = buffers[use.value];
        buffer.newest = static_cast<int>(next);
        (group.space == Space::Host ? buffer.host : buffer.device) = buffer.newest;
      }
      ++next;
    }
  }
  CHECK(next == graph.groups.size());
  for (const graph::ValueId output : graph.outputs)
    CHECK(buffers[output].host == buffers[output].newest);
  for (const auto& [state, use] : graph.states) {
    if (use.on_host) CHECK(buffers[state].host == buffers[state].newest);
    if (use.on_device) CHECK(buffers[state].device == buffers[state].newest);
  }
  return static_cast<int>(schedule.transfers.size());
}

StateUse use_of(const GroupGraph& graph, graph::ValueId state) {
  StateUse use{false, false};
  for (const GroupUse& group : graph.groups) {
    for (const GroupUse::Buffer& buffer : group.buffers) {
      if (buffer.value == state) (group.space == Space::Host ? use.on_host : use.on_device) = true;
    }
  }
  return use;
}

int copies(const GroupGraph& graph) {
  return play(graph, make_schedule(graph.groups, graph.inputs, graph.outputs, graph.states));
}

/// x -> 0 -> 10 -> 1 -> 11 -> ... -> y (the last value)
GroupGraph chain_of(const std::vector<Space>& spaces) {
  GroupGraph graph;
  graph.inputs = {0};
  graph::ValueId from = 0;
  for (std::size_t i = 0; i < spaces.size(); ++i) {
    const graph::ValueId to = 10 + static_cast<graph::ValueId>(i);
    graph.groups.push_back({spaces[i], {{from, false}, {to, true}}});
    from = to;
  }
  graph.outputs = {from};
  return graph;
}

}  // namespace

TEST_CASE("a chain crosses where the space changes") {
  constexpr Space host = Space::Host, device = Space::Device;
  CHECK(copies(chain_of({host, host, host})) == 0);
  CHECK(copies(chain_of({device, device, device})) == 2);
  CHECK(copies(chain_of({device, host, device})) == 4);
  CHECK(copies(chain_of({host, device, host})) == 2);
  CHECK(copies(chain_of({host, host, device})) == 2);
}

TEST_CASE("an input is uploaded once, and an output downloaded once") {
  constexpr Space host = Space::Host, device = Space::Device;
  // Three readers of one input on the device; two outputs, one of them read by the host again.
  const GroupGraph graph{{{device, {{0, false}, {1, true}}},
                          {device, {{0, false}, {2, true}}},
                          {device, {{0, false}, {1, false}, {3, true}}},
                          {host, {{1, false}, {0, false}, {4, true}}}},
                         {0},
                         {1, 4}};
  CHECK(copies(graph) == 2);
  // The host does not need values 2 and 3.
  const Schedule schedule = make_schedule(graph.groups, graph.inputs, graph.outputs);
  for (const Transfer& transfer : schedule.transfers)
    CHECK((transfer.value == 0 || transfer.value == 1));
}

TEST_CASE("parts of one buffer are written in two places") {
  constexpr Space host = Space::Host, device = Space::Device;
  const GroupGraph graph{{{device, {{0, false}, {5, true}}},
                          {host, {{0, false}, {5, true}}},
                          {device, {{0, false}, {5, true}}},
                          {host, {{5, false}, {6, true}}}},
                         {0},
                         {5, 6}};
  // 0 up; 5 down before the host writes its part, up again, down as an output.
  CHECK(copies(graph) == 4);
}

TEST_CASE("states cross only where groups of both spaces touch them") {
  constexpr Space host = Space::Host, device = Space::Device;
  const auto appended = [](Space appends, Space reads) {
    return GroupGraph{{{appends, {{0, false}, {7, true}}}, {reads, {{7, false}, {5, true}}}},
                      {0},
                      {5},
                      {{7,
                        {appends == Space::Host || reads == Space::Host,
                         appends == Space::Device || reads == Space::Device}}}};
  };
  CHECK(copies(appended(host, host)) == 0);
  CHECK(copies(appended(device, device)) == 2);  // 0 up, 5 down
  CHECK(copies(appended(device, host)) == 2);    // 0 up, the state down
  CHECK(copies(appended(host, device)) == 2);    // the state up, 5 down
  // Read before the last part is written: the next run needs that part as well.
  const GroupGraph early{{{host, {{0, false}, {7, true}}},
                          {device, {{7, false}, {5, true}}},
                          {host, {{0, false}, {7, true}}}},
                         {0},
                         {5},
                         {{7, {true, true}}}};
  CHECK(copies(early) == 3);
}

TEST_CASE("random graphs") {
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    CAPTURE(round);
    GroupGraph graph;
    const int inputs = 1 + static_cast<int>(random() % 3),
              groups = 1 + static_cast<int>(random() % 12);
    const int ports = inputs + static_cast<int>(random() % 3);  // the rest are states
    int values = ports;
    for (int i = 0; i < inputs; ++i) graph.inputs.insert(i);
    for (int g = 0; g < groups; ++g) {
      GroupUse use;
      use.space = random() % 2 == 0 ? Space::Host : Space::Device;
      for (unsigned i = 0; i < 1 + random() % 3; ++i)
        use.buffers.push_back(
            {static_cast<graph::ValueId>(random() % static_cast<unsigned>(values)), false});
      const bool part =
          values > inputs && random() % 4 == 0;  // of a state, or of what was written before
      const int written =
          part ? inputs + static_cast<int>(random() % static_cast<unsigned>(values - inputs))
               : values++;
      use.buffers.push_back({written, true});
      if (written >= ports && random() % 2 == 0) graph.outputs.insert(written);
      graph.groups.push_back(use);
    }
    for (int state = inputs; state < ports; ++state) graph.states[state] = use_of(graph, state);
    copies(graph);
  }
}
