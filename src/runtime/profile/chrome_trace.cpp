#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dyn/profile.hpp"

namespace dyn {
namespace {

using Json = nlohmann::ordered_json;

/// Adds the events of one run after the other. Starts are microseconds since `origin_ns`.
class TraceWriter {
 public:
  explicit TraceWriter(std::int64_t origin_ns) : origin_ns_(origin_ns) {}

  void add(const Profile& run) {
    ++process_;
    name_tracks(run);
    add_span(0, run.label.empty() ? "run" : run.label, "run", run.start_ns, run.end_ns,
             {{"arena_bytes", run.arena_bytes}});
    if (!run.events.empty())
      add_span(0, "bind and plan", "plan", run.start_ns, run.events.front().start_ns);
    for (const Profile::Event& event : run.events) add_event(run.groups[event.group], event);
    for (const Profile::Slice& slice : run.slices) add_slice(run, slice);
    add_memory(run);
  }

  std::string text() && {
    // Names may come from files in any encoding.
    return Json{{"traceEvents", std::move(events_)}, {"displayTimeUnit", "ms"}}.dump(
               1, ' ', false, Json::error_handler_t::replace) +
           '\n';
  }

 private:
  double since_origin(std::int64_t moment_ns) const {
    return static_cast<double>(moment_ns - origin_ns_) / 1e3;
  }

  void name_tracks(const Profile& run) {
    const std::string label = run.label.empty() ? fmt::format("run {}", process_) : run.label;
    add_metadata("process_name", 0, {{"name", label}});
    for (int thread = 0; thread < std::max(run.threads, 1); ++thread) {
      add_metadata("thread_name", thread,
                   {{"name", thread == 0 ? "caller" : fmt::format("helper {}", thread)}});
      add_metadata("thread_sort_index", thread, {{"sort_index", thread}});
    }
  }

  void add_metadata(const char* name, int thread, Json args) {
    events_.push_back({{"name", name},
                       {"ph", "M"},
                       {"pid", process_},
                       {"tid", thread},
                       {"args", std::move(args)}});
  }

  void add_span(int thread, const std::string& name, const char* category, std::int64_t start_ns,
                std::int64_t end_ns, Json args = Json::object()) {
    events_.push_back({{"name", name},
                       {"cat", category},
                       {"ph", "X"},
                       {"pid", process_},
                       {"tid", thread},
                       {"ts", since_origin(start_ns)},
                       {"dur", static_cast<double>(end_ns - start_ns) / 1e3},
                       {"args", std::move(args)}});
  }

  void add_event(const Profile::Group& group, const Profile::Event& event) {
    const char* const kind = event.kind == Profile::Kind::group  ? "group"
                             : event.kind == Profile::Kind::copy ? "copy"
                                                                 : "wait";
    Json args{{"operators", group.operators}, {"device", group.device}};
    if (event.kind == Profile::Kind::group) {
      args["program"] = group.program;
      args["flops"] = group.flops;
      args["bytes"] = group.bytes;
      args["predicted_us"] = group.predicted_seconds * 1e6;
    }
    const std::string name =
        event.kind == Profile::Kind::group ? group.name : fmt::format("{}: {}", group.name, kind);
    add_span(0, name, kind, event.start_ns, event.end_ns, std::move(args));
  }

  void add_slice(const Profile& run, const Profile::Slice& slice) {
    const Profile::Group& group = run.groups[run.events[slice.event].group];
    add_span(slice.thread, group.name + (slice.stage == 0 ? "" : ": merge"), "tickets",
             slice.start_ns, slice.end_ns, {{"first", slice.first}, {"tickets", slice.count}});
  }

  /// A counter: bytes of intermediate tensors that live at each event.
  void add_memory(const Profile& run) {
    if (run.buffers.empty()) return;
    std::vector<std::int64_t> change(run.events.size() + 1);
    for (const Profile::Buffer& buffer : run.buffers) {
      change[buffer.first_event] += static_cast<std::int64_t>(buffer.bytes);
      change[buffer.last_event + 1] -= static_cast<std::int64_t>(buffer.bytes);
    }
    std::int64_t live = 0;
    for (std::size_t i = 0; i < change.size(); ++i) {
      live += change[i];
      const std::int64_t moment =
          i < run.events.size() ? run.events[i].start_ns : run.events.back().end_ns;
      events_.push_back({{"name", "intermediate tensors"},
                         {"ph", "C"},
                         {"pid", process_},
                         {"ts", since_origin(moment)},
                         {"args", {{"bytes", live}}}});
    }
  }

  const std::int64_t origin_ns_;
  int process_ = 0;
  Json events_ = Json::array();
};

}  // namespace

std::string chrome_trace(std::span<const Profile> runs) {
  std::int64_t origin = std::numeric_limits<std::int64_t>::max();
  for (const Profile& run : runs) origin = std::min(origin, run.start_ns);
  TraceWriter writer(origin);
  for (const Profile& run : runs) writer.add(run);
  return std::move(writer).text();
}

}  // namespace dyn
