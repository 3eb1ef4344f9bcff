#include "src/cli/report/profile.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>

#include <fmt/format.h>

#include "dyn/error.hpp"

namespace dyn::cli {
namespace {

constexpr int profiled_runs = 3;

runtime::RunProfile profile_of(runtime::CallState& call, int runs) {
  runtime::RunProfile profile;
  for (int i = 0; i < runs; ++i) call.run(&profile);
  return profile;
}

}  // namespace

std::vector<Row> target_rows(const runtime::Model& model) {
  std::map<std::string, std::int64_t> counts;
  for (std::size_t group = 0; group < model.problems().size(); ++group)
    ++counts[model.kernel(group).target_name()];
  std::vector<Row> rows;
  for (const auto& [target, count] : counts)
    rows.push_back({{"target", target}, {"groups", count}});
  return rows;
}

std::vector<Row> group_profile(const runtime::Model& model, runtime::CallState& call,
                               const Row& prefix) {
  const runtime::RunProfile profile = profile_of(call, profiled_runs);
  double total = 0;
  for (const double seconds : profile.group_seconds) total += seconds;
  std::vector<Row> rows;
  for (std::size_t group = 0; group < profile.group_seconds.size(); ++group) {
    const rkernel::Launch& launch = call.plan().launches[group];
    const double seconds = profile.group_seconds[group] / static_cast<double>(profile.runs);
    Row row = prefix;
    row.emplace_back("group", model.fusion().groups[group].name);
    row.emplace_back("target", model.kernel(group).target_name());
    row.emplace_back("mean_ms", seconds * 1e3);
    row.emplace_back("share", total > 0 ? profile.group_seconds[group] / total : 0.0);
    row.emplace_back("predicted_ms", launch.predicted_seconds * 1e3);
    row.emplace_back("gflops", seconds > 0 ? launch.flops / seconds / 1e9 : 0.0);
    row.emplace_back("gb_per_s", seconds > 0 ? launch.bytes / seconds / 1e9 : 0.0);
    row.emplace_back("threads", std::int64_t{launch.threads});
    rows.push_back(std::move(row));
  }
  return rows;
}

Profile profiled_run(runtime::CallState& call, const Row& prefix) {
  Profile profile;
  for (const auto& [name, cell] : prefix) {
    if (const auto* size = std::get_if<std::int64_t>(&cell))
      profile.label += fmt::format("{}{}={}", profile.label.empty() ? "" : " ", name, *size);
  }
  call.run(profile);
  return profile;
}

void write_trace(const std::string& path, std::span<const Profile> runs) {
  std::ofstream file(path);
  file << chrome_trace(runs);
  file.close();
  if (!file)
    throw Error(ErrorKind::device,
                fmt::format("--trace {}: cannot be written: {}", path, std::strerror(errno)));
}

void append_rows(std::vector<Row>& rows, const std::vector<Row>& more) {
  rows.insert(rows.end(), more.begin(), more.end());
}

}  // namespace dyn::cli
