#include "src/cli/page/run_data.hpp"

#include <algorithm>
#include <array>
#include <variant>

#include <fmt/format.h>

namespace dyn::cli {
namespace {

constexpr std::size_t most_slices = 20000;

/// They are by event, then by thread, then by start.
std::vector<Profile::Slice> joined(const std::vector<Profile::Slice>& slices) {
  std::vector<Profile::Slice> result;
  for (const Profile::Slice& slice : slices) {
    const bool goes_on = !result.empty() && result.back().event == slice.event &&
                         result.back().thread == slice.thread && result.back().stage == slice.stage;
    if (!goes_on) {
      result.push_back(slice);
      continue;
    }
    result.back().count += slice.count;
    result.back().end_ns = slice.end_ns;
  }
  return result;
}

ReportData group_data(const Profile::Group& group) {
  return {{"name", group.name},
          {"operators", group.operators},
          {"program", group.program},
          {"device", group.device},
          {"flops", group.flops},
          {"bytes", group.bytes},
          {"predicted_s", group.predicted_seconds},
          {"threads", group.threads},
          {"tickets", group.tickets},
          {"merge_tickets", group.merge_tickets}};
}

/// True where all rows have so many numbers, and those at the given places are below their limits.
bool are_below(const ReportData& rows,
               const std::vector<std::pair<std::size_t, std::size_t>>& limits, std::size_t width) {
  return rows.is_array() && std::ranges::all_of(rows, [&](const ReportData& row) {
           return row.is_array() && row.size() == width &&
                  std::ranges::all_of(limits, [&](const auto& limit) {
                    return row[limit.first].is_number_unsigned() &&
                           row[limit.first].template get<std::size_t>() < limit.second;
                  });
         });
}

bool is_run(const ReportData& run) {
  if (!run.is_object() || !run.contains("groups") || !run["groups"].is_array()) return false;
  for (const char* name : {"events", "slices", "buffers", "duration_ns"})
    if (!run.contains(name)) return false;
  const std::size_t groups = run["groups"].size(), events = run["events"].size();
  return are_below(run["events"], {{1, groups}}, 4) && are_below(run["slices"], {{0, events}}, 7) &&
         are_below(run["buffers"], {{4, events}, {5, events}}, 6);
}

}  // namespace

ReportData run_data(const Profile& profile) {
  const auto since_start = [&](std::int64_t moment_ns) { return moment_ns - profile.start_ns; };
  ReportData groups = ReportData::array(), events = ReportData::array(),
             slices = ReportData::array(), buffers = ReportData::array();
  for (const Profile::Group& group : profile.groups) groups.push_back(group_data(group));
  for (const Profile::Event& event : profile.events)
    events.push_back({static_cast<unsigned>(event.kind), event.group, since_start(event.start_ns),
                      since_start(event.end_ns)});
  const bool is_much = profile.slices.size() > most_slices;
  for (const Profile::Slice& slice : is_much ? joined(profile.slices) : profile.slices)
    slices.push_back({slice.event, slice.thread, slice.stage, slice.first, slice.count,
                      since_start(slice.start_ns), since_start(slice.end_ns)});
  for (const Profile::Buffer& buffer : profile.buffers)
    buffers.push_back(ReportData::array({buffer.tensor, buffer.on_device ? 1 : 0, buffer.offset,
                                         buffer.bytes, buffer.first_event, buffer.last_event}));
  return {{"duration_ns", profile.end_ns - profile.start_ns},
          {"threads", profile.threads},
          {"arena_bytes", profile.arena_bytes},
          {"device_arena_bytes", profile.device_arena_bytes},
          {"scratch_bytes", profile.scratch_bytes},
          {"groups", std::move(groups)},
          {"events", std::move(events)},
          {"slices", std::move(slices)},
          {"buffers", std::move(buffers)}};
}

ReportData row_data(const Row& row) {
  ReportData data = ReportData::object();
  for (const auto& [name, cell] : row) {
    std::visit(
        [&, &key = name](const auto& value) {
          if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::monostate>)
            data[key] = nullptr;
          else
            data[key] = value;
        },
        cell);
  }
  return data;
}

std::string problem_of(const ReportData& data) {
  if (!data.is_object() || !data.contains("format") || data["format"] != "dyn-report")
    return "it holds no report of one model";
  const ReportData version = data.contains("version") ? data["version"] : ReportData();
  if (version != report_version)
    return fmt::format("its version is {}, and this dyn reads {}", data_text(version),
                       report_version);
  for (const char* name : {"model", "machine", "device", "made", "dyn", "options", "loads", "peers",
                           "peak", "shapes"}) {
    if (!data.contains(name)) return fmt::format("it lacks \"{}\"", name);
  }
  if (!data["model"].is_string() || !data["shapes"].is_array())
    return "its \"model\" is no text, or its \"shapes\" are no list";
  for (const ReportData& shape : data["shapes"]) {
    for (const char* name : {"dims", "threads", "times", "peers", "run", "choices"}) {
      if (!shape.contains(name)) return fmt::format("a shape lacks \"{}\"", name);
    }
    if (!is_run(shape["run"])) return "the run of a shape is broken";
  }
  return {};
}

}  // namespace dyn::cli
